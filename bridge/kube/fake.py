"""An API server in memory, for tests: versions, generations, finalizers, conflicts, merge patches.

It answers as the real one does for what Sluice asks (`tests/contract/test_cluster.py` runs on both), and
keeps every call in `calls`. Admission, quotas and controllers are not there.
"""

from __future__ import annotations

import copy
import threading
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from itertools import count
from typing import Any

from bridge.errors import Conflict, NotFound, Outdated
from bridge.kube.kinds import Kind, Object

_Key = tuple[str, str, str]


class FakeCluster:
    """A `bridge.kube.port.Cluster`; thread-safe."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, str, str]] = []
        """Verb, plural, name of every call."""
        self._items: dict[_Key, dict[str, Any]] = {}
        self._versions = count(1)
        self._lock = threading.RLock()

    def list(self, kind: Kind, *, namespace: str = "", selector: str = "") -> Sequence[Object]:
        """See the port; `selector` is ``name=value`` or ``name``, joined by commas."""
        with self._lock:
            self._note("list", kind, "")
            return [
                copy.deepcopy(item)
                for (plural, space, _name), item in sorted(self._items.items())
                if plural == kind.plural and namespace in ("", space) and _selected(item, selector)
            ]

    def get(self, kind: Kind, name: str, *, namespace: str = "") -> Object | None:
        """See the port."""
        with self._lock:
            self._note("get", kind, name)
            return copy.deepcopy(self._items.get((kind.plural, namespace, name)))

    def create(self, kind: Kind, item: Object, *, namespace: str = "") -> Object:
        """See the port; status is left out, as where it is a subresource."""
        with self._lock:
            fresh = _plain(item)
            name = fresh["metadata"]["name"]
            self._note("create", kind, name)
            key = (kind.plural, namespace, name)
            if key in self._items:
                raise Conflict(f'{kind.plural} "{name}" already exists')
            fresh.pop("status", None)
            fresh["metadata"] |= {
                "uid": f"uid-{next(self._versions)}",
                "generation": 1,
                "creationTimestamp": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
            }
            if namespace:
                fresh["metadata"]["namespace"] = namespace
            return self._keep(key, fresh)

    def replace(self, kind: Kind, item: Object, *, namespace: str = "", subresource: str = "") -> Object:
        """See the port."""
        with self._lock:
            whole = _plain(item)
            name = whole["metadata"]["name"]
            self._note("update", kind, name, subresource)
            old = self._present(kind, namespace, name)
            given = whole["metadata"].get("resourceVersion")
            if given is not None and given != old["metadata"]["resourceVersion"]:
                raise Outdated(
                    "the object has been modified; please apply your changes to the latest version"
                )
            return self._change((kind.plural, namespace, name), old, whole, subresource)

    def patch(
        self, kind: Kind, name: str, change: Object, *, namespace: str = "", subresource: str = ""
    ) -> Object:
        """See the port."""
        with self._lock:
            self._note("patch", kind, name, subresource)
            old = self._present(kind, namespace, name)
            given = _plain(change).get("metadata", {}).get("resourceVersion")
            if given is not None and given != old["metadata"]["resourceVersion"]:
                raise Outdated(
                    "the object has been modified; please apply your changes to the latest version"
                )
            return self._change((kind.plural, namespace, name), old, _merge(old, _plain(change)), subresource)

    def delete(self, kind: Kind, name: str, *, namespace: str = "") -> bool:
        """See the port."""
        with self._lock:
            self._note("delete", kind, name)
            key = (kind.plural, namespace, name)
            item = self._items.get(key)
            if item is None:
                return False
            if item["metadata"].get("finalizers"):
                item["metadata"].setdefault("deletionTimestamp", "2026-11-30T12:00:00Z")
                self._keep(key, item)
            else:
                del self._items[key]
            return True

    def watch(self, kind: Kind, *, selector: str = "", seconds: int = 60) -> Iterator[Object]:
        """Yield nothing: as a watch that ended at once."""
        self._note("watch", kind, f"{selector}{seconds}")
        yield from ()

    def _note(self, verb: str, kind: Kind, name: str, subresource: str = "") -> None:
        self.calls.append((verb, kind.plural + (f"/{subresource}" if subresource else ""), name))

    def _present(self, kind: Kind, namespace: str, name: str) -> dict[str, Any]:
        try:
            return self._items[kind.plural, namespace, name]
        except KeyError:
            raise NotFound(f'{kind.plural} "{name}" not found') from None

    def _change(self, key: _Key, old: dict[str, Any], new: dict[str, Any], subresource: str) -> Object:
        fresh = copy.deepcopy(new)
        if subresource:
            fresh = {**copy.deepcopy(old), subresource: fresh.get(subresource)}
        elif "status" in old:
            fresh["status"] = copy.deepcopy(old["status"])
        meta = fresh["metadata"] = {**fresh["metadata"]}
        for name in ("uid", "creationTimestamp", "deletionTimestamp", "generation"):
            if name in old["metadata"]:
                meta[name] = old["metadata"][name]
        if fresh.get("spec") != old.get("spec"):
            meta["generation"] += 1
        if meta.get("deletionTimestamp") and not meta.get("finalizers"):
            del self._items[key]
            return fresh
        if fresh == old:
            return copy.deepcopy(old)
        return self._keep(key, fresh)

    def _keep(self, key: _Key, item: dict[str, Any]) -> Object:
        item["metadata"]["resourceVersion"] = str(next(self._versions))
        self._items[key] = item
        return copy.deepcopy(item)


def _plain(item: Object) -> dict[str, Any]:
    plain: dict[str, Any] = copy.deepcopy(dict(item))
    return plain


def _merge(old: Any, change: Any) -> Any:  # noqa: ANN401 - JSON
    if not isinstance(change, Mapping):
        return copy.deepcopy(change)
    merged = dict(old) if isinstance(old, Mapping) else {}
    for name, value in change.items():
        if value is None:
            merged.pop(name, None)
        else:
            merged[name] = _merge(merged.get(name), value)
    return merged


def _selected(item: Mapping[str, Any], selector: str) -> bool:
    labels = item["metadata"].get("labels") or {}
    for term in filter(None, selector.split(",")):
        name, equal, value = term.partition("=")
        if name not in labels or (equal and labels[name] != value):
            return False
    return True
