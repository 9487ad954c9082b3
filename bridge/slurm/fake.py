"""FakeSlurm: the port in memory, for tests of everything above it.

It keeps accounts, associations, QOS, partitions and jobs, refuses what the real one refuses with the
same numbers (`bridge.slurm.errnos`), and lets a test drive what Slurm would do by itself::

    slurm = FakeSlurm(clock=clock)
    slurm.add_tenant("ml", users=("alice",))
    job = slurm.submit(spec, user="alice").job_id
    slurm.start(job, nodes="gpu1")
    slurm.finish(job, exit=7)
    slurm.fail_next("submit", OutcomeUnknown("no answer"), after=True)   # the job is made all the same

`tests/contract` holds it to the real thing. Not here: scheduling, limits, job_submit.lua (set `policy`).
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime

from bridge.errors import NotFound, SlurmRefused
from bridge.job import FINISHED, AccountingRow, BaseState, JobSpec, JobState, JobStatus
from bridge.slurm.errnos import Errno
from bridge.slurm.fake_control import FakeControl
from bridge.slurm.fake_queue import (
    FakeJob,
    FakeRun,
    asked_tasks,
    exit_of,
    requested_tres,
    rows_of,
    status_of,
)
from bridge.slurm.fake_uses import uses_of
from bridge.slurm.port import AssociationUse, Cluster, Forecast, PartHealth, Submitted

Policy = Callable[[JobSpec, str], str | None]
"""Stands for job_submit.lua: takes request and user, returns the refusal's sentence or None."""


class FakeSlurm(FakeControl):
    """An in-memory Slurm with the port's methods; thread-safe.

    Parameters
    ----------
    name
        Cluster name.
    clock
        Returns aware UTC; every moment in a record comes from it.
    autostart
        Start each job at once, on its submission (a cluster with room).
    """

    def __init__(
        self,
        name: str = "sluice",
        *,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
        autostart: bool = False,
    ) -> None:
        super().__init__(name)
        self.clock = clock
        self.autostart = autostart
        self.policy: Policy | None = None
        self.records: list[FakeJob] = []
        self._numbers = itertools.count(1)
        self._db_indexes = itertools.count(1)
        self._lock = threading.RLock()

    # The port: the cluster and its jobs -------------------------------------------------------------

    def cluster(self) -> Cluster:
        """Return a fixed description."""
        self.begin("cluster", "slurmctld")
        return Cluster(
            name=self.name,
            version="26.05.5",
            adapters=("native", "rest", "commands"),
            rest_version="v0.0.45",
        )

    def health(self) -> tuple[PartHealth, ...]:
        """Say which parts are in `down`."""
        return tuple(
            PartHealth(part=part, healthy=part not in self.down, detail="down" if part in self.down else "")
            for part in ("slurmctld", "slurmdbd", "slurmrestd", "native")
        )

    def submit(self, spec: JobSpec, *, user: str) -> Submitted:
        """Judge the request as slurmctld does, then keep it."""
        with self._lock:
            late = self.begin("submit", "slurmctld")
            job = self._accept(spec, user)
            self.records.append(job)
            if self.autostart:
                self.start(job.job_id)
            if late is not None:
                raise late
            return Submitted(job_id=job.job_id)

    def submit_het(self, specs: Sequence[JobSpec], *, user: str) -> Submitted:
        """Judge the components in order, then keep all of them or none."""
        with self._lock:
            late = self.begin("submit_het", "slurmctld")
            jobs = [self._accept(spec, user, leader=place == 0) for place, spec in enumerate(specs)]
            for place, job in enumerate(jobs):
                job.het_job_id, job.het_offset = jobs[0].job_id, place
            self.records += jobs
            if self.autostart:
                self.start(jobs[0].job_id)
            if late is not None:
                raise late
            return Submitted(job_id=jobs[0].job_id)

    def forecast(self, spec: JobSpec, *, user: str) -> Forecast:
        """Judge the request, make nothing; a job that isn't held would start now."""
        with self._lock:
            late = self.begin("forecast", "slurmctld")
            job = self._accept(spec, user, leader=False)
            if late is not None:
                raise late
            if spec.hold:
                return Forecast(waits="Job is in held state, pending scheduler release")
            return Forecast(
                start_at=self.clock(), nodes="gpu1", partition=job.partition, cpus=job.tres["cpu"]
            )

    def _accept(self, spec: JobSpec, user: str, *, leader: bool = True) -> FakeJob:
        uid = self.uid_of(user)
        if leader and not spec.script and not spec.external:
            raise SlurmRefused("Batch job script not supplied", errno=Errno.SCRIPT_MISSING)
        sentence = self.policy(spec, user) if self.policy else None
        if sentence:
            raise SlurmRefused(sentence, errno=Errno.INVALID_GRES)
        association = self.association_of(spec.account, user)
        partition = self.partition_for(spec.partition, association.account)
        tasks = asked_tasks(spec)
        number = next(self._numbers)
        run = FakeRun(db_index=str(next(self._db_indexes)), submitted_at=self.clock())
        return FakeJob(
            job_id=number,
            spec=spec,
            user=user,
            uid=uid,
            account=association.account,
            partition=partition,
            qos=self.qos_for(spec.qos, association),
            tres=requested_tres(spec),
            runs=[run],
            array_job_id=number if tasks else None,
            waiting=tasks,
            reason="JobHeldUser" if spec.hold else "Priority",
        )

    def cancel(self, job_id: int, *, user: str, array_task_id: int | None = None) -> None:
        """End the user's job as CANCELLED; an ended one stays as it is."""
        with self._lock:
            late = self.begin("cancel", "slurmctld")
            found = [job for job in self._find(job_id) if array_task_id in (None, job.array_task_id)]
            if not found and array_task_id is not None:
                found = [self._split(job_id, array_task_id)]
            if not found:
                raise NotFound(f"Slurm does not know job {job_id}", errno=int(Errno.INVALID_JOB_ID))
            if user != "root" and any(job.user != user for job in found):
                raise SlurmRefused("Access/permission denied", errno=Errno.ACCESS_DENIED)
            for job in found:
                if job.run.state.base not in FINISHED:
                    self._end(job, BaseState.CANCELLED, code=0, signal=0)
            if late is not None:
                raise late

    def jobs(self) -> Sequence[JobStatus]:
        """Return every record that isn't purged."""
        with self._lock:
            self.begin("jobs", "slurmctld")
            return [status_of(job) for job in self.records if not job.purged]

    def job(self, job_id: int) -> Sequence[JobStatus]:
        """Return the records of one job."""
        with self._lock:
            self.begin("job", "slurmctld")
            found = self._find(job_id)
            if not found:
                raise NotFound(f"Slurm does not know job {job_id}", errno=int(Errno.INVALID_JOB_ID))
            return [status_of(job) for job in found]

    def uses(self, accounts: Sequence[str], *, user: str) -> Sequence[AssociationUse]:
        """Return limits and use."""
        self.begin("uses", "slurmctld")
        with self._lock:
            return list(uses_of(self.associations, self.records, accounts, user))

    # The port: accounting rows ----------------------------------------------------------------------

    def accounting(self, *, start: datetime, end: datetime) -> Iterator[AccountingRow]:
        """Yield rows that were eligible, pending or running in [start, end)."""
        with self._lock:
            self.begin("accounting", "slurmdbd")
            rows = [row for job in self.records for row in rows_of(job, self.name)]
        for row in rows:
            begun = row.eligible_at or row.submitted_at
            if begun is not None and begun < end and (row.ended_at is None or row.ended_at >= start):
                yield row

    def accounting_of(self, job_id: int) -> Sequence[AccountingRow]:
        """Return the rows of one job number, tasks of an array included."""
        with self._lock:
            self.begin("accounting_of", "slurmdbd")
            own = [job for job in self.records if job_id in (job.job_id, job.array_job_id, job.het_job_id)]
            return [row for job in own for row in rows_of(job, self.name)]

    # What Slurm does by itself ----------------------------------------------------------------------

    def start(self, job_id: int, *, nodes: str = "gpu1", array_task_id: int | None = None) -> None:
        """Start a job, one task of an array, or (without a task) every task that waits."""
        with self._lock:
            for job in self._chosen(job_id, array_task_id):
                run = job.run
                run.state, run.started_at, run.nodes = JobState(BaseState.RUNNING), self.clock(), nodes

    def finish(
        self,
        job_id: int,
        *,
        exit: int = 0,
        signal: int = 0,
        state: BaseState | None = None,
        array_task_id: int | None = None,
    ) -> None:
        """End a job; `state` defaults to COMPLETED or, with an exit or signal, FAILED."""
        with self._lock:
            for job in self._chosen(job_id, array_task_id):
                ended = state or (BaseState.FAILED if exit or signal else BaseState.COMPLETED)
                self._end(job, ended, code=exit, signal=signal)

    def completing(self, job_id: int, *, on: bool = True) -> None:
        """Set or clear COMPLETING (the epilog runs)."""
        for job in self._find(job_id):
            flags = job.run.state.flags - {"COMPLETING"} | ({"COMPLETING"} if on else set())
            job.run.state = replace(job.run.state, flags=frozenset(flags))

    def purge(self, job_id: int) -> None:
        """Forget a job in slurmctld (MinJobAge); accounting keeps it."""
        for job in self._find(job_id):
            job.purged = True

    def reuse_numbers_from(self, number: int) -> None:
        """Let the next job have `number` (MaxJobId wrapped)."""
        self._numbers = itertools.count(number)

    # Inside -----------------------------------------------------------------------------------------

    def _find(self, job_id: int) -> list[FakeJob]:
        def has(job: FakeJob) -> bool:
            return job_id in (job.job_id, job.array_job_id, job.het_job_id)

        return [job for job in self.records if not job.purged and has(job)]

    def _chosen(self, job_id: int, array_task_id: int | None) -> list[FakeJob]:
        if array_task_id is not None:
            known = [job for job in self._find(job_id) if job.array_task_id == array_task_id]
            return known or [self._split(job_id, array_task_id)]
        for job in self._find(job_id):
            for task in job.waiting:
                self._split(job_id, task)
        found = [job for job in self._find(job_id) if job.run.state.base not in FINISHED]
        if not found:
            raise NotFound(f"the fake has no live job {job_id}")
        return found

    def _split(self, job_id: int, task: int) -> FakeJob:
        """Give one waiting task of an array a record of its own; the last keeps the array's number."""
        rest = next((job for job in self._find(job_id) if task in job.waiting), None)
        if rest is None:
            raise NotFound(f"Slurm does not know job {job_id}_{task}", errno=int(Errno.INVALID_JOB_ID))
        left = tuple(other for other in rest.waiting if other != task)
        if not left:
            rest.waiting, rest.array_task_id = (), task
            return rest
        rest.waiting = left
        run = FakeRun(db_index=str(next(self._db_indexes)), submitted_at=rest.run.submitted_at)
        own = replace(rest, job_id=next(self._numbers), array_task_id=task, waiting=(), runs=[run])
        self.records.append(own)
        return own

    def _end(self, job: FakeJob, state: BaseState, *, code: int, signal: int) -> None:
        run = job.run
        run.ended_at, run.state, run.exit = self.clock(), JobState(state), exit_of(state, code, signal)
