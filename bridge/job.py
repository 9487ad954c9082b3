"""The one job model: what is asked (`JobSpec`), which job it is (`JobRef`), what it is now (`JobStatus`).

Pure data. `JobSpec` itself is in `bridge.job_spec`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Final

from bridge.job_spec import UNLIMITED, JobSpec, Minutes

__all__ = [
    "FINISHED",
    "UNLIMITED",
    "AccountingRow",
    "BaseState",
    "ExitStatus",
    "JobRef",
    "JobSpec",
    "JobState",
    "JobStatus",
    "Minutes",
]


class BaseState(StrEnum):
    """Slurm's base job states (slurm.h enum job_states); exactly one holds at a time."""

    PENDING = "PENDING"
    RUNNING = "RUNNING"
    SUSPENDED = "SUSPENDED"
    COMPLETED = "COMPLETED"
    CANCELLED = "CANCELLED"
    FAILED = "FAILED"
    TIMEOUT = "TIMEOUT"
    NODE_FAIL = "NODE_FAIL"
    PREEMPTED = "PREEMPTED"
    BOOT_FAIL = "BOOT_FAIL"
    DEADLINE = "DEADLINE"
    OUT_OF_MEMORY = "OUT_OF_MEMORY"
    UNKNOWN = "UNKNOWN"
    """Ours: neither slurmctld nor accounting knows the job. Never taken as finished."""


FINISHED: Final = frozenset(BaseState) - {
    BaseState.PENDING,
    BaseState.RUNNING,
    BaseState.SUSPENDED,
    BaseState.UNKNOWN,
}
"""Base states that never change again for the same run (a requeue begins a new run)."""


@dataclass(frozen=True, slots=True)
class JobState:
    """A base state and Slurm's set of flags on it (COMPLETING, REQUEUED, RESIZING, ...)."""

    base: BaseState
    flags: frozenset[str] = frozenset()

    @property
    def holds_resources(self) -> bool:
        """Whether Slurm still keeps nodes for the job: running, suspended, or epilog not ended."""
        return self.base in (BaseState.RUNNING, BaseState.SUSPENDED) or "COMPLETING" in self.flags

    @property
    def finished(self) -> bool:
        """Whether the run is over, its epilog included."""
        return self.base in FINISHED and not self.flags & {"COMPLETING", "REQUEUED", "REQUEUE_HOLD"}


@dataclass(frozen=True, slots=True, order=True)
class JobRef:
    """A job for Slurm: number, array task, and the cluster whose number it is."""

    cluster: str
    job_id: int
    array_task_id: int | None = None

    def __str__(self) -> str:
        return f"{self.job_id}" if self.array_task_id is None else f"{self.job_id}_{self.array_task_id}"


@dataclass(frozen=True, slots=True)
class ExitStatus:
    """How the batch script ended, sacct's ``ExitCode`` ``code:signal``."""

    code: int
    signal: int = 0

    def __str__(self) -> str:
        return f"{self.code}:{self.signal}"


@dataclass(frozen=True, slots=True, kw_only=True)
class JobStatus:
    """One job record as slurmctld shows it now.

    `job_id` is Slurm's own number of this record; a task of an array also has `array_job_id` (the
    number that users see) and `array_task_id`. A pending array is one record with `array_tasks` (the
    text of the tasks that wait, ``0-3%2``) and no `array_task_id`. TRES as `units.tres_counts`.
    """

    job_id: int
    array_job_id: int | None = None
    array_task_id: int | None = None
    array_tasks: str | None = None
    het_job_id: int | None = None
    het_offset: int | None = None
    name: str
    user: str
    uid: int
    account: str
    partition: str
    qos: str
    state: JobState
    reason: str = ""
    exit: ExitStatus | None = None
    submitted_at: datetime
    started_at: datetime | None = None
    ended_at: datetime | None = None
    time_limit_min: Minutes | None = None
    restarts: int = 0
    nodes: str = ""
    """Host list of the allocated nodes, ``gpu[1-2]``, empty while pending."""
    node_count: int = 0
    cpus: int = 0
    tres_requested: Mapping[str, int] = field(default_factory=dict)
    tres_allocated: Mapping[str, int] = field(default_factory=dict)
    work_dir: str = ""
    stdout: str = ""
    stderr: str = ""
    """Paths with patterns expanded by Slurm."""
    admin_comment: str = ""
    comment: str = ""
    dependency: str = ""
    priority: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AccountingRow:
    """One row of ``sacct -X -D``: one run of one job (a requeue or resize begins a new row).

    `db_index` is slurmdbd's job_db_inx as text (it can exceed a signed 64-bit integer); with the
    cluster it is the key of the ledger. Times are None where Slurm has no value; `ended_at` None means
    that the run goes on (or is a runaway).
    """

    cluster: str
    db_index: str
    job_id: int
    array_job_id: int | None = None
    array_task_id: int | None = None
    array_tasks: str | None = None
    het_job_id: int | None = None
    het_offset: int | None = None
    name: str
    user: str
    uid: int
    account: str
    partition: str
    qos: str
    state: JobState
    exit: ExitStatus
    submitted_at: datetime | None
    eligible_at: datetime | None
    started_at: datetime | None
    ended_at: datetime | None
    suspended_s: int = 0
    time_limit_min: Minutes | None = None
    nodes: str = ""
    tres_requested: Mapping[str, int] = field(default_factory=dict)
    tres_allocated: Mapping[str, int] = field(default_factory=dict)
    work_dir: str = ""
    stdout: str = ""
    stderr: str = ""
    admin_comment: str = ""
    comment: str = ""
