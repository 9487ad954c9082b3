"""The fake's changes of jobs that it has: hold, release, requeue, modify.

Refusals carry slurmctld's numbers and words. What the records look like is `bridge.slurm.fake_queue`'s.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from typing import Any

from bridge.errors import NotFound, SluiceError, SlurmRefused
from bridge.job import FINISHED, BaseState
from bridge.slurm.errnos import Errno
from bridge.slurm.fake_faults import FakeFaults
from bridge.slurm.fake_queue import FakeJob, FakeRun
from bridge.slurm.job_change import JobChange

HELD_BY_USER = "JobHeldUser"
HELD_BY_ADMINISTRATOR = "JobHeldAdmin"


class FakeControl(FakeFaults):
    """Changes of jobs, in memory."""

    clock: Callable[[], datetime]
    _lock: threading.RLock
    _db_indexes: itertools.count[int]

    def _find(self, job_id: int) -> list[FakeJob]:
        raise NotImplementedError

    def _chosen(self, job_id: int, array_task_id: int | None) -> list[FakeJob]:
        raise NotImplementedError

    def _end(self, job: FakeJob, state: BaseState, *, code: int, signal: int) -> None:
        raise NotImplementedError

    def hold(self, job_id: int, *, user: str | None = None, note: str | None = None) -> None:
        """Hold what waits, as its user or as administrator."""
        with self._lock:
            late = self.begin("hold", "slurmctld")
            for job in self._own(job_id, user):
                job.spec = replace(job.spec, hold=True, **_noted(note))
                if job.run.state.base is BaseState.PENDING:
                    job.reason = HELD_BY_USER if user else HELD_BY_ADMINISTRATOR
            _raise(late)

    def release(self, job_id: int, *, user: str | None = None, note: str | None = None) -> None:
        """Let it start again."""
        with self._lock:
            late = self.begin("release", "slurmctld")
            for job in self._own(job_id, user):
                if user and job.reason == HELD_BY_ADMINISTRATOR:
                    raise SlurmRefused("Access/permission denied", errno=Errno.ACCESS_DENIED)
                job.spec = replace(job.spec, hold=False, **_noted(note))
                if job.run.state.base is BaseState.PENDING:
                    job.reason = "Priority"
            _raise(late)

    def requeue(
        self,
        job_id: int,
        *,
        user: str | None = None,
        hold: bool = False,
        state: BaseState = BaseState.PREEMPTED,
    ) -> None:
        """End the present run in `state` and put the record back to PENDING under the same number."""
        with self._lock:
            late = self.begin("requeue", "slurmctld")
            self._own(job_id, user, errno=Errno.ACCESS_DENIED)
            for job in self._chosen(job_id, None):
                if job.run.state.base is BaseState.PENDING:
                    raise SlurmRefused("Job is pending execution", errno=Errno.JOB_PENDING)
                self._end(job, state, code=0, signal=0)
                job.restarts += 1
                job.reason = HELD_BY_ADMINISTRATOR if hold else "BeginTime"
                job.spec = replace(job.spec, hold=hold)
                job.runs.append(FakeRun(db_index=str(next(self._db_indexes)), submitted_at=self.clock()))
            _raise(late)

    def modify(self, job_id: int, change: JobChange, *, user: str | None = None) -> None:
        """Change what can be told from the record."""
        with self._lock:
            late = self.begin("modify", "slurmctld")
            for job in self._own(job_id, user):
                if job.run.state.base in FINISHED:
                    raise SlurmRefused("Job/step already completing or completed", errno=Errno.ALREADY_DONE)
                names = ("time_limit_min", "name", "comment", "admin_comment", "dependency", "begin")
                said: dict[str, Any] = {
                    name: value for name in names if (value := getattr(change, name)) is not None
                }
                job.spec = replace(job.spec, **said)
                account = change.account or job.account
                job.qos = self.qos_for(change.qos or job.qos, self.association_of(account, job.user))
                job.partition = self.partition_for(change.partition or job.partition, account)
                job.account = account
            _raise(late)

    def _own(self, job_id: int, user: str | None, *, errno: Errno = Errno.USER_ID_MISSING) -> list[FakeJob]:
        found = self._find(job_id)
        if not found:
            raise NotFound(f"Slurm does not know job {job_id}", errno=int(Errno.INVALID_JOB_ID))
        if user is not None and any(job.user != user for job in found):
            raise SlurmRefused("Access/permission denied", errno=errno)
        return found


def _noted(note: str | None) -> dict[str, Any]:
    return {} if note is None else {"admin_comment": note}


def _raise(error: SluiceError | None) -> None:
    if error is not None:
        raise error
