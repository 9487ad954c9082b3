"""The mirror in memory: takes listings and rows, says what changed and what is missed. No I/O.

Each method is one step, so that tasks of the event loop never see it half done. `unsaved` is what the store
doesn't have yet; the flow saves it and calls `saved`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final

from bridge.job import AccountingRow, JobStatus
from gateway.track import arrays, history, transition
from gateway.track.index import Index
from gateway.track.record import JobRecord

KEPT: Final = timedelta(hours=1)
"""How long an ended job stays in memory; above MinJobAge, for which slurmctld lists it."""
ABSENT_GRACE: Final = timedelta(seconds=15)
"""A job that Slurm took and no listing has shown is not missed before that."""
ASKED_AGAIN: Final = timedelta(seconds=30)
"""Between two questions about a job that accounting could not tell the end of."""


class Mirror:
    """Jobs of one cluster, compared with what Slurm shows."""

    def __init__(self, cluster: str, clock: Callable[[], datetime]) -> None:
        self.cluster = cluster
        self.index = Index()
        self.statuses: dict[int, JobStatus] = {}
        """The last listing, by Slurm's number of the record."""
        self.unsaved: dict[str, JobRecord] = {}
        self._clock = clock
        self._ids: dict[int, str] = {}
        """Which job each record of the listing is."""
        self._asked_at: dict[str, datetime] = {}
        self._swept_at = clock()

    def strangers(self, statuses: Iterable[JobStatus]) -> set[int]:
        """Return the numbers of records that may be jobs which only the store remembers."""
        return {
            status.array_job_id or status.job_id
            for status in statuses
            if self.statuses.get(status.job_id) != status and self.index.match(status) is None
        }

    def recall(self, stored: Iterable[JobRecord]) -> None:
        """Take jobs from the store, without touching those that are here."""
        self.index.load(record for record in stored if record.id not in self.index.records)

    def see(self, statuses: Iterable[JobStatus]) -> int:
        """Take records of slurmctld; returns how many jobs changed."""
        changed = 0
        for status in statuses:
            if self.statuses.get(status.job_id) == status and status.job_id in self._ids:
                continue
            self.statuses[status.job_id] = status
            previous = self.index.match(status)
            record = transition.observe(previous, status, cluster=self.cluster, now=self._clock())
            self._ids[status.job_id] = record.id
            if record is not previous:
                self.note(record)
                changed += 1
        return changed

    def end_listing(self, statuses: Iterable[JobStatus]) -> None:
        """Forget records that the listing which was just taken doesn't have."""
        listed = {status.job_id for status in statuses}
        for job_id in self.statuses.keys() - listed:
            del self.statuses[job_id]
            self._ids.pop(job_id, None)

    def note(self, record: JobRecord) -> None:
        """Keep a record that is new or changed, and what its array adds up to."""
        self.index.put(record)
        self.unsaved[record.id] = record
        if record.array_task_id is not None:
            array, made = self.index.array_for(record, now=self._clock())
            if made:
                self.index.put(array)
                self.index.put(record)
                self.unsaved[array.id] = array
            self._sum_up(array)
        elif record.is_array:
            self._sum_up(record)

    def note_submitted(self, record: JobRecord) -> JobRecord:
        """Take a job that Slurm just accepted; returns what the mirror has of it now.

        A listing may have shown it already: then only the messages are new.
        """
        seen = self.index.records.get(record.id)
        record = record if seen is None else replace(seen, messages=record.messages)
        self.index.put(record)
        if record.id in self.unsaved:
            self.unsaved[record.id] = record
        return record

    def missed(self, begun: datetime) -> list[JobRecord]:
        """Return unsettled jobs that the listing begun at `begun` should have had, longest unasked first."""
        listed = set(self._ids.values())
        absent: list[JobRecord] = []
        for job_id in self.index.unsettled - listed:
            record = self.index.records[job_id]
            if record.is_array and self.index.tasks_of(record):
                self._sum_up(record)  # all its tasks have left the waiting record: they speak for it
            elif self._due(record, begun):
                absent.append(record)
        never = datetime.min.replace(tzinfo=begun.tzinfo)
        return sorted(absent, key=lambda record: self._asked_at.get(record.id, never))

    def told(self, record: JobRecord, rows: Sequence[AccountingRow]) -> bool:
        """Take what accounting says about a missed job; returns whether that changed it."""
        now = self._clock()
        self._asked_at[record.id] = now
        if record.is_array:
            tasks = [row for row in rows if row.array_task_id is not None]
            for task in history.ended_jobs(tasks, [*self.index.records.values()], now=now):
                self.note(task)
            if self.index.tasks_of(record):
                return True
        result = history.end_of(record, rows, now=now) or transition.lost(record, now=now)
        if result.settled:
            self._asked_at.pop(record.id, None)
        if result is record:
            return False
        self.note(result)
        return True

    def saved(self, batch: Iterable[JobRecord]) -> None:
        """Note that the store has these."""
        for record in batch:
            if self.unsaved.get(record.id) is record:
                del self.unsaved[record.id]

    def sweep(self) -> None:
        """Drop jobs that ended long ago; does something once a minute."""
        now = self._clock()
        if now - self._swept_at < timedelta(minutes=1):
            return
        self._swept_at = now
        self.index.forget_settled(before=now - KEPT, keep=self.unsaved)
        self._asked_at = {
            job_id: at for job_id, at in self._asked_at.items() if job_id in self.index.unsettled
        }

    def _sum_up(self, array: JobRecord) -> None:
        waiting = self.statuses.get(array.job_id)
        remainder = waiting.state if waiting is not None and waiting.array_task_id is None else None
        summed = arrays.sum_up(array, self.index.tasks_of(array), remainder=remainder, now=self._clock())
        if summed is not array:
            self.index.put(summed)
            self.unsaved[summed.id] = summed

    def _due(self, record: JobRecord, begun: datetime) -> bool:
        grace = ABSENT_GRACE if record.run_submitted_at is None else timedelta(0)
        asked = self._asked_at.get(record.id)
        return record.changed_at + grace < begun and (asked is None or asked + ASKED_AGAIN < begun)
