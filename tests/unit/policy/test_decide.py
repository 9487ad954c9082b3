"""The rules by example, as a person would check them; test_two_copies.py holds the Lua to the same."""

from __future__ import annotations

from typing import Any, Literal

import pytest

from bridge.job import UNLIMITED, JobSpec
from bridge.policy.classes import CLASS_RULES, class_of_qos, qos_name, walltime
from bridge.policy.decide import decide, decide_change
from bridge.policy.pool import pool_of
from bridge.policy.request import Decision, Refusal, Request, request_of
from bridge.policy.site import Aliases, Share, Site
from bridge.policy.table import PolicyTable, table_of
from bridge.policy.tenant import Tenant
from bridge.slurm.port import NodeStatus, PartitionStatus
from tests.unit.policy.worlds import pool

ASTRO: dict[str, Any] = {
    "name": "astro",
    "members": [{"user": "ada"}, {"user": "gita"}],
    "flavors": {"h100": {"limit": 4, "guarantee": 2}, "a100": {"limit": 2}},
    "classes": {"allowed": ["production", "training", "development"], "default": "training"},
    "limits": {"max_walltime_min": 600, "max_gpus_per_job": 3},
}
BIO: dict[str, Any] = {
    "name": "bio",
    "members": [{"user": "gita", "default": True}],
    "flavors": {"a100": {"limit": 8}},
}


@pytest.fixture
def table() -> PolicyTable:
    return table_of([Tenant.model_validate(document) for document in (ASTRO, BIO)], pool())


def taken(table: PolicyTable, **fields: Any) -> Decision:
    decision = decide(table, Request(**{"user": "ada", **fields}))
    assert isinstance(decision, Decision), decision
    return decision


def rule(table: PolicyTable, **fields: Any) -> str:
    decision = decide(table, Request(**{"user": "ada", **fields}))
    assert isinstance(decision, Refusal), decision
    assert decision.sentence.endswith(f" (rule {decision.rule})")
    return decision.rule


def test_a_job_that_says_nothing_gets_everything_from_the_document(table: PolicyTable) -> None:
    got = taken(table)
    assert (got.account, got.partition, got.qos, got.time_limit_min) == ("astro", "h100", "training", 600)
    assert (got.flavor, got.gpus) == ("h100", 0)


def test_the_default_of_several_tenants_is_the_marked_one(table: PolicyTable) -> None:
    assert taken(table, user="gita").account == "bio"
    assert taken(table, user="gita", account="astro").account == "astro"
    assert rule(table, account="bio") == "account.foreign"
    assert rule(table, user="eve") == "user.unknown"


@pytest.mark.parametrize(
    ("fields", "gpus", "written"),
    [
        ({"tres_per_job": "gres/gpu:2"}, 2, {"tres_per_job": "gres/gpu:h100:2"}),
        ({"tres_per_node": "gres/gpu", "nodes_min": 2}, 2, {"tres_per_node": "gres/gpu:h100"}),
        ({"tres_per_task": "cpu=2,gres/gpu:1", "ntasks": 3}, 3, {"tres_per_task": "cpu=2,gres/gpu:h100:1"}),
        ({"tres_per_socket": "gres/gpu=1", "sockets_per_node": 2}, 2, {"tres_per_socket": "gres/gpu:h100=1"}),
        ({"ntasks": 4, "ntasks_per_gpu": 2}, 2, {"tres_per_job": "gres/gpu:h100:2"}),
        ({"nodes_min": 2, "nodes_max": 2, "ntasks_per_gpu": 3}, 2, {"tres_per_job": "gres/gpu:h100:2"}),
        ({"tres_per_job": "gres/gpu:a100:2"}, 2, {"tres_per_job": "gres/gpu:a100:2"}),
        ({"partition": "a100", "tres_per_job": "gres/gpu"}, 1, {"tres_per_job": "gres/gpu:a100"}),
    ],
)
def test_gpus_are_typed_and_counted_however_they_are_asked(
    table: PolicyTable, fields: dict[str, Any], gpus: int, written: dict[str, str]
) -> None:
    got = taken(table, **fields)
    assert got.gpus == gpus
    assert {name: getattr(got, name) for name in written} == written


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"tres_per_job": "gres/gpu:5"}, "flavor.limit"),
        ({"tres_per_node": "gres/gpu:a100:2", "nodes_min": 2}, "flavor.limit"),
        ({"tres_per_node": "gres/gpu:1", "ntasks": 10, "ntasks_per_node": 2}, "flavor.limit"),
        ({"tres_per_job": "gres/gpu:4"}, "job.gpus"),
        ({"tres_per_job": "gres/gpu:3", "qos": "production"}, "production.guarantee"),
        ({"tres_per_job": "gres/gpu:a100:1", "qos": "production-astro"}, "production.guarantee"),
        ({"qos": "production-bio"}, "class.foreign"),
        ({"qos": "batch"}, "class.allowed"),
        ({"qos": "normal"}, "class.unknown"),
        ({"time_limit_min": 601}, "walltime.limit"),
        ({"time_limit_min": UNLIMITED}, "walltime.limit"),
        ({"time_limit_min": 481, "qos": "development"}, "walltime.limit"),
        ({"partition": "gpu"}, "partition.unknown"),
        ({"partition": "h100", "tres_per_job": "gres/gpu:a100:1"}, "partition.contradicts"),
        ({"partition": "h100,a100", "tres_per_job": "gres/gpu:1"}, "gpu.untyped"),
        ({"user": "gita", "partition": "h100"}, "flavor.grant"),
        ({"tres_per_job": "gres/gpu:b200:1"}, "flavor.unknown"),
        ({"tres_per_job": "gresgpu:2"}, "gpu.syntax"),
        ({"tres_per_job": "license/gres/gpu:2"}, "gpu.syntax"),
        ({"tres_per_node": "gres/shard:2"}, "gpu.shared"),
        ({"tres_per_job": "gres/gpu:1,gres/gpu:h100:1"}, "gpu.twice"),
        ({"tres_per_job": "gres/gpu:h100:1", "tres_per_node": "gres/gpu:a100:1"}, "gpu.several-types"),
        ({"user": "gita", "exclusive": True, "nodes_min": 3}, "node.exclusive"),
        ({"private_nodes": True}, "node.private"),
    ],
)
def test_what_could_never_run_is_refused_by_its_rule(
    table: PolicyTable, fields: dict[str, Any], expected: str
) -> None:
    assert rule(table, **fields) == expected


def test_a_sentence_says_what_where_and_how_to_mend_it(table: PolicyTable) -> None:
    refused = decide(table, Request(user="ada", tres_per_job="gres/gpu:9"))
    assert isinstance(refused, Refusal)
    assert refused.sentence == (
        "tenant astro may use 4 h100 GPUs at once, this job asks 9; ask fewer or have the limit raised"
        " (rule flavor.limit)"
    )


def test_a_specification_is_seen_as_slurmctld_would_see_it() -> None:
    spec = JobSpec(
        script=b"", work_dir="/", environment={}, qos="batch", ntasks_per_tres=2, exclusive="exclusive"
    )
    request = request_of(spec, user="ada")
    assert (request.user, request.qos, request.ntasks_per_gpu, request.exclusive) == ("ada", "batch", 2, True)


@pytest.mark.parametrize("kind", ["user", "mcs", "topo"])
def test_nodes_of_ones_own_are_seen_whoever_they_are_shared_with(
    kind: Literal["user", "mcs", "topo"],
) -> None:
    spec = JobSpec(script=b"", work_dir="/", environment={}, exclusive=kind)
    assert request_of(spec, user="ada").private_nodes


@pytest.mark.parametrize("field", ["tres_per_task", "tres_per_socket"])
def test_a_change_asks_no_gpus_that_can_not_be_counted(table: PolicyTable, field: str) -> None:
    job, change = Request(user="ada"), {field: "gres/gpu:h100:1"}
    refused = decide_change(table, job, Request(user="ada", **change))  # type: ignore[arg-type]
    assert isinstance(refused, Refusal)
    assert refused.rule == "gpu.change"
    assert isinstance(decide_change(table, job, Request(user="ada", tres_per_job="gres/gpu:1")), Decision)


def test_each_class_has_a_qos_and_back() -> None:
    for name in CLASS_RULES:
        assert class_of_qos(qos_name(name, "astro")) == name
    assert class_of_qos("normal") is None
    assert walltime("development", default_min=None, max_min=30) == (30, 30)
    assert walltime("training", default_min=5, max_min=None) == (5, None)


def test_a_sites_old_names_mean_flavors_and_classes() -> None:
    aliases = Aliases(partitions={"gpu": "a100", "h100": "a100"}, qos={"normal": "development"})
    table = table_of([Tenant.model_validate(ASTRO)], pool(), Site(aliases=aliases))
    got = taken(table, partition="gpu", qos="normal", tres_per_job="gres/gpu:1")
    assert (got.partition, got.qos, got.tres_per_job) == ("a100", "development", "gres/gpu:a100:1")
    assert taken(table, partition="h100").flavor == "h100", "a real partition is itself"
    assert rule(table, partition="gpu", tres_per_job="gres/gpu:h100:1") == "partition.contradicts"
    assert rule(table, qos="high") == "class.unknown"


def test_a_job_fits_into_the_limit_of_every_tenant_above() -> None:
    def tenant(name: str, parent: str | None, limit: int) -> Tenant:
        members = [{"user": "ada"}] if name == "team" else []
        whole = {"name": name, "parent": parent, "members": members, "flavors": {"h100": {"limit": limit}}}
        return Tenant.model_validate(whole)

    chain = [tenant("org", None, 3), tenant("dept", "org", 6), tenant("team", "dept", 5)]
    table = table_of(chain, pool())
    assert table.tenants["team"].ancestors == ("dept", "org")
    assert taken(table, tres_per_job="gres/gpu:3").gpus == 3
    assert rule(table, tres_per_job="gres/gpu:4") == "parent.limit"
    assert rule(table, tres_per_job="gres/gpu:6") == "flavor.limit"


def test_a_job_without_gpus_goes_to_nodes_without_any_and_is_limited_there_in_cpus() -> None:
    document = {**ASTRO, "flavors": {"h100": {"limit": 4, "guarantee": 2}, "cpu": {"limit": 8}}}
    table = table_of([Tenant.model_validate(document)], pool(("a100", "h100", "cpu")))
    assert taken(table).partition == "cpu"
    assert taken(table, cpus_min=8).partition == "cpu"
    assert taken(table, tres_per_job="gres/gpu:1").partition == "h100"
    assert rule(table, cpus_min=9) == "flavor.limit"
    assert rule(table, partition="cpu", tres_per_job="gres/gpu:1") == "partition.gpus"
    assert rule(table, qos="production") == "production.guarantee"


def test_what_goes_with_a_gpu_is_the_smallest_nodes_part_unless_the_site_says_otherwise() -> None:
    def node(name: str, cpus: int) -> NodeStatus:
        return NodeStatus(
            name=name,
            state=frozenset({"IDLE"}),
            cpus=cpus,
            memory_mib=4096,
            gpus={"h100": 4},
            partitions=("h100",),
        )

    nodes, partitions = [node("a", 32), node("b", 18)], [PartitionStatus(name="h100", up=True, nodes="a,b")]
    share = pool_of(nodes, partitions).flavors["h100"].share
    assert share == Share(cpus_per_gpu=4, memory_mib_per_gpu=1024)
    site = Site(shares={"h100": Share(cpus_per_gpu=9, without_gpus="refuse")}, spare_nodes=2)
    flavor = pool_of(nodes, partitions, site).flavors["h100"]
    assert flavor.share == Share(cpus_per_gpu=9, memory_mib_per_gpu=1024, without_gpus="refuse")
    assert (flavor.healthy, flavor.assured) == (8, 0)
    assert [pool_of([*nodes, node("c", 8)][:n], partitions).flavors["h100"].assured for n in (2, 3)] == [8, 8]
