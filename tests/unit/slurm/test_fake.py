"""What the fake can do beside the port: faults, and the things that Slurm does by itself.

That it behaves as the real one is `tests/contract`'s matter.
"""

from __future__ import annotations

import dataclasses
from datetime import UTC, datetime, timedelta

import pytest

from bridge.errors import OutcomeUnknown, SlurmRefused, Unavailable
from bridge.job import BaseState, JobSpec
from bridge.slurm.fake import FakeSlurm

SPEC = JobSpec(script=b"#!/bin/sh\n", work_dir="/home/a", environment={}, admin_comment="sluice:http:1")


class Clock:
    def __init__(self) -> None:
        self.now = datetime(2026, 1, 1, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now

    def pass_(self, seconds: int) -> None:
        self.now += timedelta(seconds=seconds)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def slurm(clock: Clock) -> FakeSlurm:
    slurm = FakeSlurm(clock=clock)
    slurm.add_tenant("team", users=("ann",))
    return slurm


def test_a_fault_before_the_work_leaves_nothing(slurm: FakeSlurm) -> None:
    slurm.fail_next("submit", Unavailable("away"))
    with pytest.raises(Unavailable):
        slurm.submit(SPEC, user="ann")
    assert slurm.jobs() == []


def test_a_fault_after_the_work_leaves_the_job(slurm: FakeSlurm) -> None:
    slurm.fail_next("submit", OutcomeUnknown("no answer"), after=True)
    with pytest.raises(OutcomeUnknown):
        slurm.submit(SPEC, user="ann")
    assert [job.admin_comment for job in slurm.jobs()] == ["sluice:http:1"]
    assert slurm.submit(SPEC, user="ann").job_id == 2


def test_a_refusal_with_words(slurm: FakeSlurm) -> None:
    slurm.refuse_next("ask fewer GPUs", errno=2072)
    with pytest.raises(SlurmRefused, match="ask fewer GPUs") as refused:
        slurm.submit(SPEC, user="ann")
    assert refused.value.errno == 2072


def test_a_policy_stands_for_job_submit_lua(slurm: FakeSlurm) -> None:
    slurm.policy = lambda spec, user: f"{user} may not" if spec.name == "bad" else None
    slurm.submit(SPEC, user="ann")
    with pytest.raises(SlurmRefused, match="ann may not"):
        slurm.submit(dataclasses.replace(SPEC, name="bad"), user="ann")


def test_a_part_that_is_down(slurm: FakeSlurm) -> None:
    slurm.down.add("slurmctld")
    with pytest.raises(Unavailable) as away:
        slurm.jobs()
    assert away.value.details["part"] == "slurmctld"
    assert [part.part for part in slurm.health() if not part.healthy] == ["slurmctld"]
    slurm.accounting_state()


def test_times_are_the_clocks(slurm: FakeSlurm, clock: Clock) -> None:
    job = slurm.submit(SPEC, user="ann").job_id
    clock.pass_(10)
    slurm.start(job)
    clock.pass_(60)
    slurm.finish(job, exit=7)
    (row,) = slurm.accounting_of(job)
    assert row.submitted_at is not None
    assert row.started_at == row.submitted_at + timedelta(seconds=10)
    assert row.ended_at == row.submitted_at + timedelta(seconds=70)


def test_a_purged_job_stays_in_accounting(slurm: FakeSlurm) -> None:
    job = slurm.submit(SPEC, user="ann").job_id
    slurm.start(job)
    slurm.finish(job)
    slurm.purge(job)
    assert slurm.jobs() == []
    assert len(slurm.accounting_of(job)) == 1


def test_a_recycled_number_shows_both_jobs(slurm: FakeSlurm) -> None:
    job = slurm.submit(SPEC, user="ann").job_id
    slurm.start(job)
    slurm.finish(job)
    slurm.purge(job)
    slurm.reuse_numbers_from(job)
    assert slurm.submit(SPEC, user="ann").job_id == job
    assert len({row.db_index for row in slurm.accounting_of(job)}) == 2


def test_an_array_falls_apart_as_it_starts(slurm: FakeSlurm) -> None:
    job = slurm.submit(dataclasses.replace(SPEC, array="0-4%2"), user="ann").job_id
    slurm.start(job, array_task_id=0)
    slurm.start(job, array_task_id=2)
    (rest,) = [each for each in slurm.job(job) if each.array_tasks]
    assert rest.array_tasks == "1,3-4%2"
    slurm.finish(job, array_task_id=0)
    slurm.finish(job)
    assert sorted(row.array_task_id or 0 for row in slurm.accounting_of(job)) == [0, 1, 2, 3, 4]


def test_completing_is_a_flag_that_holds_resources(slurm: FakeSlurm) -> None:
    job = slurm.submit(SPEC, user="ann").job_id
    slurm.start(job)
    slurm.finish(job, state=BaseState.TIMEOUT)
    slurm.completing(job)
    assert slurm.job(job)[0].state.holds_resources
    slurm.completing(job, on=False)
    assert slurm.job(job)[0].state.finished


def test_autostart() -> None:
    slurm = FakeSlurm(autostart=True)
    slurm.add_tenant("team", users=("ann",))
    job = slurm.submit(SPEC, user="ann").job_id
    assert slurm.job(job)[0].state.base is BaseState.RUNNING
    assert slurm.calls == ["submit", "job"]
