"""Which gang a pod belongs to, and which pods are its members now.

Pure. A gang is asked for in words (a PodGroup, our annotation on a Job or JobSet, a LeaderWorkerSet's group,
a Kubeflow job) and never guessed. The first pods are its members, as many as it asks; later ones, and all
that come once it has started, follow singly.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from bridge.translate import marks
from bridge.translate.ending import Refused, Waits
from bridge.translate.pods import Pod
from bridge.translate.sizes import GroupSize
from bridge.translate.world import World


@dataclass(frozen=True, slots=True)
class GangRef:
    """A gang by the object that asks for it; `part` tells groups of one object apart."""

    kind: str
    namespace: str
    name: str
    part: str = ""

    def __str__(self) -> str:
        part = f" group {self.part}" if self.part else ""
        return f"{self.kind} {self.name}{part}"


def gang_of(pod: Pod, world: World) -> GangRef | None:
    """Return the gang that a pod asks to belong to, None for a single pod.

    Raises
    ------
    Refused
        It is grouped by a system that doesn't schedule here: alone it would be lost.
    """
    meta, namespace = pod.meta, pod.meta.namespace
    label = marks.group_label(meta) or pod.scheduling_group
    if label:
        return GangRef("PodGroup", namespace, label)
    foreign = marks.foreign_gang(meta)
    if foreign is not None:
        raise Refused(
            "gang.foreign",
            f"{foreign[0]} groups pods for {foreign[1]}, which doesn't schedule the pool; use a PodGroup of"
            f" scheduling.x-k8s.io, or {marks.GANG} on a Job or JobSet",
        )
    if marks.LWS_NAME in meta.labels:
        return GangRef(
            "LeaderWorkerSet", namespace, meta.labels[marks.LWS_NAME], meta.labels.get(marks.LWS_GROUP, "0")
        )
    return _by_owner(pod, world)


def _by_owner(pod: Pod, world: World) -> GangRef | None:
    meta, namespace = pod.meta, pod.meta.namespace
    owner = meta.controller
    if owner is not None and owner.kind in marks.KUBEFLOW_KINDS:
        return GangRef(owner.kind, namespace, owner.name)
    if marks.JOBSET_NAME in meta.labels:
        ref = GangRef("JobSet", namespace, meta.labels[marks.JOBSET_NAME])
        return ref if _opted(ref, world) else None
    if owner is not None and owner.kind == "Job":
        ref = GangRef("Job", namespace, owner.name)
        return ref if _opted(ref, world) else None
    return None


def _opted(ref: GangRef, world: World) -> bool:
    size = world.group_sizes.get((ref.kind, ref.namespace, ref.name))
    return size is not None and size.opted


@dataclass(frozen=True, slots=True)
class Gang:
    """A gang that is complete: its members in order, and what it is called."""

    ref: GangRef
    size: GroupSize
    members: tuple[Pod, ...]

    @property
    def key(self) -> str:
        """Deterministic name of the gang's placement."""
        return f"gang:{self.size.meta.uid or self.ref.namespace + '.' + self.ref.name}:{self.ref.part}"


def gather(pod: Pod, ref: GangRef, world: World, asks_gpus: Callable[[Pod], bool]) -> Gang | None:
    """Return the gang that a pod starts with, None when the pod follows singly.

    Parameters
    ----------
    asks_gpus
        Whether a pod asks for the pool's GPUs; the others count for a PodGroup's minMember, and start
        on their own.

    Raises
    ------
    Waits
        The gang's object or some of its members aren't there yet.
    """
    size = world.group_sizes.get((ref.kind, ref.namespace, ref.name))
    if size is None:
        raise Waits("gang.missing", f"the pod waits for its {ref.kind} {ref.name}, which doesn't exist")
    if size.meta.uid in world.started_gangs:
        return None
    pods = [found for found in world.pods.get(ref.namespace, ()) if _member(found, ref, world)]
    ours = sorted((found for found in pods if asks_gpus(found)), key=_age)
    wanted = size.gpu_members
    if wanted is None:
        wanted = max(1, size.members - (len(pods) - len(ours)))
    if len(ours) < wanted:
        raise Waits(
            "gang.members", f"{ref} starts together: {len(ours)} of {wanted} pods with GPUs are there"
        )
    members = tuple(ours[:wanted])
    return Gang(ref, size, members) if _among(pod, members) else None


def _member(pod: Pod, ref: GangRef, world: World) -> bool:
    try:
        return not pod.ended and not pod.meta.deleting and gang_of(pod, world) == ref
    except Refused:
        return False


def _age(pod: Pod) -> tuple[str, str]:
    return pod.meta.created, pod.meta.name


def _among(pod: Pod, members: Sequence[Pod]) -> bool:
    return any((member.meta.name, member.meta.uid) == (pod.meta.name, pod.meta.uid) for member in members)
