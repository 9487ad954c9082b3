"""What both sides show of one placement at one moment.

Pure data. What flows in: the watch of the API server, the listing of Slurm, the node agents. Ages are
durations since the bridge first saw a state, by its own monotonic clock: clocks of other hosts don't count.
What isn't known is None or UNKNOWN, never taken as its opposite.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from enum import Enum

from bridge.job import BaseState, JobState
from bridge.policy.tenant import JobClass

DeviceKey = tuple[str, str, str]
"""Driver, pool and name, as an allocation names a device."""
NEVER = timedelta(0)


class Evidence(Enum):
    """What a node says of a pod's devices."""

    HELD = "held"
    FREE = "free"
    UNKNOWN = "unknown"


class Cause(Enum):
    """Who ended a pod, beside itself; `outcome` orders them."""

    PREEMPTED = "preempted"
    TIME_LIMIT = "time limit"
    CANCELLED = "cancelled"
    NODE_FAILED = "node failed"
    OUT_OF_MEMORY = "out of memory"
    REFUSED = "refused by the kubelet"


@dataclass(frozen=True, slots=True, kw_only=True)
class PodView:
    """One pod of a placement."""

    uid: str
    namespace: str = ""
    name: str = ""
    present: bool = True
    """Whether the object is there, in a listing that is whole."""
    node: str = ""
    """Node that it is bound to."""
    job_id: int | None = None
    """The job that its Binding named."""
    claim: frozenset[DeviceKey] | None = None
    """Devices allocated to its claim by us; None: no claim of ours is allocated."""
    phase: str = "Pending"
    deleting: bool = False
    evicting: bool = False
    """Whether the bridge or somebody else asked for its eviction."""
    causes: frozenset[Cause] = frozenset()
    caused_by: str = ""
    """Who cancelled it, for the comment."""
    exit_code: int | None = None
    """Of the first container that failed, 0 when none did."""
    reason: str = ""
    """Kubernetes' word for the end (``OOMKilled``, ``OutOfcpu``)."""
    finalizer: bool = True
    closed_jobs: frozenset[int] = frozenset()
    """Jobs that it was parted from (`actions.Part`)."""
    resource_version: str = ""
    evidence: Evidence = Evidence.UNKNOWN
    absent_for: timedelta = NEVER

    @property
    def terminal(self) -> bool:
        """Whether its phase is terminal: only then are its devices free (measured)."""
        return self.phase in ("Succeeded", "Failed")

    @property
    def bound(self) -> bool:
        """Whether it is or may be on a node."""
        return bool(self.node)

    @property
    def released(self) -> bool:
        """Whether its devices are surely free: terminal, free by its node's word, or never to be bound.

        The API server binds no pod that is gone or going.
        """
        if not self.bound:
            return self.claim is None or not self.wanted
        return self.terminal or (not self.present and self.evidence is Evidence.FREE)

    @property
    def wanted(self) -> bool:
        """Whether it still wants to start or run."""
        return self.present and not self.deleting and not self.terminal


@dataclass(frozen=True, slots=True, kw_only=True)
class JobView:
    """One Slurm job that carries the placement's key."""

    job_id: int
    state: JobState
    closed: bool = False
    """Whether the nodes were told that it is over for us (`actions.Close`)."""
    preempting: bool = False
    """PreemptTime is set; Slurm will end it."""
    nodes: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    """Kubernetes node to GPU indexes, when Slurm has granted and the Prolog is done."""
    cancelled_by: str = ""
    running_for: timedelta = NEVER
    time_left: timedelta | None = None

    @property
    def live(self) -> bool:
        """Whether Slurm may still start or runs it; a COMPLETING job is not."""
        return self.state.base in (BaseState.PENDING, BaseState.RUNNING, BaseState.SUSPENDED) and (
            "COMPLETING" not in self.state.flags
        )

    @property
    def pending(self) -> bool:
        """Whether it waits for its grant."""
        return self.live and self.state.base is BaseState.PENDING

    @property
    def finished(self) -> bool:
        """Whether it is over, its Epilogs included."""
        return self.state.finished


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeView:
    """One node that a grant or a pod is on."""

    name: str
    objection: str | None = None
    """Why it doesn't satisfy the demand any more (`translate.constraints`)."""
    offers: bool = True
    """Whether it offers its devices now (a driver or plugin is registered)."""
    drained: bool = False
    """Whether Slurm has it drained, by us or by somebody else."""
    down: bool = False
    fenced: bool = False
    """Somebody said that it is gone for good: node object deleted, or the out-of-service taint."""
    unreachable_for: timedelta = NEVER
    refusals: int = 0
    """Pods that its kubelet refused in the last ten minutes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """All that is seen of one placement."""

    key: str
    pods: tuple[PodView, ...]
    jobs: tuple[JobView, ...] = ()
    """All jobs with the key that Slurm shows, ended ones too while slurmctld keeps them."""
    nodes: Mapping[str, NodeView] = field(default_factory=dict)
    devices: Mapping[str, tuple[DeviceKey, ...]] = field(default_factory=dict)
    """Node to the device of each GPU index."""
    held: Mapping[DeviceKey, str] = field(default_factory=dict)
    """Devices of all live claims, of all placements, by pod uid."""
    gpus_per_pod: int = 1
    job_class: JobClass = "training"
    submittable: bool = True
    """Whether the translation gives a job now (else it waits or refuses)."""
    kube_fresh: bool = True
    """Whether the API server was listed whole since the lease began and answers."""
    slurm_fresh: bool = True
    """Whether Slurm was listed whole since the lease began, and after each submission of ours had an"
    " answer."""
    known_job: int | None = None
    """The job that we know to have submitted, though Slurm may not show it."""
    job_absent_for: timedelta = NEVER
    granted_for: timedelta = NEVER
    resubmitted: int = 0
    """Times in the last minute that a grant was given back."""
    cancelled_before: bool = False
    """Whether somebody cancelled an earlier job of these pods while it was pending."""
    grace_cap_s: int = 60
    grace_s: int = 30
    gang_lost_for: timedelta = NEVER
    """How long a member of a running gang has been missing."""

    @property
    def bound(self) -> tuple[PodView, ...]:
        """Pods that are or may be on a node."""
        return tuple(pod for pod in self.pods if pod.bound)
