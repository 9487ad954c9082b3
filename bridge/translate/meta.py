"""What every Kubernetes object has: names, labels, annotations, owners.

Pure. What flows in: the ``metadata`` of an object. What flows out: `Meta`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from bridge.translate.document import Doc


@dataclass(frozen=True, slots=True)
class OwnerRef:
    """One owner reference; anybody may write one, so the uid has to be looked up."""

    kind: str
    name: str
    uid: str
    controller: bool
    api_group: str = ""
    """Group of its apiVersion, "" for the core."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Meta:
    """The metadata that decisions are made from."""

    namespace: str
    name: str
    uid: str = ""
    created: str = ""
    """creationTimestamp as written (RFC 3339 in UTC sorts as text); "" before the object is stored."""
    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)
    owners: tuple[OwnerRef, ...] = ()
    deleting: bool = False

    @property
    def path(self) -> str:
        """``namespace/name``."""
        return f"{self.namespace}/{self.name}" if self.namespace else self.name

    @property
    def controller(self) -> OwnerRef | None:
        """The owner that is this object's controller; Kubernetes allows one."""
        return next((owner for owner in self.owners if owner.controller), None)


@dataclass(frozen=True, slots=True)
class Owner:
    """An object that may stand above a pod: a Job, a ReplicaSet, a JobSet, ..."""

    kind: str
    meta: Meta


def read_meta(document: Doc) -> Meta:
    """Read ``metadata`` of a whole object."""
    meta = document.child("metadata")
    return Meta(
        namespace=meta.text("namespace"),
        name=meta.text("name") or meta.text("generateName"),
        uid=meta.text("uid"),
        created=meta.text("creationTimestamp"),
        labels=meta.strings("labels"),
        annotations=meta.strings("annotations"),
        owners=tuple(_owner(owner) for owner in meta.children("ownerReferences")),
        deleting=meta.has("deletionTimestamp"),
    )


def _owner(document: Doc) -> OwnerRef:
    group, slash, _ = document.text("apiVersion").partition("/")
    return OwnerRef(
        kind=document.text("kind"),
        name=document.text("name"),
        uid=document.text("uid"),
        controller=document.flag("controller"),
        api_group=group if slash else "",
    )


def read_owner(document: Doc) -> Owner:
    """Read any object as a possible owner."""
    return Owner(document.text("kind"), read_meta(document))
