"""Tenants as custom resources: right ones go on beside wrong ones, deleted ones drain, statuses are true."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from bridge.errors import NotFound, Unavailable
from bridge.kube.fake import FakeCluster
from bridge.kube.kinds import CONFIG_MAP, TENANT, section
from bridge.tenants.flow import Tenants
from bridge.tenants.registry import ClusterUserFiles
from bridge.tenants.resource import FINALIZER
from bridge.tenants.resources import ResourcePass, Resources
from bridge.tenants.source import Text
from tests.unit.tenants.site import MOMENT, Site, examples


class Cluster:
    """A bridge's custom resources on the fake Slurm and the fake API server."""

    def __init__(self, root: Path) -> None:
        self.site = Site(root)
        self.api = FakeCluster()
        self.users = ClusterUserFiles(self.api, namespace="sluice", prefix="s", users_dir=root / "users")
        self.source = Resources(self.api, root / "tenants")
        self.tenants = Tenants(
            slurm=self.site.slurm,
            folder=self.source,
            users=self.users,
            policy=self.site.policy,
            clock=lambda: MOMENT,
        )
        self.resources = ResourcePass(self.api, self.source, self.tenants, clock=lambda: MOMENT)

    def put(self, name: str, **spec: Any) -> None:
        found = self.api.get(TENANT, name)
        if found is None:
            self.api.create(TENANT, {"metadata": {"name": name}, "spec": spec})
        else:
            self.api.replace(TENANT, {**found, "spec": spec})

    def examples(self) -> None:
        for text in examples():
            values = yaml.safe_load(text.text)
            self.put(values.pop("name"), **values)

    def once(self) -> tuple[str, ...]:
        self.resources.read()
        self.tenants.reconcile()
        for line in (self.site.root / "users" / "passwd").read_text().splitlines():
            self.site.slurm.add_user(line.split(":")[0], int(line.split(":")[2]))
        return self.resources.report(self.tenants.view.states, {})

    def condition(self, name: str, kind: str = "Ready") -> tuple[str, str, str]:
        item = self.api.get(TENANT, name)
        assert item is not None
        found: Any = section(item, "status")["conditions"]
        one = next(each for each in found if each["type"] == kind)
        return one["status"], one["reason"], one["message"]

    def accounts(self) -> set[str]:
        return {account.name for account in self.site.slurm.accounting_state().accounts} - {"root"}


@pytest.fixture
def cluster(tmp_path: Path) -> Cluster:
    return Cluster(tmp_path)


def test_resources_become_accounts_and_say_so(cluster: Cluster) -> None:
    cluster.examples()
    cluster.once()
    assert cluster.accounts() == {"astro", "genomics", "robotics"}
    item = cluster.api.get(TENANT, "astro")
    assert item is not None
    assert section(item, "status")["gpus"] == "h100:4,a100:4"
    assert section(item, "status")["observedGeneration"] == 1
    assert section(item, "metadata")["finalizers"] == [FINALIZER]
    assert cluster.condition("astro") == ("True", "InForce", "")


def test_a_pass_that_finds_nothing_to_do_writes_nothing(cluster: Cluster) -> None:
    cluster.examples()
    cluster.once()
    cluster.api.calls.clear()
    cluster.once()
    assert {verb for verb, _, _ in cluster.api.calls} <= {"list", "get"}


def test_a_wrong_change_leaves_what_was_right_in_force(cluster: Cluster) -> None:
    cluster.examples()
    cluster.once()
    cluster.put("astro", flavors={"h100": {"limit": 2, "guarantee": 3}})
    cluster.put("genomics", weight=60, flavors={"a100": {"limit": 8}})
    cluster.once()
    state, reason, message = cluster.condition("astro", "Accepted")
    assert (state, reason) == ("False", "Refused")
    assert "guarantee 3 is above limit 2" in message
    assert cluster.condition("astro", "InSlurm")[0] == "True"
    assert cluster.condition("genomics") == ("True", "InForce", "")
    weights = {a.account: a.shares for a in cluster.site.slurm.accounting_state().associations if not a.user}
    assert (weights["astro"], weights["genomics"]) == (30, 60)


def test_after_a_restart_the_last_right_document_holds_beside_a_wrong_one(tmp_path: Path) -> None:
    first = Cluster(tmp_path)
    first.examples()
    first.once()
    first.put("astro", flavors={"h100": {"limit": 1, "guarantee": 9}})
    again = Cluster(tmp_path)
    again.api, again.site = first.api, first.site
    again.source._cluster = again.resources._cluster = again.users._cluster = first.api
    again.tenants._slurm = again.tenants._carrier._slurm = first.site.slurm
    again.once()
    assert "astro" in again.accounts()
    assert again.condition("astro", "Accepted")[1] == "Refused"


def test_what_is_too_much_together_is_refused_one_by_one(cluster: Cluster) -> None:
    cluster.put("one", flavors={"h100": {"limit": 8, "guarantee": 5}})
    cluster.once()
    cluster.put("two", flavors={"h100": {"limit": 8, "guarantee": 5}})
    cluster.put("three", flavors={"h100": {"limit": 2}})
    cluster.once()
    assert cluster.accounts() == {"one", "three"}
    assert cluster.condition("two", "Accepted")[1] == "Refused"
    assert cluster.condition("two", "InSlurm")[1] == "NeverAccepted"
    cluster.put("one", flavors={"h100": {"limit": 8, "guarantee": 3}})
    cluster.once()
    cluster.once()
    assert cluster.accounts() == {"one", "two", "three"}


def test_a_deleted_tenant_goes_when_its_account_is_gone(cluster: Cluster) -> None:
    cluster.examples()
    cluster.once()
    cluster.api.delete(TENANT, "astro")
    assert cluster.api.get(TENANT, "astro") is not None
    assert cluster.once() == ("astro",)
    assert cluster.api.get(TENANT, "astro") is None
    assert cluster.accounts() == {"genomics", "robotics"}


def test_a_deleted_parent_waits_for_those_below_it(cluster: Cluster) -> None:
    cluster.put("org", flavors={"h100": {"limit": 4}})
    cluster.put("team", parent="org", flavors={"h100": {"limit": 2}})
    cluster.once()
    cluster.api.delete(TENANT, "org")
    cluster.once()
    assert cluster.accounts() == {"org", "team"}
    assert "team" in cluster.condition("org")[2]
    cluster.api.delete(TENANT, "team")
    cluster.once()
    cluster.once()
    assert cluster.accounts() == set()
    assert cluster.api.list(TENANT) == []


def test_documents_given_to_the_api_come_back_as_they_were_written(cluster: Cluster) -> None:
    with pytest.raises(Unavailable):
        cluster.source.texts()
    cluster.resources.read()
    text = examples()[0]
    cluster.tenants.apply([text], actor="test")
    cluster.once()
    assert cluster.source.texts() == (Text("astro.yaml", text.text),)
    assert cluster.condition("astro")[0] == "True"
    # Somebody edits the object: the annotation is no longer what the spec says, and isn't shown.
    found = cluster.api.get(TENANT, "astro")
    assert found is not None
    cluster.api.replace(TENANT, {**found, "spec": {**section(found, "spec"), "weight": 31}})
    cluster.once()
    assert yaml.safe_load(cluster.source.texts()[0].text)["weight"] == 31
    cluster.tenants.remove("astro", actor="test")
    cluster.once()
    assert cluster.api.list(TENANT) == []
    with pytest.raises(NotFound):
        cluster.source.remove(["astro.yaml"])


def test_uids_are_kept_in_the_cluster_and_never_given_again(cluster: Cluster) -> None:
    cluster.examples()
    cluster.once()
    before = cluster.users.known()
    assert [item["metadata"]["name"] for item in cluster.api.list(CONFIG_MAP)] == ["s-uids-2"]  # type: ignore[index,call-overload]
    cluster.api.delete(TENANT, "astro")
    cluster.once()
    cluster.put("later", members=[{"user": "zoe"}], flavors={"h100": {"limit": 1}})
    cluster.once()
    after = cluster.users.known()
    assert after["zoe"] == max(before.values()) + 1
    assert {user: after[user] for user in before} == before
