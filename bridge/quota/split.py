"""Splits a tenant's GPUs between Slurm and Kubernetes, and Kubernetes' part between namespaces.

Pure. What runs keeps its place; then whole gangs, in order of submission, each on the plane where it waits.
GPUs of a plane are its own nodes' (mode ``split``); in mode ``bridge`` Slurm grants all, and namespaces show
the tenant's ceiling.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal

Plane = Literal["slurm", "kubernetes"]
PLANES: Final[tuple[Plane, ...]] = ("slurm", "kubernetes")


@dataclass(frozen=True, slots=True, order=True)
class Gang:
    """What waits or runs together: `place` is the namespace on Kubernetes, "" on Slurm."""

    order: int
    """Place in the order of submission over both planes."""
    plane: Plane
    gpus: int
    place: str = ""
    running: bool = False


@dataclass(frozen=True, slots=True)
class Targets:
    """GPUs of a tenant by plane, and by namespace; the namespaces' sum is the Kubernetes part."""

    planes: Mapping[Plane, int] = field(default_factory=dict)
    namespaces: Mapping[str, int] = field(default_factory=dict)


def split(
    target: int, gangs: Sequence[Gang], namespaces: Sequence[str], room: Mapping[Plane, int]
) -> Targets:
    """Return how a tenant's target lies on the planes.

    Parameters
    ----------
    room
        GPUs of each plane that this tenant may fill at most (what the plane has, less what others keep).

    Returns
    -------
    Targets
        The planes' sum is at most `target`; running gangs come first, then waiting ones in order. What is
        left is kept where the tenant's next gang waits, as far as the plane has room, so that it isn't moved
        back and forth.
    """
    given: dict[Plane, int] = dict.fromkeys(PLANES, 0)
    places: dict[str, int] = dict.fromkeys(sorted(namespaces), 0)
    left = target
    blocked: set[Plane] = set()
    next_gang: Gang | None = None
    for gang in sorted(gangs, key=lambda gang: (not gang.running, gang.order)):
        free = min(left, room.get(gang.plane, 0) - given[gang.plane])
        if gang.plane in blocked or gang.gpus > free:
            # Order is kept within a plane: a small gang doesn't overtake a large one that waits for room.
            blocked.add(gang.plane)
            next_gang = next_gang or gang
            continue
        given[gang.plane] += gang.gpus
        left -= gang.gpus
        if gang.plane == "kubernetes" and gang.place in places:
            places[gang.place] += gang.gpus
    if next_gang is not None and left:
        kept = max(0, min(left, room.get(next_gang.plane, 0) - given[next_gang.plane]))
        given[next_gang.plane] += kept
        if next_gang.plane == "kubernetes" and next_gang.place in places:
            places[next_gang.place] += kept
    return Targets(given, places)


def shown(target: int, namespaces: Sequence[str]) -> Targets:
    """Return the targets of mode ``bridge``: Slurm's limit is the tenant's, each namespace shows it whole."""
    return Targets({"slurm": target, "kubernetes": target}, dict.fromkeys(sorted(namespaces), target))
