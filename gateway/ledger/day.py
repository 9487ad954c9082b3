"""Entries cut into UTC days, and days cut at other borders: what makes a month's report cheap.

Pure. Each entry adds to the cell of its payer in each UTC day that it touches, when it is written; a report
adds up cells. A border that is no UTC midnight (a declared zone, a time of day) cuts one day in pieces:
what was held when the day began, and the starts and ends within it, give each piece without looking at
every entry. All of it is exact: `gateway.ledger.balance.balance` is the definition, a property test
compares.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Self

from gateway.ledger.amounts import DAY_S, NO_USAGE, NOTHING_HELD, Rates, Usage, used
from gateway.ledger.balance import Entry


@dataclass(frozen=True, slots=True)
class Day:
    """A payer's cell of one UTC day; cells add up."""

    alive: int = 0
    """Runs that began before the day and went on in it."""
    held: Rates = NOTHING_HELD
    """What these held when the day began."""
    started: int = 0
    """Runs that began in the day."""
    usage: Usage = NO_USAGE
    """TRES-seconds in the day (its `runs` is unused)."""

    def __add__(self, other: Self) -> Self:
        return type(self)(
            self.alive + other.alive,
            self.held + other.held,
            self.started + other.started,
            self.usage + other.usage,
        )

    def __bool__(self) -> bool:
        return bool(self.alive or self.held or self.started or self.usage)


@dataclass(frozen=True, slots=True)
class Slice:
    """A payer's part of a span within one UTC day."""

    alive: int = 0
    """Runs that were going on when the span began."""
    started: int = 0
    usage: Usage = NO_USAGE


@dataclass(frozen=True, slots=True)
class Events:
    """Starts, or ends, of a payer's entries within a span; `moments` are relative to the span's begin.

    Starts are of [lo, hi), ends of (lo, hi]. Entries that end as they start are in `all_runs` alone.
    """

    all_runs: int = 0
    runs: int = 0
    rates: Rates = NOTHING_HELD
    moments: Rates = NOTHING_HELD
    """Sum of rate times (event - lo)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CutDay:
    """One payer's day, and what is needed to cut it."""

    day: Day
    following: Day
    """The next day's cell, for what was held when this day ended."""
    begin_s: int
    borders_s: tuple[int, ...]
    """Within the day, ascending, neither end included."""
    starts: Sequence[Events]
    ends: Sequence[Events]
    """Of each span that `spans_to_read` names."""
    released_cpu_s: Sequence[int]
    """Of each of those spans: CPU-seconds that suspended runs gave back."""


def cells(entry: Entry) -> Iterator[tuple[int, Day]]:
    """Yield what an entry adds to each day: days since 1970 and the cell's change."""
    first = entry.start_s // DAY_S
    last = max(first, (entry.end_s - 1) // DAY_S)
    for number in range(first, last + 1):
        begin_s = number * DAY_S
        goes_on = entry.start_s < begin_s
        usage = entry.usage(begin_s, begin_s + DAY_S)
        if goes_on:
            yield number, Day(entry.runs, entry.rates, 0, usage)
        else:
            yield number, Day(0, NOTHING_HELD, entry.runs, usage)


def spans_to_read(begin_s: int, borders_s: Sequence[int]) -> list[tuple[int, int]]:
    """Return the spans of a day whose starts and ends are needed; the rest of the day is the difference.

    One border past noon is cut from the day's end: at most half a day of events is read.
    """
    if len(borders_s) == 1 and borders_s[0] - begin_s > DAY_S // 2:
        return [(borders_s[0], begin_s + DAY_S)]
    return list(zip((begin_s, *borders_s[:-1]), borders_s, strict=True))


def whole(day: Day) -> Slice:
    """Return an uncut day."""
    return Slice(day.alive, day.started, day.usage)


def pieces(cut: CutDay) -> list[Slice]:
    """Return the day's pieces, one more than borders, in order; together they are the whole day."""
    spans = spans_to_read(cut.begin_s, cut.borders_s)
    if spans[0][0] == cut.begin_s:
        return _forward(cut, spans)
    return _backward(cut, spans[0])


def _forward(cut: CutDay, spans: Sequence[tuple[int, int]]) -> list[Slice]:
    alive, level = cut.day.alive, cut.day.held
    rest = whole(cut.day)
    found: list[Slice] = []
    for (lo_s, hi_s), starts, ends, cpu_s in zip(
        spans, cut.starts, cut.ends, cut.released_cpu_s, strict=True
    ):
        usage = (
            used(level + starts.rates + -ends.rates, hi_s - lo_s)
            + used(-starts.moments + ends.moments, 1)
            + Usage(cpu_s=-cpu_s)
        )
        found.append(Slice(alive, starts.all_runs, usage))
        rest = Slice(0, rest.started - starts.all_runs, rest.usage - usage)
        alive += starts.runs - ends.runs
        level += starts.rates + -ends.rates
    return [*found, replace(rest, alive=alive)]


def _backward(cut: CutDay, span: tuple[int, int]) -> list[Slice]:
    (starts,), (ends,), (cpu_s,) = cut.starts, cut.ends, cut.released_cpu_s
    lo_s, hi_s = span
    usage = (
        used(cut.following.held, hi_s - lo_s) + used(-starts.moments + ends.moments, 1) + Usage(cpu_s=-cpu_s)
    )
    alive = cut.following.alive + ends.runs - starts.runs
    first = Slice(cut.day.alive, cut.day.started - starts.all_runs, cut.day.usage - usage)
    return [first, Slice(alive, starts.all_runs, usage)]
