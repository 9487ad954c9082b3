"""Waiting jobs judged again: what is held, what is released, what is left alone."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from bridge.job import BaseState, JobState, JobStatus
from bridge.policy.moment import Exhausted, Moment
from bridge.policy.queued import MARK, Step, judged, request_of_job
from bridge.policy.table import PolicyTable, table_of
from bridge.policy.tenant import Tenant
from tests.unit.policy.worlds import NOW, pool

ASTRO: dict[str, Any] = {"name": "astro", "members": [{"user": "ada"}], "flavors": {"h100": {"limit": 2}}}
SENTENCE = "tenant astro may use 2 h100 GPUs at once, this job asks 4; ask fewer or have the limit raised"
NOTE = f"{MARK}{SENTENCE} (rule flavor.limit)"


def table(**more: Any) -> PolicyTable:
    return table_of([Tenant.model_validate({**ASTRO, **more})], pool())


def job(**fields: Any) -> JobStatus:
    return replace(
        JobStatus(
            job_id=7,
            name="x",
            user="ada",
            uid=20000,
            account="astro",
            partition="h100",
            qos="training",
            state=JobState(BaseState.PENDING),
            submitted_at=datetime(2026, 11, 30, tzinfo=UTC),
            time_limit_min=60,
            node_count=1,
            priority=1,
            tres_requested={"cpu": 1, "mem": 100, "node": 1, "gres/gpu": 4, "gres/gpu:h100": 4},
        ),
        **fields,
    )


def steps(rules: PolicyTable, *jobs: JobStatus) -> tuple[Step, ...]:
    return judged(rules, jobs, now=NOW, administrators={0, 64030}).steps


def test_a_job_that_is_refused_now_is_held_with_the_reason_behind_what_stood_there() -> None:
    assert steps(table(), job()) == (Step(7, "astro", NOTE, hold=True, rule="flavor.limit"),)
    (step,) = steps(table(), job(admin_comment="sluice:http:01X"))
    assert step.note == f"sluice:http:01X | {NOTE}"


def test_it_is_released_when_it_may_run_and_its_comment_is_as_before() -> None:
    roomy = table(flavors={"h100": {"limit": 8}})
    held = job(priority=0, admin_comment=f"sluice:http:01X | {NOTE}")
    assert steps(table(), held) == ()
    assert steps(roomy, held) == (Step(7, "astro", "sluice:http:01X", hold=False),)
    assert steps(roomy, job(priority=0, admin_comment=NOTE)) == (Step(7, "astro", "", hold=False),)
    assert steps(table(rules="warn"), held)[0].hold is False


def test_a_new_reason_takes_the_place_of_the_old_one() -> None:
    (step,) = steps(table(flavors={"h100": {"limit": 3}}), job(priority=0, admin_comment=f"a | {NOTE}"))
    assert step.note == "a | " + NOTE.replace("use 2", "use 3")


def test_a_hold_of_somebody_else_and_a_release_by_an_administrator_are_left_alone() -> None:
    held = judged(table(), [job(priority=0)], now=NOW, administrators=())
    assert (held.steps, held.settled) == ((), False)
    assert steps(table(), job(priority=9, admin_comment=NOTE)) == ()
    assert steps(table(flavors={"h100": {"limit": 8}}), job(priority=0)) == ()


def test_what_runs_goes_on_and_is_looked_at_again() -> None:
    running = judged(table(), [job(state=JobState(BaseState.RUNNING))], now=NOW, administrators=())
    assert (running.steps, running.settled) == ((), False)
    ended = judged(table(), [job(state=JobState(BaseState.COMPLETED))], now=NOW, administrators=())
    assert ended.settled


def test_jobs_of_administrators_and_of_who_leaves_run_out() -> None:
    assert steps(table(), job(uid=0), job(user="gone"), job(account="gone")) == ()


def test_an_exhausted_budget_holds_what_waits_until_the_ledger_takes_its_word_back() -> None:
    budget = {"gpu_hours": 10, "when_exhausted": "block"}
    tenant = Tenant.model_validate({**ASTRO, "budget": budget, "flavors": {"h100": {"limit": 8}}})
    until = datetime(2026, 12, 1, tzinfo=UTC)
    moment = Moment(exhausted={"astro": Exhausted(budget="10 GPU-hours", until=until)})
    (step,) = steps(table_of([tenant], pool(), moment=moment), job())
    assert step.rule == "budget.exhausted"
    assert "which is renewed on 2026-12-01; wait until then" in step.note
    assert steps(table_of([tenant], pool()), job(priority=0, admin_comment=step.note))[0].hold is False


def test_the_record_s_counts_are_what_is_judged() -> None:
    request = request_of_job(job())
    assert (request.tres_per_job, request.cpus_counted, request.memory_counted_mib) == (
        "gres/gpu:h100:4",
        1,
        100,
    )
    assert request_of_job(job(tres_requested={"gres/gpu": 2})).tres_per_job == "gres/gpu:2"
    assert request_of_job(job(tres_requested={"cpu": 2})).tres_per_job is None
