"""The pool of a local cluster: nodes, their GPUs, the partitions over them.

Pure. What doesn't belong here: how Slurm's files spell it (`bridge.cluster.slurmconf`), what tenants may
use of it (`bridge.policy`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from enum import Enum
from typing import Final


class Confinement(Enum):
    """What keeps a job to its grant on the nodes."""

    CGROUP_V2 = "cgroup/v2"
    """Slurm's cgroup plugins; a job can open no GPU but its own."""

    NONE = "none"
    """The fallback of cgroup v1 hosts: a job is told its GPUs, and could open others."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """One GPU node; what it says it has, which a small host only simulates.

    `gpus` is the number of GPUs by flavor; device files are numbered in this order.
    """

    name: str
    sockets: int = 2
    cores_per_socket: int = 16
    memory_mib: int = 64 * 1024
    gpus: Mapping[str, int]

    @property
    def cpus(self) -> int:
        """CPUs: one thread a core."""
        return self.sockets * self.cores_per_socket

    @property
    def gpu_count(self) -> int:
        """GPUs of all flavors."""
        return sum(self.gpus.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class Billing:
    """Weights of Slurm's `billing` TRES.

    Slurm cuts a job's sum to an integer, so the weights are large enough that one CPU shows. Only typed
    GPUs have one: gres/gpu counts the same GPUs again.
    """

    cpu: float = 10
    memory_gib: float = 2
    gpus: Mapping[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """Ages and time-outs of slurmctld; short enough to watch, long enough for a busy laptop."""

    kill_wait: timedelta = timedelta(seconds=10)
    """From SIGTERM to SIGKILL when a job is ended."""

    min_job_age: timedelta = timedelta(seconds=300)
    """How long slurmctld shows a job that has ended."""

    slurmd_timeout: timedelta = timedelta(seconds=300)
    """A node that is silent for so long is DOWN and its jobs are requeued."""

    priority_calc: timedelta = timedelta(minutes=1)
    """Between two decays of usage; Slurm counts in whole minutes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pool:
    """All that slurm.conf says about machines. Each flavor is a partition over all nodes that have it."""

    cluster: str
    nodes: tuple[Node, ...]
    billing: Billing
    timing: Timing = Timing()
    default_time: timedelta = timedelta(hours=1)
    """Time limit of a job that names none."""

    @property
    def flavors(self) -> tuple[str, ...]:
        """Flavors in the order in which the nodes name them; the first is the default partition."""
        return tuple(dict.fromkeys(flavor for node in self.nodes for flavor in node.gpus))

    def nodes_with(self, flavor: str) -> tuple[Node, ...]:
        """Return the nodes that have GPUs of a flavor."""
        return tuple(node for node in self.nodes if node.gpus.get(flavor))


LOCAL_GPUS: Final = {"h100": 4, "a100": 4}

LOCAL_POOL: Final = Pool(
    cluster="sluice",
    nodes=(Node(name="gpu1", gpus=LOCAL_GPUS), Node(name="gpu2", gpus=LOCAL_GPUS)),
    billing=Billing(gpus={"h100": 400, "a100": 200}),
)
"""What `sluice up` makes: two nodes with both flavors, so that a two-node job fits in one flavor."""
