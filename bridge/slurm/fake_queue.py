"""Records of the fake Slurm: one `FakeJob` is one record of slurmctld and one row of slurmdbd a run.

Pure: moments are arguments. The fake (`bridge.slurm.fake`) decides what may happen to a record; here
is what a record looks like at each stage, as the real one shows it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from bridge.errors import SlurmRefused
from bridge.job import AccountingRow, BaseState, ExitStatus, JobSpec, JobState, JobStatus
from bridge.slurm.errnos import Errno
from bridge.units import gpu_count

DEFAULT_MEM_PER_CPU_MIB: Final = 1024
_NAMED_EXIT: Final = {BaseState.COMPLETED: ExitStatus(0, 0), BaseState.CANCELLED: ExitStatus(0, 0)}


@dataclass(slots=True, kw_only=True)
class FakeRun:
    """One run of a record: what becomes one accounting row."""

    db_index: str
    submitted_at: datetime
    started_at: datetime | None = None
    ended_at: datetime | None = None
    state: JobState = field(default_factory=lambda: JobState(BaseState.PENDING))
    exit: ExitStatus = field(default_factory=lambda: ExitStatus(0, 0))
    nodes: str = ""


@dataclass(slots=True, kw_only=True)
class FakeJob:
    """One record: a job, a task of an array, or the pending rest of an array (`waiting` tasks)."""

    job_id: int
    spec: JobSpec
    user: str
    uid: int
    account: str
    partition: str
    qos: str
    tres: Mapping[str, int]
    runs: list[FakeRun]
    array_job_id: int | None = None
    array_task_id: int | None = None
    het_job_id: int | None = None
    het_offset: int | None = None
    waiting: tuple[int, ...] = ()
    reason: str = "Priority"
    purged: bool = False
    """Gone from slurmctld (MinJobAge), still in accounting."""
    restarts: int = 0

    @property
    def run(self) -> FakeRun:
        """The present run."""
        return self.runs[-1]

    @property
    def node_count(self) -> int:
        """Nodes that the job asks for."""
        return self.tres.get("node", 1)


def requested_tres(spec: JobSpec) -> dict[str, int]:
    """Return what slurmctld would call the request's TRES, closely enough for tests."""
    nodes = spec.nodes_min or 1
    tasks = spec.ntasks or nodes * (spec.ntasks_per_node or 1)
    cpus = tasks * (spec.cpus_per_task or 1)
    mem = spec.memory_per_node_mib
    memory = nodes * mem if mem else cpus * (spec.memory_per_cpu_mib or DEFAULT_MEM_PER_CPU_MIB)
    tres = {"cpu": cpus, "mem": memory, "node": nodes}
    gpus = _gpus(spec.tres_per_job, 1) + _gpus(spec.tres_per_node, nodes) + _gpus(spec.tres_per_task, tasks)
    if gpus:
        tres["gres/gpu"] = sum(count for _, count in gpus)
    for kind, count in gpus:
        if kind:
            tres[f"gres/gpu:{kind}"] = tres.get(f"gres/gpu:{kind}", 0) + count
    tres["billing"] = cpus + gpu_count(tres)
    return tres


def _gpus(text: str | None, times: int) -> list[tuple[str, int]]:
    found = []
    for item in filter(None, (text or "").split(",")):
        match = re.fullmatch(r"gres/gpu(?::([A-Za-z_][\w.-]*))?(?:[:=](\d+))?", item)
        if match:
            found.append((match[1] or "", int(match[2] or 1) * times))
    return found


def array_tasks(text: str) -> tuple[int, ...]:
    """Expand ``0-7:2,9%4``; raises ValueError for what slurmctld refuses (errno 2081)."""
    tasks: list[int] = []
    for part in text.partition("%")[0].split(","):
        match = re.fullmatch(r"(\d+)(?:-(\d+)(?::(\d+))?)?", part)
        if not match:
            raise ValueError(part)
        first, last, step = int(match[1]), int(match[2] or match[1]), int(match[3] or 1)
        if last < first or step < 1:
            raise ValueError(part)
        tasks.extend(range(first, last + 1, step))
    return tuple(sorted(set(tasks)))


def asked_tasks(spec: JobSpec) -> tuple[int, ...]:
    """Return the tasks of a request, empty for a job that is no array; refuses as slurmctld does."""
    try:
        return array_tasks(spec.array) if spec.array else ()
    except ValueError as error:
        raise SlurmRefused("Invalid job array specification", errno=Errno.INVALID_ARRAY) from error


def tasks_text(tasks: tuple[int, ...], spec: JobSpec) -> str:
    """Write waiting tasks as slurmctld does: ``2-5%2``."""
    spans: list[list[int]] = []
    for task in tasks:
        if spans and task == spans[-1][1] + 1:
            spans[-1][1] = task
        else:
            spans.append([task, task])
    text = ",".join(f"{first}" if first == last else f"{first}-{last}" for first, last in spans)
    limit = (spec.array or "").partition("%")[2]
    return f"{text}%{limit}" if limit else text


def status_of(job: FakeJob) -> JobStatus:
    """Return the record as slurmctld shows it now."""
    run = job.run
    pending = run.state.base is BaseState.PENDING
    return JobStatus(
        job_id=job.job_id,
        array_job_id=job.array_job_id,
        array_task_id=job.array_task_id,
        array_tasks=tasks_text(job.waiting, job.spec) if job.waiting else None,
        het_job_id=job.het_job_id,
        het_offset=job.het_offset,
        name=job.spec.name,
        user=job.user,
        uid=job.uid,
        account=job.account,
        partition=job.partition,
        qos=job.qos,
        state=run.state,
        reason=job.reason if pending else "None",
        exit=None if run.ended_at is None else run.exit,
        submitted_at=run.submitted_at,
        started_at=run.started_at,
        ended_at=run.ended_at,
        time_limit_min=job.spec.time_limit_min,
        restarts=job.restarts,
        nodes=run.nodes,
        node_count=job.node_count,
        cpus=job.tres["cpu"],
        tres_requested=dict(job.tres),
        tres_allocated={} if run.started_at is None else dict(job.tres),
        work_dir=job.spec.work_dir,
        stdout=_path(job, job.spec.stdout),
        stderr=_path(job, job.spec.stderr or job.spec.stdout),
        admin_comment=job.spec.admin_comment or "",
        comment=job.spec.comment or "",
        dependency=job.spec.dependency or "",
        priority=0 if job.spec.hold else 1,
    )


def rows_of(job: FakeJob, cluster: str) -> Iterator[AccountingRow]:
    """Yield one row a run, oldest first."""
    for run in job.runs:
        yield AccountingRow(
            cluster=cluster,
            db_index=run.db_index,
            job_id=job.job_id,
            array_job_id=job.array_job_id,
            array_task_id=job.array_task_id,
            array_tasks=tasks_text(job.waiting, job.spec) if job.waiting else None,
            het_job_id=job.het_job_id,
            het_offset=job.het_offset,
            name=job.spec.name,
            user=job.user,
            uid=job.uid,
            account=job.account,
            partition=job.partition,
            qos=job.qos,
            state=run.state,
            exit=run.exit,
            submitted_at=run.submitted_at,
            eligible_at=None if job.spec.hold and run.started_at is None else run.submitted_at,
            started_at=run.started_at,
            ended_at=run.ended_at,
            time_limit_min=job.spec.time_limit_min,
            nodes=run.nodes,
            tres_requested=dict(job.tres),
            tres_allocated={} if run.started_at is None else dict(job.tres),
            work_dir=job.spec.work_dir,
            stdout=_path(job, job.spec.stdout),
            stderr=_path(job, job.spec.stderr or job.spec.stdout),
            admin_comment=job.spec.admin_comment or "",
            comment=job.spec.comment or "",
        )


def exit_of(state: BaseState, code: int, signal: int) -> ExitStatus:
    """Return the exit that accounting shows for an end in `state`."""
    return ExitStatus(code, signal) if code or signal else _NAMED_EXIT.get(state, ExitStatus(0, 0))


def _path(job: FakeJob, pattern: str | None) -> str:
    task = "4294967294" if job.array_task_id is None else str(job.array_task_id)
    default = "slurm-%A_%a.out" if job.array_job_id is not None else "slurm-%j.out"
    path = pattern or default
    for mark, value in {
        "%j": str(job.job_id),
        "%A": str(job.array_job_id or job.job_id),
        "%a": task,
        "%u": job.user,
        "%x": job.spec.name,
    }.items():
        path = path.replace(mark, value)
    return path if path.startswith("/") else f"{job.spec.work_dir.rstrip('/')}/{path}"
