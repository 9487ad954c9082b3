"""What a pod asks of a node, by Kubernetes' own rules.

Pure. Source: k8s.io/component-helpers/resource PodRequests. Containers run together and add up; an init
container runs alone, beside the sidecars that were started before it; the peak counts, each resource for
itself. Pod-level requests replace the sum (CPU, memory and hugepages only); overhead is added last.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import Final

from bridge.translate.pods import Container, Pod, ResourceList, Resources

LIMIT_RANGER: Final = "kubernetes.io/limit-ranger"
"""Annotation in which the API server says what a LimitRange filled in."""


def _pod_level(name: str) -> bool:
    return name in ("cpu", "memory") or name.startswith("hugepages-")


def requests_of(resources: Resources) -> ResourceList:
    """Return requests with the server's default: what is limited and not requested is requested whole."""
    return {**resources.limits, **resources.requests}


def _add(into: dict[str, Fraction], more: ResourceList) -> None:
    for name, amount in more.items():
        into[name] = into.get(name, Fraction(0)) + amount


def _most(into: dict[str, Fraction], other: ResourceList) -> None:
    for name, amount in other.items():
        into[name] = max(into.get(name, Fraction(0)), amount)


def containers_request(pod: Pod) -> ResourceList:
    """Return the peak of the containers' requests over the pod's life; pod level and overhead left out."""
    together: dict[str, Fraction] = {}
    for container in pod.containers:
        _add(together, requests_of(container.resources))
    sidecars: dict[str, Fraction] = {}
    peak: dict[str, Fraction] = {}
    for container in pod.init_containers:
        asked = requests_of(container.resources)
        if container.sidecar:
            _add(together, asked)
            _add(sidecars, asked)
            _most(peak, sidecars)
        else:
            alone = dict(sidecars)
            _add(alone, asked)
            _most(peak, alone)
    _most(peak, together)
    return peak


def pod_level_request(pod: Pod) -> ResourceList:
    """Return the pod-level requests with the server's defaults.

    A pod-level limit without a request becomes the containers' sum where a container asks for that
    resource, else the limit itself (measured on 1.37.2).
    """
    if pod.pod_resources is None:
        return {}
    inside = containers_request(pod)
    asked = {name: amount for name, amount in pod.pod_resources.requests.items() if _pod_level(name)}
    for name, limit in pod.pod_resources.limits.items():
        if _pod_level(name) and name not in asked:
            asked[name] = inside.get(name, limit)
    return asked


def pod_request(pod: Pod) -> ResourceList:
    """Return all that the pod asks of its node, in base units (CPUs, bytes, pieces), unrounded."""
    total = {**containers_request(pod), **pod_level_request(pod)}
    _add(total, pod.overhead)
    return {name: amount for name, amount in total.items() if amount}


def memory_above_request(pod: Pod) -> tuple[str, Fraction, Fraction] | None:
    """Find a memory limit that isn't the request: (where, limit, request).

    Slurm gives the rest of the node's memory to others, so that bursting above the request is theirs.
    A limit that a LimitRange filled in isn't the user's: admission sets it to the request.
    """
    level = pod.pod_resources
    if level is not None and "memory" in level.limits:
        limit, request = level.limits["memory"], pod_level_request(pod)["memory"]
        return ("the pod", limit, request) if limit != request else None
    filled_in = _filled_in(pod.meta.annotations)
    for container in _with_limits(pod.init_containers + pod.containers):
        limit, request = (
            container.resources.limits["memory"],
            requests_of(container.resources)["memory"],
        )
        if limit != request and container.name not in filled_in:
            return (f"container {container.name}", limit, request)
    return None


def _filled_in(annotations: Mapping[str, str]) -> frozenset[str]:
    """Return which containers' memory limits the API server filled in.

    The annotation reads ``LimitRanger plugin set: cpu, memory limit for container x; ...``; of an init
    container it says ``init container``.
    """
    found = set()
    for part in annotations.get(LIMIT_RANGER, "").removeprefix("LimitRanger plugin set: ").split(";"):
        names, limited, where = part.strip().partition(" limit for ")
        container = where.removeprefix("init ").removeprefix("container ")
        if limited and "memory" in (name.strip() for name in names.split(",")):
            found.add(container)
    return frozenset(found)


def _with_limits(containers: Iterable[Container]) -> Iterable[Container]:
    return (container for container in containers if "memory" in container.resources.limits)
