"""What Sluice asks of Slurm, as one protocol.

`bridge.slurm.client.AgentClient` is the real thing (it speaks to the slurm-agent), `bridge.slurm.fake.
FakeSlurm` is the other; `tests/contract` runs one suite on both. All calls block and are thread-safe;
each has a deadline of its own.

Errors of every call: `Unavailable` (nothing was sent), `OutcomeUnknown` (a write was sent, no answer),
`SlurmRefused` (Slurm's words and errno), `NotFound`, `Unsupported` (no adapter carries a field).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

from bridge.job import AccountingRow, JobSpec, JobStatus
from bridge.slurm.job_change import JobChange
from bridge.slurm.records import (
    Account,
    AccountingState,
    Association,
    NodeStatus,
    PartitionStatus,
    Qos,
    Reservation,
)

__all__ = [
    "Account",
    "AccountingState",
    "Association",
    "AssociationUse",
    "Cluster",
    "CommandAnswer",
    "Forecast",
    "JobChange",
    "NodeStatus",
    "PartHealth",
    "PartitionStatus",
    "Qos",
    "Reservation",
    "Slurm",
    "Submitted",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Cluster:
    """Which Slurm this is, read from it."""

    name: str
    version: str
    """``26.05.5``."""
    adapters: tuple[str, ...]
    """Ways in use now: ``native``, ``rest``, ``commands``."""
    rest_version: str | None = None
    """``v0.0.45``, the newest that slurmrestd offers and we speak."""
    gres_types: frozenset[str] | None = None
    """Kinds of generic resources that it has (GresTypes); None = not known now."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PartHealth:
    """Whether one part of Slurm answers."""

    part: str
    """``slurmctld``, ``slurmdbd``, ``slurmrestd`` or ``native``."""
    healthy: bool
    detail: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Submitted:
    """Slurm took a job."""

    job_id: int
    messages: tuple[str, ...] = ()
    """What Slurm said beside it (job_submit.lua's log_user, "held", ...)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Forecast:
    """What slurmctld says of a job that is not made (its will-run)."""

    start_at: datetime | None = None
    """When it would start; None when slurmctld gives no moment."""
    nodes: str = ""
    partition: str = ""
    cpus: int = 0
    preempts: tuple[int, ...] = ()
    """Jobs that would make room."""
    waits: str = ""
    """Why it would be queued without a moment, in Slurm's words (will-run refuses it, a submission not)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandAnswer:
    """What one of Slurm's commands said."""

    exit_code: int
    stdout: bytes = b""
    stderr: bytes = b""


@dataclass(frozen=True, slots=True, kw_only=True)
class AssociationUse:
    """One association as slurmctld holds it now: its limits, and what counts against them.

    TRES by Slurm's names; what has no limit is absent in `limit`, what is unused in `used`. An account's
    numbers are those of all below it.
    """

    account: str
    user: str = ""
    parent: str = ""
    """Parent account, for account associations."""
    limit: Mapping[str, int] = field(default_factory=dict)
    used: Mapping[str, int] = field(default_factory=dict)
    running_jobs: int = 0
    submitted_jobs: int = 0
    """Queued and running."""
    max_running_jobs: int | None = None
    max_submitted_jobs: int | None = None


class Slurm(Protocol):
    """The port."""

    def cluster(self) -> Cluster:
        """Name, version and adapters."""
        ...

    def health(self) -> tuple[PartHealth, ...]:
        """Ask each part, at most 3 s each; never raises for a part that is down."""
        ...

    def submit(self, spec: JobSpec, *, user: str) -> Submitted:
        """Submit as the Linux user `user` (the agent looks up uid and gid).

        `SlurmRefused` carries the sentence of job_submit.lua in its text where there is one, and the
        errno text after it; `Unsupported` names a field that no adapter carries.
        """
        ...

    def submit_het(self, specs: Sequence[JobSpec], *, user: str) -> Submitted:
        """Submit the components of one heterogeneous job, the leader (who has the script) first.

        All or none; the number is the leader's. Errors as of `submit`.
        """
        ...

    def forecast(self, spec: JobSpec, *, user: str) -> Forecast:
        """Have slurmctld and job_submit.lua judge a job as on its submission; nothing is made.

        `SlurmRefused` as of `submit`; `Unsupported` where the agent has no libslurm.
        """
        ...

    def command(self, words: Sequence[str], *, user: str, variables: Mapping[str, str]) -> CommandAnswer:
        """Run one of Slurm's own commands (``squeue -h``) with the user's rights, and return what it said.

        A command that fails is an answer; `InputError` is for words that aren't taken over HTTP.
        """
        ...

    def cancel(self, job_id: int, *, user: str, array_task_id: int | None = None) -> None:
        """Cancel as `user` (sacct then shows CANCELLED by that uid).

        A job that already ended is no error. `NotFound` when slurmctld doesn't know it, `SlurmRefused`
        errno 2002 when it is not the user's.
        """
        ...

    def hold(self, job_id: int, *, user: str | None = None, note: str | None = None) -> None:
        """Keep a waiting job from starting: as its `user` (who may release it), else as administrator.

        `note` becomes the job's admin_comment in the same step, for an administrator's hold alone. Of an
        array's number all tasks that wait. `NotFound`; `SlurmRefused` errno 2010 of another user's job.
        """
        ...

    def release(self, job_id: int, *, user: str | None = None, note: str | None = None) -> None:
        """Let a held job start again; a user can't release an administrator's hold (2002)."""
        ...

    def requeue(self, job_id: int, *, user: str | None = None, hold: bool = False) -> None:
        """End a job's present run and put it back into the queue, held if so wished.

        `SlurmRefused` for a job that waits already, or is not to be requeued; `Unsupported` where this
        Slurm has no way to do so for a user.
        """
        ...

    def modify(self, job_id: int, change: JobChange, *, user: str | None = None) -> None:
        """Change a job: as `user`, whom job_submit.lua judges, else as administrator.

        Of an array's number all its tasks. `SlurmRefused` carries Slurm's words.
        """
        ...

    def jobs(self) -> Sequence[JobStatus]:
        """All records of slurmctld, one full load; ended jobs stay for MinJobAge (300 s)."""
        ...

    def job(self, job_id: int) -> Sequence[JobStatus]:
        """Records of one job; all tasks for an array's number. `NotFound` when slurmctld has none."""
        ...

    def nodes(self) -> Sequence[NodeStatus]:
        """All nodes."""
        ...

    def partitions(self) -> Sequence[PartitionStatus]:
        """All partitions."""
        ...

    def reservations(self) -> Sequence[Reservation]:
        """All reservations that aren't over."""
        ...

    def accounting(self, *, start: datetime, end: datetime) -> Iterator[AccountingRow]:
        """Rows of all users that were eligible, pending or running at any time in [start, end), streamed.

        Duplicates (requeues) are included, steps are not, times are not clipped to the window.
        """
        ...

    def accounting_of(self, job_id: int) -> Sequence[AccountingRow]:
        """All rows that ever had this job number, recycled numbers included; empty when none."""
        ...

    def uses(self, accounts: Sequence[str], *, user: str) -> Sequence[AssociationUse]:
        """Limits and use of accounts, and of `user` in each, from slurmctld's memory; unknown are absent.

        `Unsupported` where the agent has no libslurm.
        """
        ...

    def user_of_token(self, token: str) -> str:
        """Whom a token of Slurm's own (`scontrol token`) stands for; `Unauthenticated` for a bad one."""
        ...

    def accounting_state(self) -> AccountingState:
        """Accounts, associations and QOS of this cluster in slurmdbd."""
        ...

    def put_accounts(self, accounts: Sequence[Account]) -> None:
        """Create or change accounts (description, organization)."""
        ...

    def put_associations(self, associations: Sequence[Association]) -> None:
        """Create or change associations, users included; parents must come first."""
        ...

    def put_qos(self, qos: Sequence[Qos]) -> None:
        """Create or change QOS."""
        ...

    def remove_qos(self, names: Sequence[str]) -> None:
        """Remove QOS that no job and no association needs; what isn't there is no error."""
        ...

    def remove_association(self, *, account: str, user: str = "") -> None:
        """Remove one association. The caller has drained it: Slurm cancels jobs of a removed one."""
        ...

    def set_partition_accounts(self, partition: str, accounts: frozenset[str]) -> None:
        """Set AllowAccounts; the empty set means that nobody but root's account may use it."""
        ...
