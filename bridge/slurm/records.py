"""What Slurm is asked about beside jobs: nodes, partitions, reservations, accounts, associations, QOS.

Pure data of the port (`bridge.slurm.port`), which hands it on.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeStatus:
    """One node; GPUs as counts by type."""

    name: str
    state: frozenset[str]
    """Slurm's words: base state and flags (``IDLE``, ``DRAIN``, ...)."""
    reason: str = ""
    cpus: int = 0
    memory_mib: int = 0
    gpus: Mapping[str, int] = field(default_factory=dict)
    gpus_used: Mapping[str, int] = field(default_factory=dict)
    partitions: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionStatus:
    """One partition. `allow_accounts` empty means ALL."""

    name: str
    up: bool
    nodes: str
    allow_accounts: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class Reservation:
    """One reservation of nodes."""

    name: str
    starts_at: datetime
    ends_at: datetime
    nodes: tuple[str, ...]
    flags: frozenset[str] = frozenset()
    """Slurm's words: ``MAINT``, ``IGNORE_JOBS``, ..."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """A Slurm account; `parent` is ``root`` for a top one."""

    name: str
    parent: str = "root"
    description: str = ""
    organization: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Association:
    """An association of a cluster: account alone (`user` empty) or account and user.

    The TRES mappings are whole: what is absent has no limit (slurmrestd replaces the lists as a set).
    None in a plain field means "no limit" for Slurm.
    """

    account: str
    user: str = ""
    parent: str = ""
    """Parent account, for account associations."""
    shares: int = 1
    qos: frozenset[str] = frozenset()
    default_qos: str = ""
    grp_tres: Mapping[str, int] = field(default_factory=dict)
    grp_tres_mins: Mapping[str, int] = field(default_factory=dict)
    max_tres_per_job: Mapping[str, int] = field(default_factory=dict)
    max_jobs: int | None = None
    max_submit_jobs: int | None = None
    max_wall_min: int | None = None
    grp_jobs: int | None = None
    grp_submit_jobs: int | None = None
    is_default: bool = False
    """For user associations: the user's default account."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Qos:
    """A QOS; None means "no limit"."""

    name: str
    description: str = ""
    priority: int = 0
    preempt: frozenset[str] = frozenset()
    preempt_mode: str = ""
    """``""`` (the cluster's), ``REQUEUE`` or ``CANCEL``."""
    preempt_exempt_s: int | None = None
    grace_s: int = 0
    usage_factor: float = 1.0
    max_wall_min: int | None = None
    grp_tres: Mapping[str, int] = field(default_factory=dict)
    flags: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class AccountingState:
    """Everything in slurmdbd that the tenants' documents describe, for this cluster."""

    accounts: tuple[Account, ...]
    associations: tuple[Association, ...]
    qos: tuple[Qos, ...]
