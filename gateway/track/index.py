"""The live part of the mirror in memory: what polls are compared with. No I/O, no clock.

It holds the jobs that aren't settled and those that ended lately; everything is in the store as well.
Arrays are kept with their tasks, so that an array's state can be summed up.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import datetime

from bridge.job import AccountingRow, JobStatus
from gateway.track import transition
from gateway.track.record import JobNumber, JobRecord, id_of, id_of_intent, intent_of
from gateway.track.transition import CLOCK_SLACK


class Index:
    """Records by id and by number; every method is one step, never half done."""

    def __init__(self) -> None:
        self.records: dict[str, JobRecord] = {}
        self.unsettled: set[str] = set()
        self._newest: dict[JobNumber, str] = {}
        self._tasks: dict[str, set[str]] = {}
        """Tasks of each array, by the array's id."""

    def put(self, record: JobRecord) -> None:
        """Add or replace a record."""
        known = self.records.get(record.id)
        if known is not None and known.slurm_number != record.slurm_number:
            self._forget_number(known)
        self.records[record.id] = record
        (self.unsettled.discard if record.settled else self.unsettled.add)(record.id)
        newest = self.records.get(self._newest.get(record.slurm_number, ""))
        if newest is None or newest.id == record.id or newest.submitted_at <= record.submitted_at:
            self._newest[record.slurm_number] = record.id
        if (array := self._array_of(record)) is not None:
            self._tasks.setdefault(array.id, set()).add(record.id)

    def by_number(self, number: JobNumber) -> JobRecord | None:
        """Return the newest job of a number."""
        return self.records.get(self._newest.get(number, ""))

    def match(self, status: JobStatus) -> JobRecord | None:
        """Return the job that a record of slurmctld is a later view of."""
        intent = transition.whole_intent_of(status)
        if intent is not None and (record := self.records.get(id_of_intent(intent))) is not None:
            return record
        newest = self.by_number(transition.number_of_status(status))
        return newest if newest is not None and transition.continues(newest, status) else None

    def match_row(self, row: AccountingRow) -> JobRecord | None:
        """Return the job that an accounting row is a run of."""
        intent = transition.whole_intent_of(row)
        if intent is not None and (record := self.records.get(id_of_intent(intent))) is not None:
            return record
        newest = self.by_number(transition.number_of_status(row))
        return newest if newest is not None and transition.continues_in_accounting(newest, row) else None

    def array_for(self, task: JobRecord, *, now: datetime) -> tuple[JobRecord, bool]:
        """Return the array of a task, and whether it had to be made (its waiting record was never seen)."""
        if (array := self._array_of(task)) is not None:
            return array, False
        number = JobNumber(task.array_job_id or task.job_id)
        intent = intent_of(task.admin_comment)
        made = replace(
            task,
            id=id_of_intent(intent) if intent else id_of(task.cluster, number, task.submitted_at),
            job_id=number.number,
            array_task_id=None,
            array_tasks=None,
            stdout="",
            stderr="",
            changed_at=now,
        )
        return made, True

    def tasks_of(self, array: JobRecord) -> list[JobRecord]:
        """Return the known tasks of an array."""
        return [self.records[task] for task in self._tasks.get(array.id, ()) if task in self.records]

    def forget_settled(self, *, before: datetime, keep: Iterable[str]) -> None:
        """Drop jobs that ended before a moment, but for `keep` and the tasks of arrays that go on."""
        kept = set(keep)
        for array_id, tasks in self._tasks.items():
            if array_id in self.unsettled:
                kept |= tasks
        for record in [*self.records.values()]:
            ended = record.ended_at or record.changed_at
            if record.settled and ended < before and record.id not in kept:
                del self.records[record.id]
                self._forget_number(record)
                self._tasks.pop(record.id, None)

    def load(self, records: Iterable[JobRecord]) -> None:
        """Take what the store had: whole arrays first, so that tasks find theirs."""
        for record in sorted(records, key=lambda record: (not record.is_array, record.submitted_at)):
            self.put(record)

    def counts_by_state(self) -> Mapping[str, int]:
        """Return how many unsettled jobs each base state has."""
        counts: dict[str, int] = {}
        for job_id in self.unsettled:
            state = self.records[job_id].state.base.value
            counts[state] = counts.get(state, 0) + 1
        return counts

    def _array_of(self, task: JobRecord) -> JobRecord | None:
        if task.array_task_id is None or task.array_job_id is None:
            return None
        array = self.by_number(JobNumber(task.array_job_id))
        if array is None or not array.is_array or abs(array.submitted_at - task.submitted_at) > CLOCK_SLACK:
            return None
        if intent_of(array.admin_comment) != intent_of(task.admin_comment):
            return None
        return array

    def _forget_number(self, record: JobRecord) -> None:
        if self._newest.get(record.slurm_number) == record.id:
            del self._newest[record.slurm_number]
