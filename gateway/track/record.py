"""One job as the mirror keeps it, and the identity that it has for its whole life.

Pure. A `JobRecord` is what every read is served from; `gateway.store.jobs` keeps it, `gateway.track.
transition` makes the next one from what Slurm shows. Ids are ours: ``job_<ULID>``, sorted by time of
first submission, the same after a requeue or a resize, and the same again when the store is rebuilt.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final, Literal

from ulid import ULID

from bridge.job import ExitStatus, JobState, Minutes
from bridge.wellknown import ADMIN_COMMENT_PREFIX, CLASSES, PRODUCTION_QOS_PREFIX

Door = Literal["http", "sbatch"]

UNKNOWN_UID: Final = -1
"""uid of a job that Slurm took and has not shown yet."""

ID_PREFIX: Final = "job_"
JOB_ID: Final = re.compile(r"^job_[0-9A-HJKMNP-TV-Z]{26}$")
_STAMP: Final = re.compile(
    rf"^{ADMIN_COMMENT_PREFIX}(?P<door>http):(?P<intent>[0-9A-HJKMNP-TV-Z]{{26}})(?P<part>\+[0-9]+)?"
    r"(?: \|.*)?$"  # the bridge may have written why it holds the job (bridge.policy.queued)
)


@dataclass(frozen=True, slots=True)
class JobNumber:
    """The number that users see in squeue: of a job, of an array (no task), or of one of its tasks."""

    number: int
    task: int | None = None

    def __str__(self) -> str:
        return f"{self.number}" if self.task is None else f"{self.number}_{self.task}"


@dataclass(frozen=True, slots=True, kw_only=True)
class JobRecord:
    """One job, array or array task; times are aware UTC, TRES as `bridge.units.tres_counts`."""

    id: str
    cluster: str
    job_id: int
    """Slurm's own number of the record."""
    array_job_id: int | None = None
    array_task_id: int | None = None
    array_tasks: str | None = None
    """Of an array: the text of the tasks that wait (``0-3%2``), None once all have become rows."""
    het_job_id: int | None = None
    het_offset: int | None = None
    name: str
    user: str
    uid: int
    tenant: str
    job_class: str = ""
    flavor: str = ""
    partition: str = ""
    qos: str = ""
    state: JobState
    reason: str = ""
    exit: ExitStatus | None = None
    submitted_at: datetime
    """Of the first run."""
    run_submitted_at: datetime | None = None
    """Of the present run, as Slurm has it; None until Slurm has shown the job."""
    started_at: datetime | None = None
    ended_at: datetime | None = None
    time_limit_min: Minutes | None = None
    nodes: str = ""
    node_count: int = 0
    cpus: int = 0
    gpus: int = 0
    """Allocated, or asked for while it waits."""
    tres_requested: Mapping[str, int] = field(default_factory=dict)
    tres_allocated: Mapping[str, int] = field(default_factory=dict)
    door: Door = "sbatch"
    work_dir: str = ""
    stdout: str = ""
    stderr: str = ""
    restarts: int = 0
    messages: tuple[str, ...] = ()
    admin_comment: str = ""
    comment: str = ""
    dependency: str = ""
    priority: int | None = None
    changed_at: datetime
    """When the mirror saw it become as it is."""

    @property
    def slurm_number(self) -> JobNumber:
        """The number that users know it by."""
        return number_of(self.job_id, self.array_job_id, self.array_task_id)

    @property
    def is_array(self) -> bool:
        """Whether it stands for a whole array."""
        return self.array_job_id is not None and self.array_task_id is None

    @property
    def settled(self) -> bool:
        """Whether nothing about it will change, short of a requeue."""
        return self.state.finished


def number_of(job_id: int, array_job_id: int | None, array_task_id: int | None) -> JobNumber:
    """Return the number that users see."""
    if array_job_id is None:
        return JobNumber(job_id)
    return JobNumber(array_job_id, array_task_id)


def admin_comment(door: Door, intent_id: str, component: int = 0) -> str:
    """Return what Sluice writes into a job's admin_comment, by which the job is found again.

    Components of a het job but the first are marked: accounting shows them without their place at first.
    """
    part = f"+{component}" if component else ""
    return f"{ADMIN_COMMENT_PREFIX}{door}:{intent_id}{part}"


def intent_of(comment: str) -> str | None:
    """Return the intent id in an admin_comment, None when the job didn't come by HTTP."""
    match = _STAMP.match(comment)
    return match["intent"] if match else None


def is_component(comment: str) -> bool:
    """Whether an admin_comment is that of a het job's component, not of its leader."""
    match = _STAMP.match(comment)
    return bool(match and match["part"])


def id_of_intent(intent_id: str) -> str:
    """Return the id of the job that an intent becomes."""
    return f"{ID_PREFIX}{intent_id}"


def id_of(cluster: str, number: JobNumber, submitted_at: datetime) -> str:
    """Return the id of a job that Sluice did not submit itself.

    It is made from the job's identity alone, so that a rebuilt mirror gives the same id: the ULID's time
    is that of the first submission, its random part a hash of cluster, number, task and that time.
    """
    key = f"{cluster}\0{number}\0{int(submitted_at.timestamp())}".encode()
    milliseconds = int(submitted_at.timestamp()) * 1000
    return f"{ID_PREFIX}{ULID(milliseconds.to_bytes(6, 'big') + hashlib.sha256(key).digest()[:10])}"


def class_of(qos: str) -> str:
    """Return the class that a QOS stands for, empty for a QOS that isn't Sluice's."""
    if qos.startswith(PRODUCTION_QOS_PREFIX):
        return "production"
    return qos if qos in CLASSES else ""


def flavor_of(partition: str, tres: Mapping[str, int], gpus: int) -> str:
    """Return the kind of GPU: that of the typed TRES, else the partition's; empty without GPUs."""
    for name in tres:
        if name.startswith("gres/gpu:"):
            return name.removeprefix("gres/gpu:")
    return partition if gpus else ""
