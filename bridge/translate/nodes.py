"""Kubernetes nodes as the pool sees them.

Pure. What flows in: Node objects. What flows out: `Node`. Slurm's name of a node may differ from its
name in Kubernetes: the label `marks.SLURM_NODE` says so.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from bridge.translate import marks
from bridge.translate.document import Doc
from bridge.translate.meta import read_meta
from bridge.translate.pods import ResourceList
from bridge.translate.taints import Taint, read_taint


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """One node; amounts in base units."""

    name: str
    labels: Mapping[str, str] = field(default_factory=dict)
    taints: tuple[Taint, ...] = ()
    allocatable: ResourceList = field(default_factory=dict)
    cordoned: bool = False

    @property
    def pooled(self) -> bool:
        """Whether the node is of the pool."""
        return marks.POOL in self.labels

    @property
    def flavor(self) -> str:
        """The kind of its GPUs, "" outside the pool."""
        return self.labels.get(marks.FLAVOR, "") if self.pooled else ""

    @property
    def slurm_name(self) -> str:
        """The node's name in Slurm."""
        return self.labels.get(marks.SLURM_NODE) or self.name


def read_node(document: Doc) -> Node:
    """Read a Node."""
    meta, spec, status = read_meta(document), document.child("spec"), document.child("status")
    return Node(
        name=meta.name,
        labels=meta.labels,
        taints=tuple(read_taint(part) for part in spec.children("taints")),
        allocatable=status.quantities("allocatable"),
        cordoned=spec.flag("unschedulable"),
    )
