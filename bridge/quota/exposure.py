"""Moves limits without ever promising a GPU twice: shrink first, grow by confirmed slack alone.

Pure. A limit's *exposure* is the most that can be in use under it, whatever happens to writes under way: the
largest of its confirmed value, every value written and not confirmed, and what is used. The invariant: the
exposures' sum is at most the capacity. Each write carries a token (epoch of the leader, number of the
write); whoever stores limits refuses a write with a lower token than it has seen, and a read returns value
and token. So a write is confirmed, and all before it void, by a read that shows its token in force.

A new leader has confirmed nothing. It writes what it sees once more, with its own epoch, and grows nothing
until all of these are confirmed: what the former leader had under way was within capacity by the same rule.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

Token = tuple[int, int]
"""Epoch of the leader, number of the write in it."""


@dataclass(frozen=True, slots=True)
class Write:
    """Set a limit, unless a later token was seen."""

    limit: str
    value: int
    token: Token


@dataclass(frozen=True, slots=True)
class Limit:
    """What one leader knows of a limit. GPUs."""

    seen: int = 0
    """Value in force by the last read."""
    token: Token = (0, 0)
    """The write that made it."""
    fenced: bool = False
    """Whether a token of this epoch is in force: no write of an earlier leader can arrive any more."""
    sent: Mapping[Token, int] = field(default_factory=dict)
    """Writes whose end isn't known."""
    used: int = 0
    begun: int = 0
    """When the last read was begun, on the leader's own count."""

    @property
    def exposure(self) -> int:
        """The most that can be in use under the limit."""
        return max(self.seen, self.used, *self.sent.values(), 0)


@dataclass(frozen=True, slots=True)
class Escrow:
    """One leader's book of a flavor's limits."""

    epoch: int
    limits: Mapping[str, Limit] = field(default_factory=dict)
    written: int = 0
    """Writes of this epoch so far."""

    @property
    def exposure(self) -> int:
        """Sum of the limits' exposures."""
        return sum(limit.exposure for limit in self.limits.values())

    def read(self, name: str, *, value: int, token: Token, used: int, begun: int) -> Escrow:
        """Take a live read: value in force, the token of the write that made it, and the use then or later.

        `begun` counts reads in the order in which they were begun; one that was overtaken is left out.
        """
        limit = self.limits.get(name, Limit())
        if begun < limit.begun or token < limit.token:
            return self
        known = Limit(
            seen=value,
            token=token,
            fenced=limit.fenced or token[0] == self.epoch,
            sent={mark: amount for mark, amount in limit.sent.items() if mark > token},
            used=used,
            begun=begun,
        )
        return replace(self, limits={**self.limits, name: known})

    def plan(self, targets: Mapping[str, int], capacity: int, order: Sequence[str] = ()) -> tuple[Write, ...]:
        """Return the writes that are safe now; a limit with one under way gets no other.

        Parameters
        ----------
        targets
            Limit to GPUs; a limit that isn't named is to be 0.
        capacity
            Healthy GPUs less what others use.
        order
            Who grows first (tenants below their guarantee); the others follow by name.
        """
        writes: list[Write] = []
        for name, limit in sorted(self.limits.items()):
            target = targets.get(name, 0)
            if not limit.sent and (not limit.fenced or target < limit.seen):
                writes.append(self._write(name, min(limit.seen, target), writes))
        if all(limit.fenced for limit in self.limits.values()):
            writes += self._grow(targets, capacity, order, writes)
        return tuple(writes)

    def _grow(
        self, targets: Mapping[str, int], capacity: int, order: Sequence[str], before: Sequence[Write]
    ) -> list[Write]:
        slack = capacity - self.exposure
        writes: list[Write] = []
        touched = {write.limit for write in before}
        names = [*order, *sorted(set(targets) - set(order))]
        for name in names:
            limit = self.limits.get(name)
            if limit is None or limit.sent or name in touched:
                continue
            wanted = targets.get(name, 0) - limit.seen
            # What is used above the limit is exposure already; growing up to it costs nothing.
            more = min(wanted, slack + limit.exposure - limit.seen)
            if wanted > 0 and more > 0:
                write = self._write(name, limit.seen + more, [*before, *writes])
                slack -= max(0, write.value - limit.exposure)
                writes.append(write)
        return writes

    def _write(self, name: str, value: int, before: Sequence[Write]) -> Write:
        return Write(name, value, (self.epoch, self.written + len(before) + 1))

    def sending(self, write: Write) -> Escrow:
        """Note a write before it is sent: from now on it counts, whatever becomes of it."""
        limit = self.limits[write.limit]
        noted = replace(limit, sent={**limit.sent, write.token: write.value})
        return replace(
            self, limits={**self.limits, write.limit: noted}, written=max(self.written, write.token[1])
        )

    def again(self, name: str) -> Write | None:
        """Return a write to be sent anew when no answer has come: the same value, a later token."""
        limit = self.limits[name]
        if not limit.sent:
            return None
        return Write(name, limit.sent[max(limit.sent)], (self.epoch, self.written + 1))
