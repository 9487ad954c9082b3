"""A model of both sides, small enough to try every interleaving: Slurm, the API server, kubelets, node
agents.

It does what was measured of the real ones, the unpleasant things too: an Epilog holds its whole node, a grant
and a pod's end are seen late, a forced delete hides a pod that still runs, a device in two claims is
accepted. `owners` is the truth that a test asserts on: who really uses a device.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from bridge.job import BaseState, JobState
from bridge.reconcile.view import Cause, DeviceKey, Evidence, JobView, NodeView, PodView, View

GPUS = 2


@dataclass
class Pod:
    """One pod object and what its kubelet does."""

    uid: str
    gang: str
    present: bool = True
    node: str = ""
    job_id: int | None = None
    claim: tuple[str, frozenset[DeviceKey]] | None = None
    once: tuple[str, frozenset[DeviceKey]] | None = None
    """The devices that were last written to its claim."""
    phase: str = "Pending"
    deleting: bool = False
    evicting: bool = False
    finalizer: bool = True
    closed_jobs: frozenset[int] = frozenset()
    version: int = 1
    exit_code: int | None = None
    causes: frozenset[Cause] = frozenset()
    using: frozenset[DeviceKey] = frozenset()
    """Devices that its containers have open."""


@dataclass
class Job:
    """One Slurm job; without a key it is somebody's sbatch job."""

    job_id: int
    key: str
    gpus: int
    base: BaseState = BaseState.PENDING
    completing: bool = False
    closed: bool = False
    preempting: bool = False
    cancelled_by: str = ""
    nodes: dict[str, tuple[int, ...]] = field(default_factory=dict)

    @property
    def live(self) -> bool:
        return self.base in (BaseState.PENDING, BaseState.RUNNING)

    @property
    def holds(self) -> bool:
        return self.base is BaseState.RUNNING or self.completing


class Cluster:
    """Both sides at once."""

    def __init__(
        self, nodes: tuple[str, ...] = ("n1", "n2"), *, prolog: bool = True, plugin: bool = False
    ) -> None:
        self.nodes = nodes
        self.prolog = prolog
        """Whether the Prolog asks the node agent; without it the plan alone has to be right."""
        self.plugin = plugin
        """Whether devices come from a device plugin: a bound pod starts with its old ones, claim or not."""
        self.happened: Counter[str] = Counter()
        self.pods: dict[str, Pod] = {}
        self.jobs: dict[int, Job] = {}
        self.drained: set[str] = set()
        self.ended: list[tuple[str, BaseState]] = []
        self._ids = itertools.count(1)

    def devices(self, node: str) -> tuple[DeviceKey, ...]:
        return tuple(("gpu.nvidia.com", node, f"gpu-{index}") for index in range(GPUS))

    # Slurm

    def submit(self, key: str, gpus: int) -> int:
        job_id = next(self._ids)
        self.jobs[job_id] = Job(job_id, key, gpus)
        return job_id

    def schedule(self, job: Job) -> bool:
        """Grant one pending job, as Slurm would, its Prolog included."""
        found: dict[str, tuple[int, ...]] = {}
        left = job.gpus
        for node in self.nodes:
            if node in self.drained or any(
                other.completing and node in other.nodes for other in self.jobs.values()
            ):
                continue
            taken = {
                index
                for other in self.jobs.values()
                if other.base is BaseState.RUNNING
                for index in other.nodes.get(node, ())
            }
            free = [index for index in range(GPUS) if index not in taken][:left]
            if free:
                found[node] = tuple(free)
                left -= len(free)
        if left or job.base is not BaseState.PENDING:
            return False
        # The Prolog of every job asks the node agent whether its GPUs are held.
        held = {key for pod in self.pods.values() for key in pod.using} if self.prolog else set()
        for node, indexes in found.items():
            if any(self.devices(node)[index] in held for index in indexes):
                self.drained.add(node)
                return False
        job.base, job.nodes = BaseState.RUNNING, found
        return True

    def end(self, job: Job, base: BaseState, by: str = "") -> None:
        """End a job; a running one stays COMPLETING until its Epilogs end."""
        if job.live:
            job.completing = job.base is BaseState.RUNNING
            job.base, job.cancelled_by = base, by
            self.ended.append((job.key, base))

    def epilog(self, job: Job) -> None:
        """Let an Epilog end where it may: an sbatch job's at once, a pod job's when the bridge closed it."""
        if job.completing and (not job.key or job.closed):
            job.completing = False

    # Kubernetes

    def bind(self, uid: str, node: str, job_id: int, version: int) -> bool:
        pod = self.pods.get(uid)
        if pod is None or not pod.present or pod.deleting or pod.node or pod.version != version:
            self.happened["late bind"] += 1
            return False
        pod.node, pod.job_id, pod.version = node, job_id, pod.version + 1
        return True

    def start(self, pod: Pod) -> None:
        """Let a kubelet start a bound pod: with the devices of its claim, if they are its node's."""
        if pod.node and pod.phase == "Pending" and not pod.deleting and pod.present:
            claim = pod.once if self.plugin else pod.claim
            if claim is None or claim[0] != pod.node:
                return  # hangs in ContainerCreating
            pod.phase, pod.using = "Running", claim[1]
            self.happened["started"] += 1

    def finish(self, pod: Pod, code: int) -> None:
        """Let the containers end by themselves, or after they were asked to."""
        if pod.node and pod.phase in ("Pending", "Running"):
            if pod.phase == "Pending" and not (pod.deleting or pod.evicting):
                return
            pod.using = frozenset()
            pod.exit_code, pod.phase = code, "Succeeded" if code == 0 else "Failed"
            pod.version += 1
            self._collect(pod)

    def delete(self, pod: Pod, cause: Cause | None = Cause.CANCELLED) -> None:
        if pod.present and not pod.deleting:
            pod.deleting = True
            pod.version += 1
            if cause and pod.phase in ("Pending", "Running"):
                pod.causes |= {cause}
            self._collect(pod)

    def force_away(self, pod: Pod) -> None:
        """Remove the object by force, our finalizer too, though its containers run."""
        pod.present, pod.finalizer = False, False
        if not pod.using:
            pod.phase = "Failed"

    def let_go(self, pod: Pod) -> None:
        pod.finalizer = False
        self._collect(pod)

    def _collect(self, pod: Pod) -> None:
        over = pod.phase in ("Succeeded", "Failed") or not pod.node
        if pod.deleting and not pod.finalizer and over:
            pod.present = False

    # What is seen and what is true

    def owners(self) -> Iterator[tuple[DeviceKey, str]]:
        """Yield who uses each device: containers of pods, and sbatch jobs."""
        for pod in self.pods.values():
            for key in pod.using:
                yield key, f"pod {pod.uid}"
        for job in self.jobs.values():
            if not job.key and job.base is BaseState.RUNNING:
                for node, indexes in job.nodes.items():
                    for index in indexes:
                        yield self.devices(node)[index], f"job {job.job_id}"

    def members(self, key: str) -> list[Pod]:
        return [pod for pod in self.pods.values() if pod.gang == key]

    def pod_views(self, key: str) -> tuple[PodView, ...]:
        return tuple(
            PodView(
                uid=pod.uid,
                name=pod.uid,
                present=pod.present,
                node=pod.node,
                job_id=pod.job_id,
                claim=pod.claim[1] if pod.claim and pod.present else None,
                phase=pod.phase,
                deleting=pod.deleting,
                evicting=pod.evicting,
                causes=pod.causes,
                exit_code=pod.exit_code,
                finalizer=pod.finalizer,
                closed_jobs=pod.closed_jobs,
                resource_version=str(pod.version),
                evidence=Evidence.HELD if pod.using else Evidence.FREE if pod.node else Evidence.UNKNOWN,
            )
            for pod in self.members(key)
        )

    def job_views(self, key: str) -> tuple[JobView, ...]:
        return tuple(
            JobView(
                job_id=job.job_id,
                state=JobState(job.base, frozenset({"COMPLETING"} if job.completing else ())),
                closed=job.closed,
                preempting=job.preempting,
                nodes=dict(job.nodes) if job.base is BaseState.RUNNING else {},
                cancelled_by=job.cancelled_by,
            )
            for job in self.jobs.values()
            if job.key == key
        )

    def held(self) -> dict[DeviceKey, str]:
        return {
            key: pod.uid
            for pod in self.pods.values()
            if pod.claim and pod.present and pod.phase in ("Pending", "Running")
            for key in pod.claim[1]
        }

    def view(self, key: str, pods: tuple[PodView, ...], jobs: tuple[JobView, ...]) -> View:
        """Return a view of parts that may have been seen at different times."""
        return View(
            key=key,
            pods=pods,
            jobs=jobs,
            nodes={name: NodeView(name=name, drained=name in self.drained) for name in self.nodes},
            devices={name: self.devices(name) for name in self.nodes},
            held=self.held(),
        )
