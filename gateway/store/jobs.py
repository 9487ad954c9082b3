"""Queries on the mirror of jobs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

import sqlalchemy as sa
from sqlmodel import Session

from bridge.job import UNLIMITED, BaseState, ExitStatus, JobState
from gateway.store.columns import upsert
from gateway.store.tables import JobRow
from gateway.store.tables.jobs import NO_TASK, UNLIMITED_MIN
from gateway.track.record import JobNumber, JobRecord

_JOBS: Final = sa.inspect(JobRow).local_table
"""Rows are read without the ORM: a page costs half."""
_C: Final = _JOBS.c
HET_NUMBERS: Final = 1000
"""How far a component's number may be from its leader's."""

Row = sa.Row[Any]
Query = sa.Select[Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Visible:
    """Which jobs a reader may see: those of `tenants`, and the reader's own; all when `everything`."""

    user: str
    tenants: frozenset[str] = frozenset()
    everything: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter:
    """What a listing is narrowed to; None means any."""

    tenant: str | None = None
    user: str | None = None
    states: frozenset[BaseState] = frozenset()


def put(session: Session, records: Sequence[JobRecord]) -> None:
    """Write records, new ones and changed ones."""
    upsert(session, JobRow, [_values(record) for record in records], keys=("id",))


def add_if_new(session: Session, record: JobRecord) -> None:
    """Write a record unless the mirror has the job already; its messages are written in either case."""
    if get(session, record.id) is None:
        put(session, [record])
    elif record.messages:
        session.connection().execute(
            sa.update(JobRow).where(_C.id == record.id).values(messages=list(record.messages))
        )


def get(session: Session, job_id: str) -> JobRecord | None:
    """Return the job of one of our ids."""
    row = session.connection().execute(sa.select(_JOBS).where(_C.id == job_id)).one_or_none()
    return _record(row) if row else None


def by_number(session: Session, cluster: str, number: JobNumber) -> Sequence[JobRecord]:
    """Return the jobs that ever had a number of Slurm's, newest first.

    A plain number finds jobs and whole arrays, and the array task whose own record has that number.
    """
    task = NO_TASK if number.task is None else number.task
    query = sa.select(_JOBS).where(_C.cluster == cluster, _C.number == number.number, _C.task == task)
    rows = list(session.connection().execute(query.order_by(_C.id.desc())))
    if not rows and number.task is None:
        raw = sa.select(_JOBS).where(_C.cluster == cluster, _C.job_id == number.number)
        rows = list(session.connection().execute(raw.order_by(_C.id.desc())))
    return [_record(row) for row in rows]


def by_component(session: Session, cluster: str, number: int, offset: int) -> Sequence[JobRecord]:
    """Return the components ``NUMBER+OFFSET`` of heterogeneous jobs, newest first."""
    query = sa.select(_JOBS).where(
        _C.cluster == cluster,
        # slurmctld numbers components in a row, so that the index on numbers serves.
        _C.job_id.between(number, number + HET_NUMBERS),
        _C.het_job_id == number,
        _C.het_offset == offset,
    )
    return [_record(row) for row in session.connection().execute(query.order_by(_C.id.desc()))]


def by_numbers(session: Session, cluster: str, numbers: Iterable[int]) -> Sequence[JobRecord]:
    """Return the jobs and all array tasks of many numbers."""
    wanted = sorted(set(numbers))
    found: list[JobRecord] = []
    for start in range(0, len(wanted), 500):
        query = sa.select(_JOBS).where(_C.cluster == cluster, _C.number.in_(wanted[start : start + 500]))
        found += [_record(row) for row in session.connection().execute(query)]
    return found


def tasks_of(session: Session, cluster: str, number: int, *, limit: int = 100_000) -> Sequence[JobRecord]:
    """Return the rows of an array's tasks, every use of the number."""
    query = sa.select(_JOBS).where(_C.cluster == cluster, _C.number == number, _C.task != NO_TASK)
    return [_record(row) for row in session.connection().execute(query.limit(limit))]


def live(session: Session, cluster: str, *, ended_since: datetime) -> Sequence[JobRecord]:
    """Return jobs that aren't settled, and those that ended since a moment."""
    query = sa.select(_JOBS).where(
        _C.cluster == cluster,
        sa.or_(_C.settled.is_(False), _C.ended_at >= ended_since),
    )
    return [_record(row) for row in session.connection().execute(query)]


def counts_by_state(session: Session) -> Mapping[str, int]:
    """Return how many unsettled jobs each base state has."""
    query = sa.select(_C.state, sa.func.count()).where(_C.settled.is_(False)).group_by(_C.state)
    return {state: int(count) for state, count in session.connection().execute(query)}


def page(
    session: Session, *, visible: Visible, wanted: Filter, limit: int, before: str | None
) -> Sequence[JobRecord]:
    """Return at most `limit` jobs, newest first, that come after the job `before` in that order.

    One short index walk for each tenant of the reader and one for the reader's own jobs, merged: the cost
    doesn't grow with the number of jobs.
    """
    connection, branches = session.connection(), _branches(visible, wanted)
    if len(branches) == 1:
        walk = _narrowed(sa.select(_JOBS).where(*branches[0]), wanted, before).limit(limit)
        return [_record(row) for row in connection.execute(walk)]
    ids: set[str] = set()
    for branch in branches:
        walk = _narrowed(sa.select(_C.id).where(*branch), wanted, before).limit(limit)
        ids.update(row.id for row in connection.execute(walk))
    newest = sorted(ids, reverse=True)[:limit]
    rows = connection.execute(sa.select(_JOBS).where(_C.id.in_(newest)).order_by(_C.id.desc()))
    return [_record(row) for row in rows]


def _branches(visible: Visible, wanted: Filter) -> list[tuple[sa.ColumnElement[bool], ...]]:
    if visible.everything:
        return [()] if wanted.tenant is None else [(_C.tenant == wanted.tenant,)]
    tenants = visible.tenants if wanted.tenant is None else visible.tenants & {wanted.tenant}
    branches: list[tuple[sa.ColumnElement[bool], ...]] = [
        (_C.tenant == tenant,) for tenant in sorted(tenants)
    ]
    own: tuple[sa.ColumnElement[bool], ...] = (_C.user == visible.user,)
    if wanted.tenant is None:
        branches.append(own)
    elif not tenants:
        branches.append((*own, _C.tenant == wanted.tenant))
    return branches


def _narrowed(query: Query, wanted: Filter, before: str | None) -> Query:
    if wanted.user is not None:
        query = query.where(_C.user == wanted.user)
    if wanted.states:
        query = query.where(_C.state.in_(sorted(wanted.states)))
    if before is not None:
        query = query.where(_C.id < before)
    return query.order_by(_C.id.desc())


def _values(record: JobRecord) -> dict[str, Any]:
    number = record.slurm_number
    limit = record.time_limit_min
    return {
        "id": record.id,
        "cluster": record.cluster,
        "number": number.number,
        "task": NO_TASK if number.task is None else number.task,
        "job_id": record.job_id,
        "array_job_id": record.array_job_id,
        "array_task_id": record.array_task_id,
        "array_tasks": record.array_tasks,
        "het_job_id": record.het_job_id,
        "het_offset": record.het_offset,
        "name": record.name,
        "user": record.user,
        "uid": record.uid,
        "tenant": record.tenant,
        "job_class": record.job_class,
        "flavor": record.flavor,
        "partition": record.partition,
        "qos": record.qos,
        "state": record.state.base.value,
        "flags": sorted(record.state.flags),
        "settled": record.settled,
        "reason": record.reason,
        "exit_code": record.exit.code if record.exit else None,
        "exit_signal": record.exit.signal if record.exit else None,
        "submitted_at": record.submitted_at,
        "run_submitted_at": record.run_submitted_at,
        "started_at": record.started_at,
        "ended_at": record.ended_at,
        "time_limit_min": UNLIMITED_MIN if limit == UNLIMITED else limit,
        "nodes": record.nodes,
        "node_count": record.node_count,
        "cpus": record.cpus,
        "gpus": record.gpus,
        "tres_requested": dict(record.tres_requested),
        "tres_allocated": dict(record.tres_allocated),
        "door": record.door,
        "work_dir": record.work_dir,
        "stdout": record.stdout,
        "stderr": record.stderr,
        "restarts": record.restarts,
        "messages": list(record.messages),
        "admin_comment": record.admin_comment,
        "comment": record.comment,
        "dependency": record.dependency,
        "priority": record.priority,
        "changed_at": record.changed_at,
    }


def _record(row: Row) -> JobRecord:
    exit_status = None if row.exit_code is None else ExitStatus(row.exit_code, row.exit_signal or 0)
    return JobRecord(
        id=row.id,
        cluster=row.cluster,
        job_id=row.job_id,
        array_job_id=row.array_job_id,
        array_task_id=row.array_task_id,
        array_tasks=row.array_tasks,
        het_job_id=row.het_job_id,
        het_offset=row.het_offset,
        name=row.name,
        user=row.user,
        uid=row.uid,
        tenant=row.tenant,
        job_class=row.job_class,
        flavor=row.flavor,
        partition=row.partition,
        qos=row.qos,
        state=JobState(BaseState(row.state), frozenset(row.flags)),
        reason=row.reason,
        exit=exit_status,
        submitted_at=row.submitted_at,
        run_submitted_at=row.run_submitted_at,
        started_at=row.started_at,
        ended_at=row.ended_at,
        time_limit_min=UNLIMITED if row.time_limit_min == UNLIMITED_MIN else row.time_limit_min,
        nodes=row.nodes,
        node_count=row.node_count,
        cpus=row.cpus,
        gpus=row.gpus,
        tres_requested=row.tres_requested,
        tres_allocated=row.tres_allocated,
        door="http" if row.door == "http" else "sbatch",
        work_dir=row.work_dir,
        stdout=row.stdout,
        stderr=row.stderr,
        restarts=row.restarts,
        messages=tuple(row.messages),
        admin_comment=row.admin_comment,
        comment=row.comment,
        dependency=row.dependency,
        priority=row.priority,
        changed_at=row.changed_at,
    )
