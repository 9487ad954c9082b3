"""A report of billed usage: what is read, how it is cut, how it is added up.

Pure. `plan_of` says which days, borders and buckets a query needs; `report_of` adds up what was read.
Rows are in the order of their columns, so that the same ledger gives the same report byte for byte.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Literal, TypeVar, get_args

from bridge.errors import InputError
from gateway.ledger.amounts import DAY_S, NO_USAGE, Payer, Usage
from gateway.ledger.balance import Entry
from gateway.ledger.day import Day, Slice, whole
from gateway.ledger.period import Bucket, Period, buckets
from gateway.ledger.running import Running

Dimension = Literal["tenant", "user", "class", "flavor", "door", "day", "month"]
DIMENSIONS: Final[tuple[Dimension, ...]] = get_args(Dimension)
Named = TypeVar("Named", bound=str)


@dataclass(frozen=True, slots=True)
class Query:
    """What is asked; `tenants` None means all of them."""

    period: Period
    by: tuple[Dimension, ...]
    tenants: frozenset[str] | None = None


@dataclass(frozen=True, slots=True)
class Plan:
    """Which UTC days a report reads and where they are cut."""

    buckets: tuple[Bucket, ...]
    first_day: int
    last_day: int
    """Days since 1970, both included."""
    cuts: Mapping[int, tuple[int, ...]]
    """Borders inside a day, ascending, of the days that have any."""


@dataclass(frozen=True, slots=True)
class Part:
    """A payer's part of one bucket. `alive` runs began before the bucket, so that buckets add up."""

    usage: Usage = NO_USAGE
    alive: int = 0

    def __add__(self, other: Part) -> Part:
        return Part(self.usage + other.usage, self.alive + other.alive)

    @property
    def total(self) -> Usage:
        """The usage, with all runs that touch the bucket."""
        return self.usage + Usage(runs=self.alive)


@dataclass(frozen=True, slots=True)
class Row:
    """One line: a value for each of the query's columns."""

    keys: tuple[str, ...]
    usage: Usage


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """Billed usage of a period."""

    query: Query
    rows: tuple[Row, ...]
    total: Usage
    """Each run once, also where several rows show it."""
    as_of: datetime | None
    """How far accounting has been read whole; None before the first time."""
    provisional: Usage
    """The part of the total that belongs to runs without end and will still grow."""
    runaways: tuple[Running, ...]


def by_of(text: str) -> tuple[Dimension, ...]:
    """Read the ``by`` of a query: names separated by commas, each once.

    Raises
    ------
    InputError
        An unknown or a doubled name.
    """
    return named_columns(text, DIMENSIONS, of="report")


def named_columns(text: str, known: Sequence[Named], *, of: str) -> tuple[Named, ...]:
    """Read columns of a report, separated by commas; `of` says which report, for the complaint.

    Raises
    ------
    InputError
        An unknown or a doubled name.
    """
    names = [name.strip() for name in text.split(",") if name.strip()]
    found = tuple(column for name in names for column in known if column == name)
    if len(found) != len(names):
        unknown = sorted(set(names) - set(known))
        raise InputError(
            f"by={unknown[0]} is no column of the {of}; choose from {', '.join(known)}", parameter="by"
        )
    if len(set(found)) != len(found):
        raise InputError(f"by={text} names a column twice; name each once", parameter="by")
    return found


def plan_of(query: Query) -> Plan:
    """Say what a query reads."""
    period = query.period
    if "day" in query.by:
        spans = buckets(period, "day")
    elif "month" in query.by:
        spans = buckets(period, "month")
    else:
        spans = [Bucket("", period.start_s, period.end_s)]
    cuts: dict[int, set[int]] = {}
    for border_s in {span.start_s for span in spans} | {period.end_s}:
        if border_s % DAY_S:
            cuts.setdefault(border_s // DAY_S, set()).add(border_s)
    return Plan(
        buckets=tuple(spans),
        first_day=period.start_s // DAY_S,
        last_day=(period.end_s - 1) // DAY_S,
        cuts={day: tuple(sorted(borders)) for day, borders in sorted(cuts.items())},
    )


Cells = Mapping[int, Mapping[Payer, Day]]
"""Day to payer to cell, of the plan's days."""
CutDays = Mapping[int, Mapping[Payer, Sequence[Slice]]]
"""Day to payer to the pieces of that day, of the plan's cut days."""


def report_of(
    query: Query,
    plan: Plan,
    *,
    cells: Cells,
    cut_days: CutDays,
    running: Sequence[Running],
    as_of: datetime | None,
) -> Report:
    """Add up a report."""
    as_of_s = int(as_of.timestamp()) if as_of else 0
    open_entries = [entry for run in running for entry in run.entries()]
    rows: dict[tuple[str, ...], Part] = {}
    total = Part()
    provisional = Part()
    for number, bucket in enumerate(plan.buckets):
        written = _written(plan, bucket, cells, cut_days)
        going_on = _going_on(open_entries, bucket)
        for payer, part in [*written.items(), *going_on]:
            keys = _keys(query.by, payer, bucket)
            rows[keys] = rows.get(keys, Part()) + part
            # A run that goes on from an earlier bucket was counted there.
            total += part if number == 0 else Part(part.usage)
        for _payer, part in going_on:
            provisional += part if number == 0 else Part(part.usage)
    return Report(
        query=query,
        rows=tuple(Row(keys, part.total) for keys, part in sorted(rows.items()) if part.total),
        total=total.total,
        as_of=as_of,
        provisional=provisional.total,
        runaways=tuple(
            run for run in running if run.is_runaway(as_of_s) and run.charge.start_s < query.period.end_s
        ),
    )


def _written(plan: Plan, bucket: Bucket, cells: Cells, cut_days: CutDays) -> dict[Payer, Part]:
    """Add up the slices of one bucket."""
    parts: dict[Payer, Part] = {}
    for day in range(bucket.start_s // DAY_S, (bucket.end_s - 1) // DAY_S + 1):
        for payer, piece, begin_s in _slices(plan, day, bucket, cells, cut_days):
            alive = piece.alive if begin_s == bucket.start_s else 0
            part = Part(piece.usage + Usage(runs=piece.started), alive)
            parts[payer] = parts[payer] + part if payer in parts else part
    return parts


def _slices(
    plan: Plan, day: int, bucket: Bucket, cells: Cells, cut_days: CutDays
) -> Iterable[tuple[Payer, Slice, int]]:
    """Yield payer, slice and the slice's begin of those slices of a day that lie in the bucket."""
    begin_s = day * DAY_S
    borders_s = plan.cuts.get(day)
    if borders_s is None:
        for payer, cell in cells.get(day, {}).items():
            yield payer, whole(cell), begin_s
        return
    for payer, pieces in cut_days.get(day, {}).items():
        for lo_s, piece in zip((begin_s, *borders_s), pieces, strict=True):
            if bucket.start_s <= lo_s < bucket.end_s:
                yield payer, piece, lo_s


def _going_on(entries: Iterable[Entry], bucket: Bucket) -> list[tuple[Payer, Part]]:
    found = []
    for entry in entries:
        usage = entry.within(bucket.start_s, bucket.end_s)
        if not usage:
            continue
        alive = entry.runs if entry.start_s < bucket.start_s else 0
        found.append((entry.payer, Part(usage - Usage(runs=alive), alive)))
    return found


def _keys(by: Sequence[Dimension], payer: Payer, bucket: Bucket) -> tuple[str, ...]:
    values: dict[Dimension, str] = {
        "tenant": payer.tenant,
        "user": payer.user,
        "class": payer.job_class,
        "flavor": payer.flavor,
        "door": payer.door,
        "day": bucket.label,
        "month": bucket.label[: len("2026-11")],
    }
    return tuple(values[dimension] for dimension in by)
