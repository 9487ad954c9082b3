"""What the API server does to manifests before a scheduler sees them, as far as the pod door looks.

Measured on v1.37.2: defaults of LimitRanges with their annotation, overhead and placement of RuntimeClasses,
fields that are dropped while their feature gates are off, and our own admission's stamp.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable
from typing import Any

from bridge.translate import marks

Manifest = dict[str, Any]
DROPPED = {"Pod": (("spec", "schedulingGroup"),), "Job": (("spec", "scheduling"),)}
LIMIT_RANGER = "kubernetes.io/limit-ranger"


class ApiServer:
    """Stores objects as they would be read back."""

    def __init__(self, fixtures: Iterable[Manifest]) -> None:
        self._by_kind: dict[str, list[Manifest]] = {}
        self._clock = 0
        for fixture in fixtures:
            self._by_kind.setdefault(fixture["kind"], []).append(fixture)

    def of(self, kind: str) -> list[Manifest]:
        """Return all objects of a kind."""
        return self._by_kind.get(kind, [])

    @property
    def objects(self) -> list[Manifest]:
        """All objects."""
        return [item for items in self._by_kind.values() for item in items]

    def create(self, manifest: Manifest, *, requester: str) -> Manifest:
        """Store an object: named, timed, stamped and filled in."""
        item = copy.deepcopy(manifest)
        meta = item["metadata"] = dict(item.get("metadata") or {})
        self._clock += 1
        meta.setdefault("uid", f"{item.get('kind')}-{meta.get('namespace', '')}-{meta.get('name')}".lower())
        meta.setdefault(
            "creationTimestamp", f"2026-01-01T00:{self._clock // 60 % 60:02}:{self._clock % 60:02}Z"
        )
        meta.setdefault("annotations", {})[marks.STAMP] = requester
        for path, field in DROPPED.get(item.get("kind", ""), ()):
            item.get(path, {}).pop(field, None)
        if item.get("kind") == "Pod":
            self._fill_in(item)
        self._by_kind.setdefault(item.get("kind", ""), []).append(item)
        return item

    def _fill_in(self, pod: Manifest) -> None:
        spec = pod["spec"]
        for limits in self.of("LimitRange"):
            if limits["metadata"]["namespace"] == pod["metadata"].get("namespace"):
                _limit_range(pod, limits)
        for runtime in self.of("RuntimeClass"):
            if runtime["metadata"]["name"] == spec.get("runtimeClassName"):
                if "overhead" in runtime:
                    spec["overhead"] = dict(runtime["overhead"]["podFixed"])
                scheduling = runtime.get("scheduling", {})
                spec["nodeSelector"] = {**spec.get("nodeSelector", {}), **scheduling.get("nodeSelector", {})}
                spec["tolerations"] = [*spec.get("tolerations", []), *scheduling.get("tolerations", [])]
        for priority in self.of("PriorityClass"):
            if priority.get("globalDefault") and not spec.get("priorityClassName"):
                spec["priorityClassName"] = priority["metadata"]["name"]


def _limit_range(pod: Manifest, limits: Manifest) -> None:
    said = []
    for limit in limits["spec"]["limits"]:
        if limit.get("type") != "Container":
            continue
        kinds = (("initContainers", "init container"), ("containers", "container"))
        for kind, container in ((word, each) for key, word in kinds for each in pod["spec"].get(key, [])):
            resources = container.setdefault("resources", {})
            asked = resources.get("requests") or {}
            most = resources.get("limits") or {}
            requests = {**most, **asked}
            for field, held, defaults in (
                ("request", requests, limit.get("defaultRequest") or limit.get("default") or {}),
                ("limit", dict(most), limit.get("default") or {}),
            ):
                missing = sorted(set(defaults) - set(held))
                if missing:
                    said.append(f"{', '.join(missing)} {field} for {kind} {container['name']}")
                resources[f"{field}s"] = {**defaults, **held}
    if said:
        pod["metadata"].setdefault("annotations", {})[LIMIT_RANGER] = "LimitRanger plugin set: " + "; ".join(
            said
        )
