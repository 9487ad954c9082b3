"""The one job model: what is asked (`JobSpec`), which job it is (`JobRef`), what it is now (`JobStatus`).

Pure data. The fields of `JobSpec` are Slurm's own (names as in slurmrestd's job description where a
plain name isn't clearer) and a unit is part of a name. None means "the user did not say": it is never
sent. How each field reaches Slurm is `bridge.agent.carriage`'s table, not this file's business.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Final, Literal

UNLIMITED: Final = "UNLIMITED"
Minutes = int | Literal["UNLIMITED"]
"""Whole minutes, or no limit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JobSpec:
    """One batch job as it is asked for.

    Everything is as sbatch would send it: `script` byte for byte, paths as written (patterns such as
    ``%j`` unexpanded), `environment` complete (what the job starts with). TRES strings carry their
    ``gres/`` prefix (``gres/gpu:h100:2``).
    """

    script: bytes
    work_dir: str
    environment: Mapping[str, str]
    argv: tuple[str, ...] = ()
    """Arguments of the script itself, without the script's name."""
    name: str = "sbatch"

    account: str | None = None
    partition: str | None = None
    qos: str | None = None
    reservation: str | None = None
    wckey: str | None = None
    comment: str | None = None
    admin_comment: str | None = None
    """Set by Sluice alone (`bridge.wellknown.ADMIN_COMMENT_PREFIX`)."""

    time_limit_min: Minutes | None = None
    time_min_min: Minutes | None = None
    begin: datetime | None = None
    deadline: datetime | None = None
    delay_boot_min: int | None = None
    delay_boot_s: int | None = None
    """``--delay-boot`` as Slurm counts it, in seconds (`delay_boot_min` is too coarse for ``1:30``)."""

    nodes_min: int | None = None
    nodes_max: int | None = None
    node_sizes: str | None = None
    """``--nodes`` as a list of sizes (``1,2,4-8``), when it is more than a range."""
    ntasks: int | None = None
    ntasks_per_node: int | None = None
    ntasks_per_socket: int | None = None
    ntasks_per_core: int | None = None
    ntasks_per_tres: int | None = None
    """``--ntasks-per-gpu``."""
    cpus_per_task: int | None = None
    mincpus: int | None = None
    cpus_min: int | None = None
    """CPUs for the whole job as sbatch works them out from tasks, nodes and GPUs; None: nobody did."""
    sockets_per_node: int | None = None
    cores_per_socket: int | None = None
    threads_per_core: int | None = None
    core_spec: int | None = None
    thread_spec: int | None = None

    memory_per_node_mib: int | None = None
    """0 means all of each node's memory, as in sbatch."""
    memory_per_cpu_mib: int | None = None
    memory_per_tres: str | None = None
    """``gres/gpu:MIB`` (``--mem-per-gpu``)."""
    tmp_disk_per_node_mib: int | None = None

    tres_per_job: str | None = None
    tres_per_node: str | None = None
    tres_per_socket: str | None = None
    tres_per_task: str | None = None
    cpus_per_tres: str | None = None
    tres_bind: str | None = None
    tres_freq: str | None = None
    gres_flags: tuple[str, ...] = ()

    array: str | None = None
    """``--array`` as written, ``%limit`` included."""
    dependency: str | None = None
    features: str | None = None
    """``--constraint``."""
    prefer: str | None = None
    cluster_features: str | None = None
    clusters: str | None = None
    batch_features: str | None = None
    nodelist: str | None = None
    exclude: str | None = None
    licenses: str | None = None
    network: str | None = None
    burst_buffer: str | None = None

    hold: bool = False
    requeue: bool | None = None
    nice: int | None = None
    priority: int | None = None
    exclusive: Literal["exclusive", "user", "mcs", "topo", "none"] | None = None
    oversubscribe: bool = False
    overcommit: bool = False
    contiguous: bool = False
    spread: bool = False
    use_min_nodes: bool = False
    reboot: bool = False
    wait_all_nodes: bool | None = None
    kill_on_node_fail: bool | None = None
    switches: int | None = None
    switches_wait_s: int | None = None

    signal: str | None = None
    """``--signal`` as written: ``[R][B][:]NAME|NUMBER[@SECONDS]``."""
    mail_type: tuple[str, ...] = ()
    mail_user: str | None = None
    mcs_label: str | None = None

    stdin: str | None = None
    stdout: str | None = None
    stderr: str | None = None
    open_mode: Literal["append", "truncate"] | None = None

    distribution: str | None = None
    hint: str | None = None
    mem_bind: str | None = None
    cpu_freq: str | None = None
    gpu_freq: str | None = None
    profile: str | None = None
    acctg_freq: str | None = None
    propagate: str | None = None
    power: str | None = None
    container: str | None = None
    container_id: str | None = None
    site: Mapping[str, str] = field(default_factory=dict)
    """Options of a site's SPANK plugins, carried as sbatch carries them."""


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
