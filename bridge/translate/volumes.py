"""Persistent volumes: what they demand of the node, and which still wait for one.

Pure. Source: the scheduler's volume binding. A claim that is bound pins the pod to its volume's node
affinity; one of a class with WaitForFirstConsumer is bound after the grant (the granted node's name goes
into `SELECTED_NODE`); any other claim that isn't bound is waited for.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from bridge.translate.document import Doc
from bridge.translate.ending import Waits
from bridge.translate.meta import read_meta
from bridge.translate.pods import Pod
from bridge.translate.selectors import Requirement, Term, read_terms

SELECTED_NODE: Final = "volume.kubernetes.io/selected-node"


@dataclass(frozen=True, slots=True, kw_only=True)
class VolumeClaim:
    """A PersistentVolumeClaim."""

    namespace: str
    name: str
    storage_class: str = ""
    volume: str = ""
    """Name of the volume that it is bound to, "" while it isn't."""
    deleting: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class StorageClass:
    """A StorageClass."""

    name: str
    waits: bool = False
    """WaitForFirstConsumer."""
    terms: tuple[Term, ...] = ()
    """``allowedTopologies``."""


@dataclass(frozen=True, slots=True)
class VolumeBook:
    """All that is known of volumes; `affinity` is by volume name, absent where a volume has none."""

    claims: Mapping[tuple[str, str], VolumeClaim] = field(default_factory=dict)
    classes: Mapping[str, StorageClass] = field(default_factory=dict)
    affinity: Mapping[str, tuple[Term, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class VolumeNeeds:
    """What a pod's volumes ask: terms to satisfy, claims to bind after the grant."""

    terms: tuple[tuple[Term, ...], ...] = ()
    to_bind: tuple[str, ...] = ()


def read_volume_claim(document: Doc) -> VolumeClaim:
    """Read a PersistentVolumeClaim; bound is what its status says."""
    meta, spec = read_meta(document), document.child("spec")
    bound = document.child("status").text("phase") == "Bound"
    return VolumeClaim(
        namespace=meta.namespace,
        name=meta.name,
        storage_class=spec.text("storageClassName"),
        volume=spec.text("volumeName") if bound else "",
        deleting=meta.deleting,
    )


def read_storage_class(document: Doc) -> StorageClass:
    """Read a StorageClass."""
    return StorageClass(
        name=read_meta(document).name,
        waits=document.text("volumeBindingMode") == "WaitForFirstConsumer",
        terms=tuple(
            Term(
                tuple(
                    Requirement(part.text("key"), "In", part.texts("values"))
                    for part in topology.children("matchLabelExpressions")
                )
            )
            for topology in document.children("allowedTopologies")
        ),
    )


def read_volume_affinity(document: Doc) -> tuple[str, tuple[Term, ...] | None]:
    """Return a PersistentVolume's name and its required node affinity, None where it has none."""
    affinity = document.child("spec").child("nodeAffinity")
    terms = read_terms(affinity.child("required")) if affinity.has("required") else None
    return read_meta(document).name, terms


def volume_needs(pod: Pod, book: VolumeBook) -> VolumeNeeds:
    """Return what the pod's volumes ask.

    Raises
    ------
    Waits
        A claim isn't there, is being deleted, or isn't bound and doesn't wait for a pod.
    """
    terms: list[tuple[Term, ...]] = []
    to_bind: list[str] = []
    for name in (volume.claim for volume in pod.volumes if volume.claim):
        claim = book.claims.get((pod.meta.namespace, name))
        if claim is None or claim.deleting:
            raise Waits(
                "volume.missing", f"the pod waits for its PersistentVolumeClaim {name}, which doesn't exist"
            )
        storage_class = book.classes.get(claim.storage_class, StorageClass(name=claim.storage_class))
        if claim.volume:
            if claim.volume in book.affinity:
                terms.append(book.affinity[claim.volume])
        elif storage_class.waits:
            to_bind.append(name)
            if storage_class.terms:
                terms.append(storage_class.terms)
        else:
            raise Waits(
                "volume.unbound",
                f"the pod waits for its PersistentVolumeClaim {name} to be bound to a volume",
            )
    return VolumeNeeds(tuple(terms), tuple(to_bind))
