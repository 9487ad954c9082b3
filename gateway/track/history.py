"""What accounting rows say about jobs that slurmctld no longer lists. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import datetime

from bridge.job import AccountingRow
from gateway.track.record import JobNumber, JobRecord, id_of_intent
from gateway.track.transition import (
    continues_in_accounting,
    number_of_status,
    observe_accounting,
    whole_intent_of,
)


def end_of(record: JobRecord, rows: Iterable[AccountingRow], *, now: datetime) -> JobRecord | None:
    """Return how a job ended; None when accounting has no end of its newest run."""
    own = [row for row in rows if number_of_status(row) == record.slurm_number and _is_run_of(record, row)]
    if not own:
        return None
    newest = max(own, key=_order)
    if not newest.state.finished or newest.submitted_at is None:
        return None
    return observe_accounting(record, newest, submitted_at=newest.submitted_at, now=now)


def ended_jobs(
    rows: Iterable[AccountingRow], stored: Sequence[JobRecord], *, now: datetime
) -> list[JobRecord]:
    """Return the ended jobs that `stored` (all that the store has of these numbers) lacks.

    Runs of one job (a requeue) become one record. Jobs that go on are slurmctld's to show.
    """
    made: dict[str, JobRecord] = {}
    known: dict[JobNumber, dict[str, JobRecord]] = defaultdict(dict)
    for job in stored:
        known[job.slurm_number][job.id] = job
    for row in sorted(rows, key=_order):
        if row.submitted_at is None:
            continue
        same_number = known[number_of_status(row)]
        record = next((job for job in same_number.values() if _is_run_of(job, row)), None)
        if record is not None and record.id not in made and record.settled:
            continue  # slurmctld showed its end, in more detail than accounting has
        new = observe_accounting(record, row, submitted_at=row.submitted_at, now=now)
        made[new.id] = same_number[new.id] = new
    return [record for record in made.values() if record.settled]


def _is_run_of(record: JobRecord, row: AccountingRow) -> bool:
    intent = whole_intent_of(row)
    if intent is not None and record.id == id_of_intent(intent):
        return True
    return continues_in_accounting(record, row)


def _order(row: AccountingRow) -> tuple[float, int]:
    return (row.submitted_at.timestamp() if row.submitted_at else 0.0, int(row.db_index))
