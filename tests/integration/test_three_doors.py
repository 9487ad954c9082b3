"""The same requests by real sbatch, by HTTP and by raw slurmrestd meet the same decision."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from random import Random
from typing import Final

import pytest

from tests.support.doors import Options, by_http, by_sbatch, by_slurmrestd, cancel_all, records
from tests.support.effort import examples
from tests.support.stack import OwnTenant, Stack

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(600)]

MakeTenant = Callable[..., OwnTenant]

RULES: Final = {
    "account.foreign": {"account": "root"},
    "class.allowed": {"qos": "development"},
    "class.foreign": {"qos": "production-astro"},
    "class.unknown": {"qos": "normal"},
    "flavor.grant": {"account": "POOR", "partition": "h100"},
    "flavor.limit": {"gpus": "h100:5"},
    "flavor.none": {"account": "BARE"},
    "flavor.unknown": {"gpus": "b200:1"},
    "gpu.cpus": {"gpus": "1", "cpus-per-task": "30"},
    "gpu.memory": {"gpus": "1", "mem": "60000"},
    "gpu.several-types": {"gpus": "h100:1", "gpus-per-node": "a100:1"},
    "gpu.untyped": {"partition": "h100,a100", "gpus": "1"},
    "job.gpus": {"gpus": "3"},
    "node.exclusive": {"exclusive": "", "gpus": "1"},
    "node.private": {"exclusive": "user", "gpus": "1"},
    "parent.limit": {"gpus": "4"},
    "partition.contradicts": {"partition": "a100", "gpus": "h100:1"},
    "partition.unknown": {"partition": "nowhere"},
    "production.guarantee": {"qos": "production", "gpus": "2"},
    "walltime.limit": {"time": "101"},
}
"""A request for each rule that a member of a tenant can meet on this pool."""
GOOD: Final[tuple[Options, ...]] = (
    {},
    {"gpus": "2"},
    {"gpus-per-node": "h100:1", "nodes": "2"},
    {"gpus-per-task": "1", "ntasks": "2"},
    {"partition": "a100", "qos": "training", "time": "100"},
    {"account": "POOR", "gpus": "1"},
    {"qos": "production", "gpus": "1"},
    {"gpus": "1", "cpus-per-task": "4", "mem": "2000"},
)


@pytest.fixture
def tenants(make_tenant: MakeTenant) -> Iterator[dict[str, OwnTenant]]:
    """A team in an organisation; its member is also in a tenant without h100, and in one without GPUs."""
    above = make_tenant(members=1, flavors={"h100": {"limit": 3}, "a100": {"limit": 3}})
    team = make_tenant(
        members=1,
        parent=above.name,
        flavors={"h100": {"limit": 4, "guarantee": 1}, "a100": {"limit": 1}},
        classes={"allowed": ["production", "training", "batch"], "default": "batch"},
        limits={"max_walltime_min": 100, "max_gpus_per_job": 2},
    )
    people = [{"user": team.user}]
    poor = make_tenant(members=people, flavors={"a100": {"limit": 2}})
    bare = make_tenant(members=people, flavors={})
    yield {"TEAM": team, "POOR": poor, "BARE": bare}


def _named(options: Options, tenants: dict[str, OwnTenant]) -> Options:
    # The user's default tenant is the first by name, which isn't known: every request names one.
    account = options.get("account", "TEAM")
    return {**options, "account": tenants[account].name if account in tenants else account}


def _mixed(random: Random) -> Options:
    """A request of a few options, each good or bad by chance."""
    pool = [*RULES.values(), *GOOD]
    options = {**random.choice(pool), **random.choice(pool)}
    return {name: options[name] for name in sorted(options)}


def test_three_doors_decide_alike(stack: Stack, tenants: dict[str, OwnTenant]) -> None:
    random, user = Random(11), tenants["TEAM"].user
    mixed = [_mixed(random) for _ in range(examples(12))]
    asked = [_named(each, tenants) for each in (*RULES.values(), *GOOD, *mixed)]
    seen: set[str] = set()
    for some in (asked[at : at + 60] for at in range(0, len(asked), 60)):
        doors = [door(stack, user, some) for door in (by_sbatch, by_http, by_slurmrestd)]
        kept = records(stack, [answer for door in doors for answer in door])
        for request, sbatch, http, rest in zip(some, *doors, strict=True):
            if sbatch.job is None:
                assert (http.job, rest.job) == (None, None), request
                if sbatch.rule:  # else sbatch itself refused, in its own words
                    assert (http.rule, http.sentence) == (sbatch.rule, sbatch.sentence), request
                    assert rest.words == sbatch.words, request
            else:
                assert http.job is not None, (request, http)
                assert rest.job is not None, (request, rest)
                assert kept[http.job] == kept[sbatch.job] == kept[rest.job], request
            seen.add(sbatch.rule or "accepted")
        cancel_all(stack, *tenants.values())
    assert seen >= {*RULES, "accepted"}, {*RULES} - seen
