"""Divides a flavor's GPUs among tenants: guarantees first, the rest by weight and faded use.

Pure. What flows in: the tree of tenants with guarantees, limits, weights and what they want now. What flows
out: a whole number of GPUs for each. Arithmetic is on whole numbers, so that nothing depends on the order of
tenants or the size of weights.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

_ROUNDS: Final = 50
"""Rounds of handing on what gangs can't use; each takes at least one tenant out."""
_FINE: Final = 2**20
"""Steps of a tilted weight."""


@dataclass(frozen=True)
class Share:
    """What a tenant may have and wants, of one flavor. All numbers are GPUs, `weight` and `factor` apart."""

    name: str
    guarantee: int = 0
    """Its own and, at least, what those below it are guaranteed."""
    limit: int = 0
    weight: int = 1
    factor: float = 1.0
    """Tilt for faded use (`decay.use_factor`)."""
    lendable: bool = True
    """Whether a guarantee that isn't wanted now is lent."""
    gangs: tuple[int, ...] = ()
    """Sizes of what it runs and wants, in order of submission; each is all or nothing."""
    children: tuple[Share, ...] = ()

    @cached_property
    def demand(self) -> int:
        """What it and those below it want, and may have."""
        return min(self.limit, sum(self.gangs) + sum(child.demand for child in self.children))

    @cached_property
    def floor(self) -> int:
        """What it gets before anybody gets more."""
        own = max(self.guarantee, sum(child.guarantee for child in self.children))
        wanted = min(own, self.demand)
        kept = own if not self.lendable else sum(child.floor for child in self.children)
        return min(self.limit, max(wanted, kept))

    @cached_property
    def ceiling(self) -> int:
        """The most that it gets."""
        return max(self.demand, self.floor)


def divide(capacity: int, shares: Sequence[Share]) -> Mapping[str, int]:
    """Return each tenant's GPUs, parents with what those below them have.

    Parameters
    ----------
    capacity
        Healthy GPUs of the flavor that tenants may have in all.

    Returns
    -------
    Mapping
        Name to GPUs; the roots' sum is at most `capacity`, nobody is above its limit.
    """
    targets: dict[str, int] = {}
    _level(capacity, shares, targets)
    return targets


def _level(capacity: int, shares: Sequence[Share], targets: dict[str, int]) -> None:
    amounts = whole_gangs(capacity, shares)
    for share in shares:
        targets[share.name] = amounts[share.name]
        if share.children:
            own = Share("", limit=share.limit, weight=share.weight, gangs=share.gangs)
            _level_below(amounts[share.name], own, share.children, targets)


def _level_below(capacity: int, own: Share, children: Sequence[Share], targets: dict[str, int]) -> None:
    """Divide a parent's GPUs among those below it and its own jobs."""
    inner: dict[str, int] = {}
    _level(capacity, (*children, own), inner)
    inner.pop("")
    targets.update(inner)


def whole_gangs(capacity: int, shares: Sequence[Share]) -> dict[str, int]:
    """Divide among siblings; what a tenant couldn't use, its next gang being larger, goes to the others.

    A tenant never loses what it is guaranteed to a gang's size.
    """
    caps = {share.name: share.ceiling for share in shares}
    amounts = _round(capacity, shares, caps)
    for _ in range(_ROUNDS):
        wasted = False
        for share in shares:
            amount = amounts[share.name]
            trimmed = max(usable(share, amount), min(share.floor, amount))
            if trimmed < amount:
                caps[share.name], wasted = trimmed, True
        if not wasted:
            return _complete(capacity - sum(amounts.values()), shares, amounts)
        amounts = _round(capacity, shares, caps)
    return {
        share.name: max(usable(share, amounts[share.name]), min(share.floor, amounts[share.name]))
        for share in shares
    }


def usable(share: Share, amount: int) -> int:
    """Return how much of an amount whole gangs can use, in order of submission."""
    if share.children:
        return amount
    used = 0
    for gang in share.gangs:
        if used + gang > amount:
            break
        used += gang
    return used


def _next_gang(share: Share, amount: int) -> int:
    """Return what is missing to the next gang of a tenant, 0 when there is none."""
    used = 0
    for gang in share.gangs:
        if used + gang > amount:
            missing = used + gang - amount
            return missing if amount + missing <= share.ceiling else 0
        used += gang
    return 0


def _complete(left: int, shares: Sequence[Share], amounts: dict[str, int]) -> dict[str, int]:
    """Give what is left to gangs that it completes, the tenants with least for their weight first."""
    if not left:
        return amounts
    order = sorted(shares, key=lambda share: (amounts[share.name] / _pull(share), share.name))
    for share in order:
        missing = _next_gang(share, amounts[share.name])
        while 0 < missing <= left:
            amounts[share.name] += missing
            left -= missing
            missing = _next_gang(share, amounts[share.name])
    return amounts


def _pull(share: Share) -> int:
    """Return a tenant's weight with its tilt, as a whole number."""
    return max(1, round(share.weight * share.factor * _FINE))


def _round(capacity: int, shares: Sequence[Share], caps: Mapping[str, int]) -> dict[str, int]:
    """Give the floors, then fill by weight."""
    floors = {share.name: min(share.floor, caps[share.name]) for share in shares}
    promised = sum(floors.values())
    if promised > capacity:
        # Nodes are lost: guarantees shrink alike.
        return fill(capacity, floors, floors)
    room = {name: caps[name] - floor for name, floor in floors.items()}
    more = fill(capacity - promised, room, {share.name: _pull(share) for share in shares})
    return {name: floors[name] + more[name] for name in floors}


def fill(amount: int, room: Mapping[str, int], weights: Mapping[str, int]) -> dict[str, int]:
    """Pour whole GPUs into vessels by weight until they are out or all vessels are full (max-min fair).

    The level is exact; the parts of GPUs go to the largest remainders, names breaking ties.
    """
    filled = dict.fromkeys(room, 0)
    vessels = sorted(
        (name for name in room if room[name] > 0 and weights[name] > 0),
        key=lambda name: (room[name] / weights[name], name),
    )
    total = sum(weights[name] for name in vessels)
    for index, name in enumerate(vessels):
        if amount * weights[name] < room[name] * total:
            _pour(amount, vessels[index:], room, weights, filled)
            break
        filled[name] = room[name]
        amount -= room[name]
        total -= weights[name]
    return filled


def _pour(
    amount: int,
    names: Sequence[str],
    room: Mapping[str, int],
    weights: Mapping[str, int],
    filled: dict[str, int],
) -> None:
    total = sum(weights[name] for name in names)
    parts = {name: divmod(amount * weights[name], total) for name in names}
    for name, (whole, _) in parts.items():
        filled[name] = whole
    left = amount - sum(whole for whole, _ in parts.values())
    for name in sorted(names, key=lambda name: (-parts[name][1], name)):
        if left and filled[name] < room[name]:
            filled[name] += 1
            left -= 1
