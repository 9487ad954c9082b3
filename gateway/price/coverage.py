"""Which part of a tenant's GPU-seconds its guarantee covers, second by second.

Pure. At each moment the guarantee covers as many of the GPUs in use as it has, the most important class
first, whoever uses them; the rest is on demand. Summed over time this is exact, in whole GPU-seconds.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from bridge.wellknown import CLASSES

OTHER: Final = ""
"""The class of a QOS of the site's own; covered last."""

_ORDER: Final[Mapping[str, int]] = {name: rank for rank, name in enumerate((*CLASSES, OTHER))}


@dataclass(frozen=True, slots=True)
class Held:
    """GPUs that a class held in [start_s, end_s); negative for what a correction takes back."""

    start_s: int
    end_s: int
    job_class: str
    gpus: int


@dataclass(frozen=True, slots=True)
class Step:
    """From `since_s` on the guarantee is `gpus`."""

    since_s: int
    gpus: int


def covered(
    held: Iterable[Held], guarantee: Iterable[Step], *, borders_s: Sequence[int]
) -> dict[tuple[int, str], int]:
    """Return covered GPU-seconds by span and class.

    Parameters
    ----------
    held
        What one tenant held of one flavor, in any order.
    guarantee
        In any order; before the first step it is 0.
    borders_s
        Ascending; span n is [borders_s[n], borders_s[n + 1]). Outside of them nothing is counted.

    Returns
    -------
    dict
        (span, class) to GPU-seconds, without zeros.
    """
    first_s, last_s = borders_s[0], borders_s[-1]
    levels = [0] * len(_ORDER)
    sums: dict[tuple[int, str], int] = {}
    span, limit, now_s = 0, 0, first_s
    for moment_s, rank, change in _events(held, guarantee, first_s, last_s):
        while now_s < moment_s:
            until_s = min(moment_s, borders_s[span + 1])
            _add(sums, span, levels, limit, until_s - now_s)
            now_s = until_s
            if now_s == borders_s[span + 1] and span + 2 < len(borders_s):
                span += 1
        if rank is None:
            limit = change
        else:
            levels[rank] += change
    return {key: value for key, value in sums.items() if value}


def _events(
    held: Iterable[Held], guarantee: Iterable[Step], first_s: int, last_s: int
) -> list[tuple[int, int | None, int]]:
    """Return moment, rank of the class (None: the guarantee itself) and change, in order of time."""
    found: list[tuple[int, int | None, int]] = []
    for each in held:
        start_s, end_s = max(each.start_s, first_s), min(each.end_s, last_s)
        if start_s < end_s:
            rank = _ORDER.get(each.job_class, _ORDER[OTHER])
            found += [(start_s, rank, each.gpus), (end_s, rank, -each.gpus)]
    # Of two steps in one second the later in `guarantee`'s order of time wins: sorting is stable.
    found += [(max(step.since_s, first_s), None, step.gpus) for step in sorted(guarantee, key=_since)]
    found.append((last_s, None, 0))
    found.sort(key=lambda event: event[0])
    return [event for event in found if event[0] <= last_s]


def _since(step: Step) -> int:
    return step.since_s


def _add(
    sums: dict[tuple[int, str], int], span: int, levels: Sequence[int], limit: int, seconds: int
) -> None:
    left = limit
    for name, rank in _ORDER.items():
        taken = max(0, min(levels[rank], left))
        if taken:
            sums[span, name] = sums.get((span, name), 0) + taken * seconds
            left -= taken
