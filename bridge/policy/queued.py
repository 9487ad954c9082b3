"""Judges waiting jobs again after a change of the rules: which to hold, which to release.

Pure. What flows in: the table, the jobs that Slurm has, the moment. What flows out: `Held` and `Released`
steps, and whether all is settled. A job that was held so carries a mark in its admin_comment, which only
administrators can write: a hold without the mark is its user's or an administrator's and is never touched; a
job with the mark that isn't held was released by an administrator, whose word counts. Who takes the mark away
makes the hold his own.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from bridge.job import BaseState, JobStatus
from bridge.policy.decide import decide
from bridge.policy.request import Refusal, Request
from bridge.policy.table import PolicyTable
from bridge.units import gpu_count

MARK: Final = "held by Sluice: "
LEAVING: Final = frozenset({"user.unknown", "account.foreign"})
"""Of a user or tenant who leaves: what they queued before runs out, else they would never be gone."""
_BEFORE: Final = " | "
"""Between what stood in admin_comment before and the mark."""


@dataclass(frozen=True, slots=True)
class Step:
    """What to do with one record of Slurm's: `note` is its admin_comment from then on."""

    job_id: int
    tenant: str
    note: str
    hold: bool
    rule: str = ""
    """Of a hold."""


@dataclass(frozen=True, slots=True)
class Judged:
    """The steps, and whether no job is left that the rules refuse and that isn't held for it."""

    steps: tuple[Step, ...]
    settled: bool


def judged(
    table: PolicyTable, jobs: Iterable[JobStatus], *, now: datetime, administrators: Collection[int]
) -> Judged:
    """Judge all jobs; those that have started are only looked at, they may come back to the queue."""
    steps: list[Step] = []
    settled = True
    for job in jobs:
        if job.state.finished or job.uid in administrators:
            continue
        verdict = decide(table, request_of_job(job), now)
        refusal = verdict if isinstance(verdict, Refusal) and verdict.rule not in LEAVING else None
        before, held_by_us = _split(job.admin_comment)
        if job.state.base is not BaseState.PENDING:
            settled = settled and refusal is None
            continue
        held = job.priority == 0
        if refusal is None:
            if held_by_us is not None:
                steps.append(Step(job.job_id, job.account, before, hold=False))
        elif held_by_us is not None:
            if held and held_by_us != refusal.sentence:
                steps.append(_hold(job, before, refusal))
        elif held:
            settled = False
        else:
            steps.append(_hold(job, before, refusal))
    return Judged(tuple(steps), settled)


def _hold(job: JobStatus, before: str, refusal: Refusal) -> Step:
    note = f"{before}{_BEFORE if before else ''}{MARK}{refusal.sentence}"
    return Step(job.job_id, job.account, note, hold=True, rule=refusal.rule)


def _split(admin_comment: str) -> tuple[str, str | None]:
    """Return what stands in front of the mark, and the sentence behind it (None without a mark)."""
    before, mark, sentence = admin_comment.partition(MARK)
    return before.removesuffix(_BEFORE), sentence if mark else None


def request_of_job(job: JobStatus) -> Request:
    """Return what the rules see of a job that Slurm has: names, time limit and Slurm's own counts."""
    tres = job.tres_requested
    gpus = gpu_count(tres)
    kinds = [name.removeprefix("gres/gpu") for name in tres if name.startswith("gres/gpu:")]
    kind = kinds[0] if len(kinds) == 1 else ""
    return Request(
        user=job.user,
        account=job.account or None,
        partition=job.partition or None,
        qos=job.qos or None,
        time_limit_min=job.time_limit_min,
        tres_per_job=f"gres/gpu{kind}:{gpus}" if gpus else None,
        nodes_min=job.node_count or None,
        cpus_counted=tres.get("cpu"),
        memory_counted_mib=tres.get("mem"),
    )
