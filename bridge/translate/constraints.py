"""Where a pod may run: what it demands of a node beside CPUs, memory and the number of GPUs.

Pure. What flows in: a pod, its volumes' node affinity, its GPU asks. What flows out: `NodeDemand`, a
predicate on nodes with a name of its own. Slurm can say neither "not", "greater than" nor "tolerates", and a
list of nodes in a job goes wrong when a node comes or goes: so the predicate's name is a node feature, which
the bridge keeps on exactly the nodes that satisfy it, and the job asks for that feature.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from bridge.translate import marks
from bridge.translate.gpus import GpuAsk, taken_on
from bridge.translate.inventory import Inventory
from bridge.translate.nodes import Node
from bridge.translate.pods import Pod, ResourceList
from bridge.translate.selectors import Term, any_holds
from bridge.translate.taints import Toleration, untolerated

FEATURE_PREFIX: Final = "sluice-"
POOL_TOLERATION: Final = Toleration(marks.POOL, "Exists", "", "")
_SLURM_COUNTS: Final = frozenset({"cpu", "memory"})
_CORDON: Final = Toleration("node.kubernetes.io/unschedulable", "Exists", "", "NoSchedule")
"""A cordoned node is drained in Slurm; the demand must not drop it as well, or a job would be judged anew."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeDemand:
    """A predicate on nodes; equal demands of different pods are one feature."""

    selector: tuple[tuple[str, str], ...] = ()
    terms: tuple[Term, ...] | None = None
    """Required node affinity; () matches nothing, None says nothing."""
    volume_terms: tuple[tuple[Term, ...], ...] = ()
    """Node affinity of bound volumes; one of each holds."""
    tolerations: tuple[Toleration, ...] = ()
    extras: tuple[tuple[str, Fraction], ...] = ()
    """Other countable resources, which Slurm doesn't count."""
    asks: tuple[GpuAsk, ...] = ()

    @property
    def feature(self) -> str:
        """Name of the node feature, the same for equal demands in every process."""
        return FEATURE_PREFIX + hashlib.blake2b(repr(self).encode(), digest_size=8).hexdigest()

    def objection(self, node: Node, inventory: Inventory) -> str | None:
        """Return why the node doesn't do, in a few words; None when it does."""
        labels = node.labels
        if any(labels.get(key) != value for key, value in self.selector):
            return "don't match its node selector"
        if self.terms is not None and not any_holds(self.terms, labels, node.name):
            return "don't match its node affinity"
        if not all(any_holds(terms, labels, node.name) for terms in self.volume_terms):
            return "can't reach its volumes"
        taint = untolerated(node.taints, (*self.tolerations, _CORDON))
        if taint is not None:
            return f"have the taint {taint}, which it doesn't tolerate"
        for name, amount in self.extras:
            if node.allocatable.get(name, Fraction(0)) < amount:
                return f"have too little {name}"
        taken = taken_on(node, self.asks, inventory)
        return _NO_WORDS[taken] if isinstance(taken, str) else None

    def admits(self, node: Node, inventory: Inventory) -> bool:
        """Whether the node does."""
        return self.objection(node, inventory) is None


_NO_WORDS: Final = {
    "none": "don't have the GPUs that it asks for",
    "few": "have too few of these GPUs",
    "partly": "have GPUs of which its selectors pick only some",
    "kinds": "would have to give GPUs of two kinds",
}


def demand_of(
    pod: Pod, request: ResourceList, asks: Iterable[GpuAsk], volume_terms: Iterable[tuple[Term, ...]]
) -> NodeDemand:
    """Gather a pod's demand; order and repetition of what it wrote don't change it."""
    held = tuple(asks)
    gpu_names = {ask.resource for ask in held}
    extras = {
        name: amount
        for name, amount in request.items()
        if name not in _SLURM_COUNTS and name not in gpu_names and amount > 0
    }
    terms = pod.required_terms
    return NodeDemand(
        selector=tuple(sorted(pod.node_selector.items())),
        terms=None if terms is None else tuple(sorted(set(terms))),
        volume_terms=tuple(sorted({tuple(sorted(set(terms))) for terms in volume_terms})),
        tolerations=tuple(sorted({*pod.tolerations, POOL_TOLERATION})),
        extras=tuple(sorted(extras.items())),
        asks=_without_words(held),
    )


def _without_words(asks: tuple[GpuAsk, ...]) -> tuple[GpuAsk, ...]:
    """Drop names of claims and of requests: two pods with claims of the same kind have one demand."""
    plain = []
    for ask in asks:
        ways = tuple(
            type(way)(
                name="",
                device_class=way.device_class,
                count=way.count,
                selectors=way.selectors,
                tolerations=way.tolerations,
            )
            for way in ask.ways
        )
        plain.append(GpuAsk("", ask.resource, ways, ask.count))
    return tuple(sorted(plain, key=repr))


def node_features(demands: Iterable[NodeDemand], inventory: Inventory) -> Mapping[str, frozenset[str]]:
    """Return, for each pool node by its name in Slurm, the features that it must carry."""
    wanted = {demand.feature: demand for demand in demands}
    return {
        node.slurm_name: frozenset(
            feature for feature, demand in wanted.items() if demand.admits(node, inventory)
        )
        for node in inventory.pool
    }
