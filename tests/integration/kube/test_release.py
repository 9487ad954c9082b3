"""Tenants as custom resources on a real cluster: in force, repaired, refused with a reason.

Needs the chart installed as `./sluice up --kubernetes` installs it (release and namespace ``sluice``). Each
test makes tenants of its own.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import pytest
import yaml

from tests.chart.renders import SETS, rendered
from tests.support.kube import Cluster
from tests.support.waiting import wait_for

pytestmark = [pytest.mark.cluster, pytest.mark.xdist_group("kube-release"), pytest.mark.timeout(600)]

NAME: Final = "sluice"
PATIENCE_S: Final = 240.0


@dataclass(frozen=True, slots=True)
class Tenant:
    """A tenant of one test, and the user who is its only member."""

    cluster: Cluster
    name: str
    user: str

    def apply(self, **spec: Any) -> None:
        whole = {
            "members": [{"user": self.user, "role": "manager"}],
            "namespaces": [self.name],
            "flavors": {"h100": {"limit": 2}},
            **spec,
        }
        self.cluster.apply(
            {
                "apiVersion": "sluice.sh/v1alpha1",
                "kind": "Tenant",
                "metadata": {"name": self.name},
                "spec": whole,
            }
        )

    def condition(self, kind: str) -> Any:
        found = self.cluster.find("tenant", self.name) or {}
        conditions = found.get("status", {}).get("conditions", [])
        generation = found.get("metadata", {}).get("generation")
        return next(
            (one for one in conditions if one["type"] == kind and one["observedGeneration"] == generation), {}
        )

    def settled(self, kind: str, status: str) -> Any:
        """Wait until the newest generation's condition has this status; returns it."""

        def look() -> Any:
            found = self.condition(kind)
            return found if found.get("status") == status else None

        return wait_for(look, f"{kind} of {self.name} is {status}", deadline_s=PATIENCE_S, every_s=1)


@pytest.fixture(scope="module")
def release(cluster: Cluster) -> Cluster:
    if cluster.find("statefulset", f"{NAME}-gateway", "-n", NAME) is None:
        pytest.skip("the chart is not installed on the cluster; ./sluice up --kubernetes installs it")
    return cluster


@pytest.fixture
def tenant(release: Cluster) -> Iterator[Tenant]:
    mark = uuid.uuid4().hex[:6]
    made = Tenant(release, f"t-{mark}", f"u{mark}")
    yield made
    release.kubectl("delete", "tenant", made.name, "--ignore-not-found", "--wait=false")
    release.kubectl("delete", "namespace", made.name, "--ignore-not-found", "--wait=false")


def test_every_set_of_values_is_what_the_api_server_takes(release: Cluster) -> None:
    for name in SETS:
        kept = [
            item
            for item in rendered(name)
            # The monitoring API isn't there, and a pod is refused until its ServiceAccount is.
            if not item["apiVersion"].startswith("monitoring.") and item["kind"] != "Pod"
        ]
        words = ("apply", "--dry-run=server", "--validate=strict", "-n", "default", "-f", "-")
        text = yaml.safe_dump_all([_elsewhere(item) for item in kept])
        said = release.kubectl(*words, stdin=text, check=False, timeout_s=180)
        assert said.returncode == 0, f"{name}: {said.text}"


def _elsewhere(item: Any) -> Any:
    """An object's copy in namespace default, where no release is."""
    moved = json.loads(json.dumps(item))
    moved["metadata"].pop("namespace", None)
    if moved["kind"] == "Service":  # node ports are the cluster's, and the release may have them
        for port in moved["spec"]["ports"]:
            port.pop("nodePort", None)
    return moved


def test_a_tenant_is_in_force_everywhere_and_repaired(tenant: Tenant) -> None:
    tenant.apply()
    tenant.settled("Ready", "True")
    inside = ("-n", tenant.name)
    quota = tenant.cluster.get("resourcequota", "sluice", *inside)
    assert quota["spec"]["hard"] == {"requests.nvidia.com/gpu": "2"}
    more = json.dumps({"spec": {"hard": {"requests.nvidia.com/gpu": "99"}}})
    tenant.cluster.kubectl("patch", "resourcequota", "sluice", *inside, "--type=merge", "-p", more)
    tenant.cluster.kubectl("delete", "networkpolicy", "sluice", *inside)

    def repaired() -> bool:
        found = tenant.cluster.get("resourcequota", "sluice", *inside)["spec"]["hard"]
        policy = tenant.cluster.find("networkpolicy", "sluice", *inside)
        return found == {"requests.nvidia.com/gpu": "2"} and policy is not None

    wait_for(repaired, "quota and network policy are back", deadline_s=PATIENCE_S, every_s=1)


def test_a_wrong_change_is_refused_with_its_reason_and_the_right_one_stays(tenant: Tenant) -> None:
    tenant.apply()
    tenant.settled("Ready", "True")
    tenant.apply(flavors={"h100": {"limit": 900, "guarantee": 900}})
    refused = tenant.settled("Accepted", "False")
    assert "the pool has" in refused["message"]
    assert tenant.condition("InSlurm")["status"] == "True"
    status = tenant.cluster.get("tenant", tenant.name)["status"]
    assert status["document"]["flavors"] == {"h100": {"limit": 2}}
