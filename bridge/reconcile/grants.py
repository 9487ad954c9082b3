"""Turns a grant of Slurm into devices for each pod, and checks it against every live claim first.

Pure. Nothing but this guards against one device in two claims: the API server accepts it. So a grant that
touches a device of another pod is never written, whatever Slurm says.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from bridge.reconcile.view import DeviceKey, PodView

FaultKind = Literal["unknown", "taken", "size"]


@dataclass(frozen=True, slots=True)
class Assignment:
    """A pod's node and devices."""

    pod_uid: str
    node: str
    devices: tuple[DeviceKey, ...]


@dataclass(frozen=True, slots=True)
class GrantFault:
    """Why a grant can't be used, and the node that is at fault.

    unknown: an index has no device. taken: a live claim of another pod has it. size: it doesn't divide
    among the pods.
    """

    kind: FaultKind
    node: str
    words: str


def assign(
    grant: Mapping[str, Sequence[int]],
    *,
    pods: Sequence[PodView],
    gpus_per_pod: int,
    devices: Mapping[str, Sequence[DeviceKey]],
    held: Mapping[DeviceKey, str],
) -> tuple[Assignment, ...] | GrantFault:
    """Divide a grant among a placement's pods.

    A pod that has its claim already keeps it, so that a plan made again after a crash says the same.

    Returns
    -------
    tuple or GrantFault
        One assignment a pod, in the pods' order by uid.
    """
    granted = _devices(grant, devices, {pod.uid for pod in pods}, held)
    if isinstance(granted, GrantFault):
        return granted
    free = {node: list(keys) for node, keys in granted.items()}
    found: dict[str, Assignment] = {}
    for pod in pods:
        if pod.claim is None:
            continue
        node = next((name for name, keys in granted.items() if pod.claim <= set(keys)), "")
        if not node or len(pod.claim) != gpus_per_pod or (pod.node and pod.node != node):
            return GrantFault(
                "size", pod.node or node, f"pod {pod.name} has devices that the grant doesn't have"
            )
        free[node] = [key for key in free[node] if key not in pod.claim]
        found[pod.uid] = Assignment(pod.uid, node, tuple(sorted(pod.claim)))
    places = [(node, gpus_per_pod) for node in sorted(free) for _ in range(len(free[node]) // gpus_per_pod)]
    waiting = sorted((pod for pod in pods if pod.uid not in found), key=lambda pod: pod.uid)
    if len(places) < len(waiting) or any(len(keys) % gpus_per_pod for keys in free.values()):
        return GrantFault(
            "size", min(grant, default=""), f"the grant doesn't divide into {len(pods)} x {gpus_per_pod} GPUs"
        )
    for pod, (node, count) in zip(waiting, places, strict=False):
        found[pod.uid] = Assignment(pod.uid, node, tuple(free[node][:count]))
        free[node] = free[node][count:]
    return tuple(found[pod.uid] for pod in sorted(pods, key=lambda pod: pod.uid))


def _devices(
    grant: Mapping[str, Sequence[int]],
    devices: Mapping[str, Sequence[DeviceKey]],
    ours: set[str],
    held: Mapping[DeviceKey, str],
) -> Mapping[str, tuple[DeviceKey, ...]] | GrantFault:
    """Return the granted devices by node, each index in order."""
    found: dict[str, tuple[DeviceKey, ...]] = {}
    for node, indexes in sorted(grant.items()):
        table = devices.get(node, ())
        if any(not 0 <= index < len(table) for index in indexes) or len(set(indexes)) < len(indexes):
            return GrantFault(
                "unknown", node, f"GPU indexes {list(indexes)} of node {node} have no known devices"
            )
        keys = tuple(table[index] for index in sorted(indexes))
        for key in keys:
            if held.get(key, "") not in ("", *ours):
                return GrantFault(
                    "taken", node, f"device {key[2]} of node {node} is still in the claim of pod {held[key]}"
                )
        found[node] = keys
    return found
