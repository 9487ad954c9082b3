"""The pool as tenants see it: flavors, what a whole node holds, what may go with one GPU.

Pure. What flows in: nodes and partitions as Slurm shows them, the site's settings. What flows out: `Pool`.
Rules across tenant documents are `bridge.policy.documents`'.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal

from bridge.policy.site import NO_SITE, SMALL_POOL, Share, Site
from bridge.slurm.port import NodeStatus, PartitionStatus

UNHEALTHY: Final = frozenset(
    {"DOWN", "DRAIN", "DRAINED", "DRAINING", "ERROR", "FAIL", "FAILING", "FUTURE", "MAINT", "UNKNOWN"}
    | {"NOT_RESPONDING", "NO_RESPOND", "POWERED_DOWN", "POWERING_DOWN"}
)
"""Node states and flags (slurm.h node_states) whose GPUs nobody can be promised."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Flavor:
    """A kind of GPU (or of CPU-only nodes): gres type and partition in Slurm, and how many there are.

    Numbers are GPUs; of a flavor of kind ``cpu``, CPUs. `gres_type` is empty there.
    """

    name: str
    kind: Literal["gpu", "cpu"] = "gpu"
    gres_type: str
    partition: str
    configured: int
    healthy: int
    assured: int
    """What is healthy still when the spare nodes fail, the largest first: so much can be guaranteed."""
    share: Share | None = None
    """With both numbers where they are known; None for kind ``cpu``."""


@dataclass(frozen=True, slots=True)
class Pool:
    """The flavors by name, and what the nodes of a partition are."""

    flavors: Mapping[str, Flavor] = field(default_factory=dict)
    node_gpus: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    """Partition to GPU type to the GPUs that each of its nodes has at least; CPUs under the name of a flavor
    of kind ``cpu``."""
    node_memory_mib: Mapping[str, int] = field(default_factory=dict)
    """Partition to the memory of its largest node."""
    node_names: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """Partition to its nodes."""


def pool_of(nodes: Iterable[NodeStatus], partitions: Iterable[PartitionStatus], site: Site = NO_SITE) -> Pool:
    """Find the flavors: each GPU type that a partition is named after, each partition without any GPU."""
    nodes, names = list(nodes), sorted({partition.name for partition in partitions})
    of = {name: [node for node in nodes if name in node.partitions] for name in names}
    types = {gres_type for node in nodes for gres_type, count in node.gpus.items() if count}
    flavors = {
        name: _gpu_flavor(name, [node for node in nodes if node.gpus.get(name)], site)
        for name in names
        if name in types
    }
    bare = {name for name in names if of[name] and not any(sum(node.gpus.values()) for node in of[name])}
    flavors |= {name: _cpu_flavor(name, of[name], site) for name in bare - types}
    return Pool(
        dict(sorted(flavors.items())),
        {name: _node_gpus(of[name]) or _node_cpus(name, of[name], bare) for name in names},
        {name: max(node.memory_mib for node in of[name]) for name in names if of[name]},
        {name: frozenset(node.name for node in of[name]) for name in names},
    )


def _gpu_flavor(name: str, nodes: Sequence[NodeStatus], site: Site) -> Flavor:
    counts = [node.gpus[name] for node in nodes if not node.state & UNHEALTHY]
    written = site.shares.get(name, Share())
    share = Share(
        cpus_per_gpu=written.cpus_per_gpu or _least(nodes, "cpus"),
        memory_mib_per_gpu=written.memory_mib_per_gpu or _least(nodes, "memory_mib"),
        without_gpus=written.without_gpus,
    )
    return Flavor(
        name=name,
        gres_type=name,
        partition=name,
        configured=sum(node.gpus[name] for node in nodes),
        healthy=sum(counts),
        assured=_assured(counts, site),
        share=share,
    )


def _cpu_flavor(name: str, nodes: Sequence[NodeStatus], site: Site) -> Flavor:
    counts = [node.cpus for node in nodes if not node.state & UNHEALTHY]
    return Flavor(
        name=name,
        kind="cpu",
        gres_type="",
        partition=name,
        configured=sum(node.cpus for node in nodes),
        healthy=sum(counts),
        assured=_assured(counts, site),
    )


def _assured(counts: Sequence[int], site: Site) -> int:
    spare = site.spare_nodes if site.spare_nodes is not None else int(len(counts) >= SMALL_POOL)
    return sum(sorted(counts, reverse=True)[spare:])


def _least(nodes: Sequence[NodeStatus], what: Literal["cpus", "memory_mib"]) -> int | None:
    """Return what each GPU has at least; None where the nodes don't say."""
    return min(getattr(node, what) // sum(node.gpus.values()) for node in nodes) or None


def _node_gpus(nodes: Sequence[NodeStatus]) -> Mapping[str, int]:
    types = sorted({gres_type for node in nodes for gres_type in node.gpus})
    least = {gres_type: min(node.gpus.get(gres_type, 0) for node in nodes) for gres_type in types}
    return {gres_type: count for gres_type, count in least.items() if count}


def _node_cpus(name: str, nodes: Sequence[NodeStatus], bare: set[str]) -> Mapping[str, int]:
    return {name: min(node.cpus for node in nodes)} if name in bare else {}
