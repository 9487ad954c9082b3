from __future__ import annotations

from typing import Any

import pytest

from bridge.policy.documents import Sourced, capacity_faults, document_faults
from bridge.policy.pool import pool_of
from bridge.policy.tenant import Tenant
from bridge.slurm.port import NodeStatus, PartitionStatus


def node(name: str, *state: str, **gpus: int) -> NodeStatus:
    return NodeStatus(name=name, state=frozenset(state or ("IDLE",)), gpus=gpus, partitions=("h100", "cpu"))


PARTITIONS = [PartitionStatus(name=name, up=True, nodes="") for name in ("h100", "cpu")]


def sourced(name: str, **more: Any) -> Sourced:
    return Sourced(f"{name}.yaml", Tenant.model_validate({"name": name, **more}))


def test_a_flavor_is_a_gpu_type_with_a_partition_of_its_name() -> None:
    pool = pool_of([node("gpu1", h100=4, a100=4), node("gpu2", h100=2)], PARTITIONS)
    assert list(pool.flavors) == ["h100"]
    assert (pool.flavors["h100"].configured, pool.flavors["h100"].healthy) == (6, 6)
    assert pool.node_gpus == {"h100": {"h100": 2}, "cpu": {"h100": 2}}


@pytest.mark.parametrize("state", ["DOWN", "DRAIN", "FAIL", "UNKNOWN", "NOT_RESPONDING"])
def test_gpus_of_a_node_that_is_not_well_are_not_promised(state: str) -> None:
    pool = pool_of([node("gpu1", "IDLE", h100=4), node("gpu2", "IDLE", state, h100=4)], PARTITIONS)
    assert (pool.flavors["h100"].configured, pool.flavors["h100"].healthy) == (8, 4)


def faults(*documents: Sourced) -> list[tuple[str, str, str]]:
    return [(fault.file, fault.path, fault.message) for fault in document_faults(documents)]


def test_documents_that_agree_have_no_faults() -> None:
    member = {"user": "ada", "uid": 20005}
    assert (
        faults(
            sourced("org"),
            sourced("team", parent="org", members=[{**member, "default": True}]),
            sourced("lab", parent="team", members=[{"user": "ada"}, {"user": "bela", "uid": 20006}]),
        )
        == []
    )


@pytest.mark.parametrize(
    ("documents", "path", "words"),
    [
        ([sourced("a"), sourced("a")], "name", "tenant a is in a.yaml already"),
        ([sourced("a", parent="nobody")], "parent", "there is no tenant nobody"),
        ([sourced("a", parent="b"), sourced("b", parent="a")], "parent", "in a circle (a -> b -> a)"),
        (
            [
                sourced("a", members=[{"user": "ada", "uid": 20001}]),
                sourced("b", members=[{"user": "ada", "uid": 20002}]),
            ],
            "members[0].uid",
            "user ada has uid 20001 in another document and 20002 here",
        ),
        (
            [
                sourced("a", members=[{"user": "ada", "uid": 20001}]),
                sourced("b", members=[{"user": "bela", "uid": 20001}]),
            ],
            "members[0].uid",
            "uid 20001 is user ada's already",
        ),
        (
            [sourced(name, namespaces=[name, "shared"]) for name in ("a", "b")],
            "namespaces[1]",
            "namespace shared is tenant a's already",
        ),
        (
            [sourced(name, members=[{"user": "ada", "default": True}]) for name in ("a", "b")],
            "members[0].default",
            "tenant a is marked as ada's default already",
        ),
    ],
)
def test_documents_that_contradict_each_other_are_named(
    documents: list[Sourced], path: str, words: str
) -> None:
    found = faults(*documents)
    assert (found[0][1], words in found[0][2]) == (path, True), found


def test_a_circle_that_a_tenant_only_leads_to_is_told_once_each_of_its_own() -> None:
    found = faults(sourced("a", parent="b"), sourced("b", parent="c"), sourced("c", parent="b"))
    assert [file for file, _path, _message in found] == ["b.yaml", "c.yaml"]


def test_guarantees_are_added_up_over_all_tenants() -> None:
    pool = pool_of([node("gpu1", h100=4)], PARTITIONS)
    flavors = {"h100": {"limit": 4, "guarantee": 2}}
    assert capacity_faults([sourced("a", flavors=flavors), sourced("b", flavors=flavors)], pool) == ()
    found = capacity_faults([sourced(name, flavors=flavors) for name in ("a", "b", "c")], pool)
    assert [(fault.path, "guaranteed 6 h100 GPUs (a 2, b 2, c 2)" in fault.message) for fault in found] == [
        ("flavors.h100.guarantee", True)
    ]


def test_a_parent_has_every_flavor_below_it_and_covers_what_is_guaranteed_there() -> None:
    def having(limit: int, guarantee: int = 0) -> dict[str, Any]:
        return {"flavors": {"h100": {"limit": limit, "guarantee": guarantee}}}

    teams = [sourced(name, parent="org", **having(4, 2)) for name in ("a", "b")]
    assert faults(sourced("org", **having(4)), *teams) == []
    (found,) = faults(sourced("org", **having(4, 1)), *teams)
    assert (found[:2], "guaranteed 5 h100 GPUs, its limit is 4" in found[2]) == (
        ("org.yaml", "flavors.h100.limit"),
        True,
    )
    found, other = faults(sourced("org"), *teams)
    assert found == (
        "a.yaml",
        "flavors.h100",
        "tenant org, the parent, has no h100 GPUs; give it a limit of them or take this one away",
    )
    assert other[0] == "b.yaml"


def test_a_subject_of_an_issuer_is_one_user_everywhere() -> None:
    def lab(name: str, user: str, subject: str, issuer: str | None = None) -> Sourced:
        return sourced(name, members=[{"user": user, "subject": subject, "issuer": issuer}])

    runner = {"kubernetes": "prod:runner", "issuer": "https://k", "user": "bela"}
    service = sourced("s", members=[{"user": "bela"}], services=[runner])
    assert (
        faults(lab("a", "ada", "x"), lab("b", "ada", "x"), lab("c", "bela", "x", "https://i"), service) == []
    )
    ((file, path, words),) = faults(lab("a", "ada", "x", "https://i"), lab("b", "bela", "x", "https://i"))
    assert (file, path) == ("b.yaml", "members[0].subject")
    assert "is user ada already" in words
    same = "system:serviceaccount:prod:runner"
    ((_file, path, _words),) = faults(lab("a", "ada", same, "https://k"), service)
    assert path == "services[0]"
