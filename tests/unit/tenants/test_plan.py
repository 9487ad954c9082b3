"""Properties over random histories of documents and jobs, on the fake Slurm."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from bridge.job import JobSpec
from bridge.slurm.port import Account, AccountingState, Association, PartitionStatus, Qos
from bridge.tenants.accounts import Desired
from bridge.tenants.plan import plan
from bridge.tenants.source import Text
from tests.support.effort import examples
from tests.unit.tenants.site import Site, document

USERS = ("ada", "bela", "chen")
NAMES = ("astro", "genomics", "robotics")

_tenant = st.fixed_dictionaries(
    {
        "name": st.sampled_from(NAMES),
        "members": st.lists(st.sampled_from(USERS), unique=True, max_size=3),
        "limit": st.integers(1, 8),
        "weight": st.integers(1, 9),
        "flavor": st.sampled_from(["h100", "a100"]),
        "production": st.booleans(),
    }
)
_documents = st.lists(_tenant, unique_by=lambda tenant: tenant["name"], max_size=3)
_step = st.one_of(
    st.tuples(st.just("apply"), _documents),
    st.tuples(st.just("submit"), st.sampled_from(USERS)),
    st.tuples(st.just("finish"), st.integers(0, 5)),
)


def texts(tenants: list[dict[str, object]]) -> list[Text]:
    found: list[Text] = []
    for tenant in tenants:
        members = tenant["members"]
        assert isinstance(members, list)
        guarantee = 1 if tenant["production"] else 0
        found.append(
            document(
                str(tenant["name"]),
                *members,
                weight=str(tenant["weight"]),
                flavors=f"{{{tenant['flavor']}: {{limit: {tenant['limit']}, guarantee: {guarantee}}}}}",
                classes="{allowed: [production, training]}" if guarantee else "{allowed: [training]}",
            )
        )
    return found


@settings(max_examples=examples(15))
@given(steps=st.lists(_step, max_size=8))
def test_a_second_pass_is_always_empty_and_no_live_job_loses_its_association(
    steps: list[tuple[str, object]],
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        site = Site(Path(folder))
        jobs: list[int] = []
        for verb, value in steps:
            if verb == "apply":
                assert isinstance(value, list)
                site.apply(*texts(value), prune=True)
                assert site.tenants.reconcile() == ()
            elif verb == "submit":
                own = [key for key, item in site.slurm.associations.items() if key[1] == value]
                if any(site.slurm.associations[key].is_default for key in own):
                    spec = JobSpec(script=b"#!/bin/sh\n", work_dir="/", environment={}, partition=None)
                    jobs.append(submit(site, spec, str(value)))
            elif jobs:
                assert isinstance(value, int)
                job = jobs.pop(value % len(jobs))
                site.slurm.start(job)
                site.slurm.finish(job)
                site.tenants.reconcile()
                assert site.tenants.reconcile() == ()
            for status in site.slurm.jobs():
                if not status.state.finished:
                    assert (status.account, status.user) in site.slurm.associations


def submit(site: Site, spec: JobSpec, user: str) -> int:
    account = next(
        key[0] for key, item in site.slurm.associations.items() if key[1] == user and item.is_default
    )
    open_to = [
        name for name, partition in site.slurm.partition_table.items() if account in partition.allow_accounts
    ]
    return site.slurm.submit(replace(spec, account=account, partition=open_to[0]), user=user).job_id


def association(account: str, parent: str = "root", user: str = "") -> Association:
    return Association(account=account, parent="" if user else parent, user=user)


def test_children_leave_before_their_parents_and_users_before_accounts() -> None:
    nothing = Desired(qos=(), accounts=(), associations=(), partition_accounts={})
    have = AccountingState(
        accounts=tuple(Account(name=name, organization="sluice") for name in ("org", "team", "lab")),
        associations=(
            association("org"),
            association("team", "org"),
            association("lab", "team"),
            association("lab", user="ada"),
            association("org", user="bela"),
        ),
        qos=(),
    )
    removed = [(gone.account, gone.user) for gone in plan(nothing, have, [], {}).removals]
    assert removed == [("lab", "ada"), ("org", "bela"), ("lab", ""), ("team", ""), ("org", "")]
    kept = plan(nothing, have, [], {("lab", "ada"): 1})
    assert [gone.user for gone in kept.removals] == ["bela"]
    assert set(kept.draining) == {"lab/ada", "lab", "team", "org"}


def test_a_partition_that_is_no_flavor_is_left_alone() -> None:
    nothing = Desired(qos=(), accounts=(), associations=(), partition_accounts={"h100": frozenset({"a"})})
    partitions = [PartitionStatus(name=name, up=True, nodes="") for name in ("h100", "debug")]
    steps = plan(nothing, AccountingState(accounts=(), associations=(), qos=()), partitions, {})
    assert steps.partition_accounts == {"h100": frozenset({"a"})}


def test_differences_name_the_fields_with_before_and_after() -> None:
    want = Qos(name="batch", description="Sluice class batch", priority=1, preempt=frozenset({"a", "b"}))
    have = Qos(name="batch", description="Sluice class batch", grp_tres={"gres/gpu": 2})
    desired = Desired(qos=(want,), accounts=(), associations=(), partition_accounts={})
    steps = plan(desired, AccountingState(accounts=(), associations=(), qos=(have,)), [], {})
    assert steps.actions[0].detail == "priority 0 -> 1, preempt none -> a,b, grp_tres gres/gpu=2 -> none"
