"""The bridge in a cluster: leads by lease, answers only while it leads, lets go when Sluice leaves."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bridge.compose_cluster import ClusterBridge, admission, compose_cluster
from bridge.config import BridgeConfig, ClusterConfig
from bridge.errors import Denied, Unavailable
from bridge.kube.fake import FakeCluster
from bridge.kube.kinds import LEASE, POD, TENANT, TOKEN_REVIEW, Kind, Object, section
from bridge.leave import leave
from bridge.slurm.fake import FakeSlurm
from tests.support.waiting import wait_for

TLS = Path(__file__).parents[2] / "data" / "tls"


class Server(FakeCluster):
    """Vouches for every token as the ServiceAccount that it names."""

    def create(self, kind: Kind, item: Object, *, namespace: str = "") -> Object:
        if kind is not TOKEN_REVIEW:
            return super().create(kind, item, namespace=namespace)
        spec: Any = item["spec"]
        user = {"username": f"system:serviceaccount:{spec['token']}"}
        status: Any = {"authenticated": True, "user": user, "audiences": spec["audiences"]}
        return {**item, "status": status}


@pytest.fixture
def server() -> Server:
    made = Server()
    for pod in ("a", "b"):
        made.create(POD, {"metadata": {"name": pod}}, namespace="sluice")
    return made


def bridge(server: Server, folder: Path, pod: str) -> ClusterBridge:
    site = ClusterConfig(
        namespace="sluice",
        pod=pod,
        port=0,
        probe_port=0,
        certificate=TLS / "localhost.crt",
        key=TLS / "localhost.key",
        wait_for_slurmctld_s=0,
        lease_s=3,
        callers={"sluice:gateway": ("*",), "sluice:login": ("files",)},
    )
    config = BridgeConfig(
        source="resources",
        cluster=site,
        tenants_dir=folder / pod / "tenants",
        users_dir=folder / pod / "users",
        policy_dir=folder / pod / "policy",
        interval_s=0.05,
        retry_s=0.01,
    )
    return compose_cluster(config, site, server, FakeSlurm())


@pytest.fixture
def first(server: Server, tmp_path: Path) -> Iterator[ClusterBridge]:
    made = bridge(server, tmp_path, "a")
    thread = threading.Thread(target=made.run)
    thread.start()
    yield made
    made.stop()
    thread.join(10)


def condition(server: Server, tenant: str) -> str:
    item = server.get(TENANT, tenant)
    found: Any = section(item or {}, "status").get("conditions") or [{}]
    return str(found[0].get("status", ""))


def leader(server: Server, pod: str) -> str:
    item = server.get(POD, pod, namespace="sluice")
    return str(section(item or {}, "metadata", "labels").get("sluice.sh/leader", ""))


def test_the_leader_is_marked_and_reconciles_and_the_other_stands_by(
    server: Server, first: ClusterBridge, tmp_path: Path
) -> None:
    server.create(TENANT, {"metadata": {"name": "astro"}, "spec": {"flavors": {"h100": {"limit": 2}}}})
    wait_for(lambda: condition(server, "astro") == "True", "the tenant is in force", every_s=0.01)
    assert leader(server, "a") == "true"
    second = bridge(server, tmp_path, "b")
    with pytest.raises(Unavailable, match="stands by"):
        second.server.handlers["tenants"]({})
    assert first.server.handlers["tenants"]({})["states"]["astro"]["applied"]
    second.server._listener.server_close()
    second.probes._server.server_close()


def test_when_sluice_leaves_tenants_can_be_deleted_without_it(server: Server, first: ClusterBridge) -> None:
    server.create(TENANT, {"metadata": {"name": "astro"}, "spec": {"flavors": {"h100": {"limit": 2}}}})
    wait_for(lambda: condition(server, "astro") == "True", "the tenant is in force", every_s=0.01)
    assert first.loop.leads
    seen = threading.Event()

    def wait(_seconds: float) -> None:
        wait_for(lambda: first.loop._lease.leaving, "the bridge has seen it", every_s=0.01)
        seen.set()

    assert leave(server, namespace="sluice", lease="sluice-bridge", lease_s=3, sleep=wait) == 1
    assert seen.is_set()
    passes = first.loop.measures.passes.labels(outcome="good")
    before = passes._value.get()
    wait_for(lambda: passes._value.get() > before + 1, "more passes were made", every_s=0.01)
    assert section(server.get(TENANT, "astro") or {}, "metadata")["finalizers"] == []
    assert leave(server, namespace="sluice", lease="sluice-bridge", lease_s=0) == 0


def test_a_cluster_without_a_lease_is_left_at_once() -> None:
    assert leave(FakeCluster(), namespace="sluice", lease="x", lease_s=60) == 0


def test_a_bridge_that_loses_its_lease_ends_with_1(server: Server, tmp_path: Path) -> None:
    made = bridge(server, tmp_path, "a")
    codes: list[int] = []
    thread = threading.Thread(target=lambda: codes.append(made.run()))
    thread.start()
    wait_for(lambda: made.loop.leads, "it leads", every_s=0.01)
    thief: Object = {"spec": {"holderIdentity": "thief", "leaseDurationSeconds": 60}}
    server.patch(LEASE, "sluice-bridge", thief, namespace="sluice")
    thread.join(20)
    assert codes == [1]


def test_callers_may_ask_what_the_values_say(server: Server) -> None:
    site = ClusterConfig(
        namespace="sluice", pod="a", callers={"sluice:gateway": ("*",), "sluice:login": ("files",)}
    )
    admit = admission(server, site, frozenset({"files", "apply"}))
    assert admit("sluice:gateway") == {"files", "apply"}
    assert admit("sluice:login") == {"files"}
    with pytest.raises(Denied, match="may not speak to the bridge"):
        admit("astro:pipeline")
