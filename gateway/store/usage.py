"""Reading the ledger for a report: day sums, events around borders, runs without end; one snapshot.

Sums are taken by SQL, already by the columns that the report has: of `Payer`'s fields only those are
filled.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final

import sqlalchemy as sa
from sqlmodel import Session

from gateway.ledger.amounts import DAY_S, Payer, Rates, Usage
from gateway.ledger.day import CutDay, Day, Events, Slice, pieces, spans_to_read
from gateway.ledger.report import Cells, CutDays, Plan, Query, Report, plan_of, report_of
from gateway.ledger.running import Running
from gateway.store import cursors, running
from gateway.store.entries import read_entries
from gateway.store.tables import DAYS, ENTRIES, PAYERS

_FIELDS: Final = {
    "tenant": "tenant",
    "user": "user",
    "class": "job_class",
    "flavor": "flavor",
    "door": "door",
}
"""The report's column to the payer's field."""
_NONE: Final = Events()
_RATES: Final = tuple(ENTRIES.c[name] for name in ("gpus", "cpus", "memory_mib", "nodes", "billing"))
_CELL: Final = tuple(
    DAYS.c[name]
    for name in (
        *("alive", "held_gpus", "held_cpus", "held_memory_mib", "held_nodes", "held_billing", "started"),
        *("gpu_s", "cpu_s", "memory_mib_s", "node_s", "billing_s"),
    )
)


@dataclass(frozen=True, slots=True)
class Reading:
    """What a report is added up from."""

    cells: Cells
    cut_days: CutDays
    running: Sequence[Running]
    as_of: datetime | None
    """How far accounting of every cluster has been read whole."""


def report(session: Session, query: Query) -> Report:
    """Return a report as of one moment.

    Raises
    ------
    InputError
        The period has too many days.
    """
    plan = plan_of(query)
    reading = read(session, query, plan)
    return report_of(
        query,
        plan,
        cells=reading.cells,
        cut_days=reading.cut_days,
        running=reading.running,
        as_of=reading.as_of,
    )


def read(session: Session, query: Query, plan: Plan) -> Reading:
    """Read what a query needs, as of one moment."""
    if session.get_bind().dialect.name == "postgresql":
        session.connection(execution_options={"isolation_level": "REPEATABLE READ"})
    source = _Source(session, query)
    cells = source.cells(plan.first_day, plan.last_day + 1)
    positions = cursors.positions(session, cursors.ACCOUNTING)
    return Reading(
        cells=cells,
        cut_days={day: _cut(source, day, borders_s, cells) for day, borders_s in plan.cuts.items()},
        running=running.of_tenants(session, query.tenants),
        as_of=min(positions.values(), default=None),
    )


def _cut(source: _Source, day: int, borders_s: tuple[int, ...], cells: Cells) -> dict[Payer, list[Slice]]:
    begin_s = day * DAY_S
    spans = spans_to_read(begin_s, borders_s)
    starts = [source.starts(lo_s, hi_s) for lo_s, hi_s in spans]
    ends = [source.ends(lo_s, hi_s) for lo_s, hi_s in spans]
    released = [source.released(lo_s, hi_s) for lo_s, hi_s in spans]
    following = cells.get(day + 1, {})
    return {
        payer: pieces(
            CutDay(
                day=cell,
                following=following.get(payer, Day()),
                begin_s=begin_s,
                borders_s=borders_s,
                starts=[span.get(payer, _NONE) for span in starts],
                ends=[span.get(payer, _NONE) for span in ends],
                released_cpu_s=[span.get(payer, 0) for span in released],
            )
        )
        for payer, cell in cells.get(day, {}).items()
    }


class _Source:
    """Sums by the columns of one query."""

    def __init__(self, session: Session, query: Query) -> None:
        self._session = session
        self._tenants = query.tenants
        self._kept = {_FIELDS[name] for name in query.by if name in _FIELDS}
        self._group = [PAYERS.c[name] for name in _FIELDS.values() if name in self._kept]
        self._payer = [
            PAYERS.c[name] if name in self._kept else sa.literal_column("''") for name in _FIELDS.values()
        ]

    def cells(self, first_day: int, last_day: int) -> dict[int, dict[Payer, Day]]:
        """Return the cells of the days, both included."""
        statement = (
            sa.select(DAYS.c.day, *self._payer, *map(sa.func.sum, _CELL))
            .join(PAYERS, PAYERS.c.id == DAYS.c.payer_id)
            .where(DAYS.c.day.between(first_day, last_day), *self._visible())
            .group_by(DAYS.c.day, *self._group)
        )
        found: dict[int, dict[Payer, Day]] = {}
        for row in self._session.execute(statement):
            alive, *held, started, gpu_s, cpu_s, memory_mib_s, node_s, billing_s = map(int, row[6:])
            usage = Usage(0, gpu_s, cpu_s, memory_mib_s, node_s, billing_s)
            cell = Day(alive, Rates(*held), started, usage)
            found.setdefault(row[0], {})[Payer(*row[1:6])] = cell
        return found

    def starts(self, lo_s: int, hi_s: int) -> dict[Payer, Events]:
        """Return the starts in [lo_s, hi_s)."""
        moment = ENTRIES.c.start_s
        return self._events(moment, sa.and_(moment >= lo_s, moment < hi_s), lo_s)

    def ends(self, lo_s: int, hi_s: int) -> dict[Payer, Events]:
        """Return the ends in (lo_s, hi_s]."""
        moment = ENTRIES.c.end_s
        return self._events(moment, sa.and_(moment > lo_s, moment <= hi_s), lo_s)

    def released(self, lo_s: int, hi_s: int) -> dict[Payer, int]:
        """Return the CPU-seconds that suspended runs gave back within a span (few runs, or none)."""
        # The first condition is the partial index's own, word for word, so that it is used.
        suspended = ENTRIES.c.suspended_s > sa.literal_column("0")
        touching = (suspended, ENTRIES.c.end_s > lo_s, ENTRIES.c.start_s < hi_s)
        found: dict[Payer, int] = {}
        for entry in read_entries(self._session, *touching, *self._visible()):
            payer = replace(entry.payer, **{name: "" for name in _FIELDS.values() if name not in self._kept})
            found[payer] = found.get(payer, 0) + entry.released_cpu_s(lo_s, hi_s)
        return found

    def _events(
        self, moment: sa.ColumnElement[int], inside: sa.ColumnElement[bool], lo_s: int
    ) -> dict[Payer, Events]:
        lasts = ENTRIES.c.end_s > ENTRIES.c.start_s
        sums = (*_RATES, *(rate * (moment - lo_s) for rate in _RATES))
        found: dict[Payer, Events] = {}
        for payer, (runs, *whole) in self._sums([inside, lasts], [ENTRIES.c.runs, *sums]):
            found[payer] = Events(runs, runs, Rates(*whole[:5]), Rates(*whole[5:]))
        for payer, (runs,) in self._sums([inside, sa.not_(lasts)], [ENTRIES.c.runs]):
            known = found.get(payer, _NONE)
            found[payer] = replace(known, all_runs=known.all_runs + runs)
        return found

    def _sums(
        self, conditions: Sequence[sa.ColumnElement[bool]], values: Sequence[sa.ColumnElement[int]]
    ) -> Iterator[tuple[Payer, list[int]]]:
        """Sum entries by payer number first, which is cheap, then by the query's columns."""
        inner = (
            sa.select(
                ENTRIES.c.payer_id, *(sa.func.sum(value).label(f"v{n}") for n, value in enumerate(values))
            )
            .where(*conditions)
            .group_by(ENTRIES.c.payer_id)
            .subquery()
        )
        outer = (
            sa.select(*self._payer, *(sa.func.sum(inner.c[f"v{n}"]) for n in range(len(values))))
            .join(PAYERS, PAYERS.c.id == inner.c.payer_id)
            .where(*self._visible())
            .group_by(*self._group)
        )
        for row in self._session.execute(outer):
            if row[5] is not None:  # without columns to group by, no entries make one row of NULLs
                yield Payer(*row[:5]), [int(value) for value in row[5:]]  # PostgreSQL sums to numeric

    def _visible(self) -> list[Any]:
        return [] if self._tenants is None else [PAYERS.c.tenant.in_(sorted(self._tenants))]
