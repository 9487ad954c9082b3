"""The next state of a mirrored job, from the last one and what Slurm shows now.

Pure: `now` is an argument. In: a `JobRecord` (or none) and a `JobStatus` of slurmctld or an
`AccountingRow` of slurmdbd. Out: the record as it is now. Rules that hold here:

- A job absent from a listing is UNKNOWN until accounting proves how it ended.
- A requeue or a resize begins a new run of the same job: the id stays. A number that Slurm gave again to
  another job never continues the old one.
- An array is a record of its own beside its tasks; what they add up to is `gateway.track.arrays`' business.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final

from bridge.job import AccountingRow, BaseState, JobState, JobStatus
from bridge.units import gpu_count
from gateway.track.record import (
    UNKNOWN_UID,
    JobNumber,
    JobRecord,
    class_of,
    flavor_of,
    id_of,
    id_of_intent,
    intent_of,
    is_component,
    number_of,
)

CLOCK_SLACK: Final = timedelta(seconds=90)
"""How far our clock's time of a submission may be from Slurm's (our own rows before Slurm showed them)."""

_REQUEUED_FROM: Final = frozenset({BaseState.NODE_FAIL, BaseState.PREEMPTED, BaseState.BOOT_FAIL})


@dataclass(frozen=True, slots=True)
class Transition:
    """A job's base state or flags changed; `before` is None for a job seen for the first time."""

    job_id: str
    before: JobState | None
    after: JobState
    at: datetime


def number_of_status(status: JobStatus | AccountingRow) -> JobNumber:
    """Return the number that users see for a record of Slurm."""
    return number_of(status.job_id, status.array_job_id, status.array_task_id)


def whole_intent_of(status: JobStatus | AccountingRow) -> str | None:
    """Return the intent that a record stands for as a whole.

    Tasks of an array and later components of a het job carry it too: None for them.
    """
    if status.array_task_id is not None or status.het_offset or is_component(status.admin_comment):
        return None
    return intent_of(status.admin_comment)


def continues(record: JobRecord, status: JobStatus) -> bool:
    """Say whether a record of slurmctld is the same job as `record`, which has the same number.

    slurmctld raises `restarts` with each requeue; a number given again starts at 0.
    """
    if intent := whole_intent_of(status):
        return record.id == id_of_intent(intent)
    if record.uid != status.uid:
        return False
    if record.run_submitted_at is None:
        return abs(status.submitted_at - record.submitted_at) < CLOCK_SLACK
    if status.submitted_at == record.run_submitted_at:
        return True
    return status.restarts > record.restarts and status.submitted_at > record.run_submitted_at


def continues_in_accounting(record: JobRecord, row: AccountingRow) -> bool:
    """Say whether an accounting row is a run of `record`, which has the same number."""
    if row.submitted_at is None or record.uid not in (row.uid, UNKNOWN_UID):
        return False
    if record.run_submitted_at is None:
        return abs(row.submitted_at - record.submitted_at) < CLOCK_SLACK
    if record.submitted_at <= row.submitted_at <= record.run_submitted_at:
        return True
    ended_by_requeue = "REQUEUED" in record.state.flags or record.state.base in _REQUEUED_FROM
    return ended_by_requeue and row.submitted_at > record.run_submitted_at


def observe(previous: JobRecord | None, status: JobStatus, *, cluster: str, now: datetime) -> JobRecord:
    """Return the job as slurmctld shows it; the very same object as `previous` when nothing changed."""
    intent = intent_of(status.admin_comment)
    number = number_of_status(status)
    tres = dict(status.tres_allocated) or dict(status.tres_requested)
    gpus = gpu_count(tres)
    record = JobRecord(
        id=previous.id
        if previous
        else _new_id(cluster, number, status.submitted_at, whole_intent_of(status)),
        cluster=cluster,
        job_id=status.job_id,
        array_job_id=status.array_job_id,
        array_task_id=status.array_task_id,
        array_tasks=status.array_tasks,
        het_job_id=status.het_job_id,
        het_offset=status.het_offset,
        name=status.name,
        user=status.user,
        uid=status.uid,
        tenant=status.account,
        job_class=class_of(status.qos),
        flavor=flavor_of(status.partition, tres, gpus),
        partition=status.partition,
        qos=status.qos,
        state=status.state,
        reason="" if status.reason == "None" else status.reason,
        exit=status.exit,
        submitted_at=_first_submission(previous, status.submitted_at),
        run_submitted_at=status.submitted_at,
        started_at=status.started_at,
        ended_at=status.ended_at,
        time_limit_min=status.time_limit_min,
        nodes=status.nodes,
        node_count=status.node_count,
        cpus=status.cpus,
        gpus=gpus,
        tres_requested=dict(status.tres_requested),
        tres_allocated=dict(status.tres_allocated),
        door="http" if intent else "sbatch",
        work_dir=status.work_dir,
        # Of an array's waiting record Slurm expands %a to 4294967294: no file of that name will be there.
        stdout="" if _whole_array(status) else status.stdout,
        stderr="" if _whole_array(status) else status.stderr,
        restarts=status.restarts,
        messages=previous.messages if previous else (),
        admin_comment=status.admin_comment,
        comment=status.comment,
        dependency=status.dependency,
        priority=status.priority,
        changed_at=now,
    )
    return unless_equal(previous, record)


def observe_accounting(
    previous: JobRecord | None, row: AccountingRow, *, submitted_at: datetime, now: datetime
) -> JobRecord:
    """Return the job as an accounting row shows it.

    Accounting lags behind slurmctld, so that this is for jobs which left it. `submitted_at` is the row's,
    given by the caller because a row without it can't be placed.
    """
    intent = intent_of(row.admin_comment or (previous.admin_comment if previous else ""))
    number = number_of_status(row)
    tres = dict(row.tres_allocated) or dict(row.tres_requested)
    gpus = gpu_count(tres)
    known = previous or JobRecord(
        id=_new_id(row.cluster, number, submitted_at, whole_intent_of(row)),
        cluster=row.cluster,
        job_id=row.job_id,
        name=row.name,
        user=row.user,
        uid=row.uid,
        tenant=row.account,
        state=row.state,
        submitted_at=submitted_at,
        changed_at=now,
    )
    record = replace(
        known,
        job_id=row.job_id,
        array_job_id=row.array_job_id,
        array_task_id=row.array_task_id,
        array_tasks=row.array_tasks,
        het_job_id=row.het_job_id,
        het_offset=row.het_offset,
        job_class=class_of(row.qos),
        flavor=flavor_of(row.partition, tres, gpus),
        partition=row.partition,
        qos=row.qos,
        state=row.state,
        reason="" if row.state.finished else known.reason,
        exit=row.exit if row.state.finished else known.exit,
        submitted_at=_first_submission(previous, submitted_at),
        run_submitted_at=submitted_at,
        started_at=row.started_at,
        ended_at=row.ended_at,
        time_limit_min=row.time_limit_min,
        nodes=row.nodes,
        node_count=row.tres_allocated.get("node", 0),
        cpus=tres.get("cpu", 0),
        gpus=gpus,
        tres_requested=dict(row.tres_requested),
        tres_allocated=dict(row.tres_allocated),
        door="http" if intent else "sbatch",
        work_dir=row.work_dir or known.work_dir,
        stdout=row.stdout or known.stdout,
        stderr=row.stderr or known.stderr,
        admin_comment=row.admin_comment or known.admin_comment,
        comment=row.comment or known.comment,
        changed_at=now,
    )
    return unless_equal(previous, record)


def lost(previous: JobRecord, *, now: datetime) -> JobRecord:
    """Return the job as UNKNOWN: slurmctld doesn't list it and accounting hasn't said how it ended."""
    return unless_equal(
        previous,
        replace(
            previous,
            state=JobState(BaseState.UNKNOWN),
            reason="slurmctld no longer lists it and accounting has no end of it yet",
            changed_at=now,
        ),
    )


def transition(previous: JobRecord | None, record: JobRecord) -> Transition | None:
    """Return the change of state between two records of a job, None when there is none."""
    if previous is not None and previous.state == record.state:
        return None
    return Transition(record.id, previous.state if previous else None, record.state, record.changed_at)


def _new_id(cluster: str, number: JobNumber, submitted_at: datetime, intent: str | None) -> str:
    return id_of_intent(intent) if intent else id_of(cluster, number, submitted_at)


def _whole_array(status: JobStatus) -> bool:
    return status.array_job_id is not None and status.array_task_id is None


def _first_submission(previous: JobRecord | None, seen: datetime) -> datetime:
    if previous is None or previous.run_submitted_at is None:
        return seen
    return previous.submitted_at


def unless_equal(previous: JobRecord | None, record: JobRecord) -> JobRecord:
    """Return `record`, or the very same `previous` when they differ in `changed_at` alone."""
    if previous is not None and replace(record, changed_at=previous.changed_at) == previous:
        return previous
    return record
