"""How many pods a gang has, read from the object that asks for it.

Pure. What flows in: PodGroups (scheduler-plugins, and the core's where the API keeps it), Jobs, JobSets,
LeaderWorkerSets, Kubeflow jobs. What flows out: `GroupSize`. The size comes from here, never from the pods
that have been seen so far.
"""

from __future__ import annotations

from dataclasses import dataclass

from bridge.translate import marks
from bridge.translate.document import Doc
from bridge.translate.meta import Meta, read_meta
from bridge.translate.pods import Pod, read_pod
from bridge.translate.resources import pod_request


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupSize:
    """A gang as its object describes it."""

    kind: str
    meta: Meta
    members: int
    """Pods of all kinds that start together."""
    gpu_members: int | None = None
    """Those with devices, where the templates tell; None: the others are counted as they are seen."""
    deadline_s: int | None = None
    """The object's own activeDeadlineSeconds (a Job's, gang or not)."""
    opted: bool = True
    """Whether it asks for a gang; a plain Job is read for its deadline alone."""
    exclusive_hosts: bool = False
    """Whether each of its Jobs wants a node of its own."""


def _asks_devices(template: Doc) -> bool:
    pod: Pod = read_pod(template)
    return bool(pod.claims) or any("/" in name and amount for name, amount in pod_request(pod).items())


def read_pod_group(document: Doc) -> GroupSize:
    """Read a PodGroup of scheduler-plugins (``minMember``) or of the core (``schedulingPolicy.gang``)."""
    spec = document.child("spec")
    core = spec.child("schedulingPolicy").child("gang").number("minCount")
    return GroupSize(
        kind="PodGroup",
        meta=read_meta(document),
        members=max(1, spec.number("minMember") or core or 1),
    )


def _count(value: int | None, default: int = 1) -> int:
    return default if value is None else value


def _job_width(spec: Doc) -> int:
    """Return how many pods of a Job run at once."""
    parallelism = _count(spec.number("parallelism"))
    completions = spec.number("completions")
    return parallelism if completions is None else min(parallelism, completions)


def read_job(document: Doc) -> GroupSize:
    """Read a Job: a gang by our annotation, or by its own ``scheduling`` where the API keeps that."""
    meta, spec = read_meta(document), document.child("spec")
    wanted = spec.child("scheduling").child("schedulingPolicy").child("gang").number("minCount")
    width = _job_width(spec)
    members = min(wanted, width) if wanted else width
    return GroupSize(
        kind="Job",
        meta=meta,
        members=max(1, members),
        gpu_members=max(1, members) if _asks_devices(spec.child("template")) else 0,
        deadline_s=spec.number("activeDeadlineSeconds"),
        opted=wanted is not None or _opts(meta),
    )


def _opts(meta: Meta) -> bool:
    return meta.annotations.get(marks.GANG, "false").lower() not in ("false", "no", "0", "")


def read_job_set(document: Doc) -> GroupSize:
    """Read a JobSet: a gang by our annotation or by exclusive placement, all its Jobs together.

    Jobs that start in order or depend on each other can't start together: such a JobSet is no gang.
    """
    meta, spec = read_meta(document), document.child("spec")
    total = gpus = 0
    ordered = spec.child("startupPolicy").text("startupPolicyOrder") == "InOrder"
    for job in spec.children("replicatedJobs"):
        job_spec = job.child("template").child("spec")
        pods = _count(job.number("replicas")) * _job_width(job_spec)
        total += pods
        gpus += pods if _asks_devices(job_spec.child("template")) else 0
        ordered = ordered or bool(job.children("dependsOn"))
    exclusive = meta.annotations.get(marks.EXCLUSIVE_JOBSET, "")
    return GroupSize(
        kind="JobSet",
        meta=meta,
        members=total,
        gpu_members=gpus,
        opted=not ordered and (bool(exclusive) or _opts(meta)),
        exclusive_hosts=exclusive == "kubernetes.io/hostname",
    )


def read_leader_worker_set(document: Doc) -> GroupSize:
    """Read a LeaderWorkerSet; the size is one group's."""
    spec = document.child("spec").child("leaderWorkerTemplate")
    size = _count(spec.number("size"))
    worker = _asks_devices(spec.child("workerTemplate"))
    leader = _asks_devices(spec.child("leaderTemplate")) if spec.has("leaderTemplate") else worker
    return GroupSize(
        kind="LeaderWorkerSet",
        meta=read_meta(document),
        members=size,
        gpu_members=int(leader) + int(worker) * (size - 1),
    )


def read_kubeflow(document: Doc) -> GroupSize:
    """Read a Kubeflow job (PyTorchJob, MPIJob, ...): all replicas that ask for devices."""
    spec = document.child("spec")
    total = gpus = 0
    for field in spec.names():
        if not field.endswith("ReplicaSpecs"):
            continue
        for role in spec.child(field).names():
            replica = spec.child(field).child(role)
            pods = _count(replica.number("replicas"))
            total += pods
            gpus += pods if _asks_devices(replica.child("template")) else 0
    return GroupSize(
        kind=document.text("kind"),
        meta=read_meta(document),
        members=total,
        gpu_members=gpus,
        deadline_s=spec.child("runPolicy").number("activeDeadlineSeconds"),
    )


READERS = {
    "PodGroup": read_pod_group,
    "Job": read_job,
    "JobSet": read_job_set,
    "LeaderWorkerSet": read_leader_worker_set,
    **dict.fromkeys(marks.KUBEFLOW_KINDS, read_kubeflow),
}
"""Kind to its reader."""
