"""What a plan may ask for: one write each, harmless when it is done twice.

Pure data. Whoever applies them gives each a precondition (pod uid, resource version, job state), so that a
stale plan changes nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

from bridge.reconcile.outcome import Outcome
from bridge.reconcile.view import DeviceKey


@dataclass(frozen=True, slots=True)
class Submit:
    """Submit the placement's job, after a look for one with its key."""

    key: str
    without_nodes: tuple[str, ...] = ()
    """Nodes whose last grant didn't fit."""


@dataclass(frozen=True, slots=True)
class Cancel:
    """Cancel a job that no pod runs under."""

    job_id: int
    comment: str


@dataclass(frozen=True, slots=True)
class Allocate:
    """Write a pod's claim with exactly these devices."""

    pod_uid: str
    node: str
    devices: tuple[DeviceKey, ...]
    job_id: int


@dataclass(frozen=True, slots=True)
class Bind:
    """Bind a pod, always after its claim; the job's number goes with it as annotation.

    Preconditions are the pod's uid and the resource version that the plan was made from.
    """

    pod_uid: str
    node: str
    job_id: int
    resource_version: str


@dataclass(frozen=True, slots=True)
class Release:
    """Take a claim's allocation back from a pod that isn't bound."""

    pod_uid: str


@dataclass(frozen=True, slots=True)
class Part:
    """Write on a pod that isn't bound that a job is over for it (`marks.CLOSED_JOBS`).

    That changes the pod's resource version, so that a Binding still under way for this job is refused.
    """

    pod_uid: str
    job_id: int


@dataclass(frozen=True, slots=True)
class Close:
    """Tell the nodes that no pod runs or will be bound under a job: its Epilog may end.

    A node's own evidence isn't enough for a job that ended before its pod started: a Binding may be on its
    way.
    """

    job_id: int


@dataclass(frozen=True, slots=True)
class Evict:
    """Evict a pod with a reason in its DisruptionTarget condition."""

    pod_uid: str
    reason: str
    message: str
    grace_s: int
    respect_budget: bool
    """Whether a PodDisruptionBudget may delay it."""


@dataclass(frozen=True, slots=True)
class EndJob:
    """End a job as its pods ended."""

    job_id: int
    outcome: Outcome


@dataclass(frozen=True, slots=True)
class Extend:
    """Give a production job's lease its full length again."""

    job_id: int


@dataclass(frozen=True, slots=True)
class Drain:
    """Drain a Slurm node with a reason of ours."""

    node: str
    reason: str


@dataclass(frozen=True, slots=True)
class FailNode:
    """Set a fenced node DOWN in Slurm, which ends its jobs as NODE_FAIL."""

    node: str
    reason: str


@dataclass(frozen=True, slots=True)
class LetGo:
    """Remove our finalizer from a pod whose devices are free and whose job has ended."""

    pod_uid: str


@dataclass(frozen=True, slots=True)
class Say:
    """Tell the pod's owner, by event and condition."""

    pod_uid: str
    reason: str
    message: str


Action = (
    Submit
    | Cancel
    | Allocate
    | Bind
    | Release
    | Part
    | Close
    | Evict
    | EndJob
    | Extend
    | Drain
    | FailNode
    | LetGo
    | Say
)
