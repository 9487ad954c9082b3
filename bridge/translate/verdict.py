"""What the translation answers: a placement, a reason to wait, a refusal, or that a pod isn't ours.

Pure data. Each answer but a placement carries one sentence for the user (event and condition on the pod)
and a stable name of its rule. `ending` has those that end a step.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from bridge.job import JobSpec
from bridge.policy.tenant import JobClass
from bridge.translate.constraints import NodeDemand
from bridge.translate.ending import Refuse, Refused, Wait, Waits

__all__ = ["Leave", "Member", "Placement", "Refuse", "Refused", "Verdict", "Wait", "Waits", "WalltimeSource"]

WalltimeSource = Literal["deadline", "lease", "class", "partition", "none"]


@dataclass(frozen=True, slots=True)
class Member:
    """A pod of a placement."""

    namespace: str
    name: str
    uid: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Placement:
    """One Slurm job for one pod or one gang. Amounts are for each pod.

    `specs` has one job description a flavor, in order of preference: tenants' rules want a job to name
    one, so whoever submits takes the first that has room, else the first. `nodes` are the Kubernetes
    nodes that could hold a member when this was asked; Slurm is told the demand's feature, never a list.
    """

    key: str
    """Deterministic: the pod's uid, or the gang's name and uid; goes into the job's admin_comment."""
    members: tuple[Member, ...]
    specs: Mapping[str, JobSpec]
    demand: NodeDemand
    nodes: tuple[str, ...]
    nodes_min: int
    tenant: str
    user: str
    job_class: JobClass
    gpus_per_pod: int
    cpus: int
    memory_mib: int | None
    walltime_min: int | None
    walltime_source: WalltimeSource
    volumes_to_bind: tuple[str, ...] = ()
    """PersistentVolumeClaims that wait for their first consumer: they need the granted node's name."""
    notes: tuple[str, ...] = ()
    """Sentences for an event on the pod; nothing is wrong."""

    @property
    def gang(self) -> bool:
        """Whether several pods start together."""
        return len(self.members) > 1

    @property
    def flavors(self) -> tuple[str, ...]:
        """Flavors that it may run on, the preferred one first."""
        return tuple(self.specs)

    @property
    def gpus_total(self) -> int:
        """GPUs of the whole job."""
        return self.gpus_per_pod * len(self.members)


@dataclass(frozen=True, slots=True)
class Leave:
    """Not the pool's: another scheduler places it, or with `ours` the bridge does, without a job."""

    note: str = ""
    ours: bool = False


Verdict = Placement | Wait | Refuse | Leave
