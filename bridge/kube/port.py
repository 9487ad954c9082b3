"""What Sluice asks of an API server.

A protocol: `bridge.kube.client` speaks to a real one, `bridge.kube.fake` keeps objects in memory; one
contract suite runs on both. Every call may raise `Unavailable` (no answer, overload) and `Denied` (403).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

from bridge.kube.kinds import Kind, Object


class Cluster(Protocol):
    """Objects of one cluster. Names of parameters are the API's."""

    def list(self, kind: Kind, *, namespace: str = "", selector: str = "") -> Sequence[Object]:
        """Return all objects of a kind, of one namespace or of all; `selector` is a label selector."""
        ...

    def get(self, kind: Kind, name: str, *, namespace: str = "") -> Object | None:
        """Return one object, None when it isn't there."""
        ...

    def create(self, kind: Kind, item: Object, *, namespace: str = "") -> Object:
        """Create; raises `Conflict` when it is there already."""
        ...

    def replace(self, kind: Kind, item: Object, *, namespace: str = "", subresource: str = "") -> Object:
        """Replace; raises `Outdated` when metadata.resourceVersion isn't the present one, `NotFound`."""
        ...

    def patch(
        self, kind: Kind, name: str, change: Object, *, namespace: str = "", subresource: str = ""
    ) -> Object:
        """Change by a JSON merge patch (RFC 7396); raises `NotFound`, `Outdated`."""
        ...

    def delete(self, kind: Kind, name: str, *, namespace: str = "") -> bool:
        """Delete; False when it wasn't there. An object with finalizers stays until they are gone."""
        ...

    def watch(self, kind: Kind, *, selector: str = "", seconds: int = 60) -> Iterator[Object]:
        """Yield the objects that change from now on; ends after `seconds`, or at any gap."""
        ...
