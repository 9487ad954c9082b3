"""Reading the ledger for a report: day sums, events around borders, runs without end; one snapshot."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import sqlalchemy as sa
from sqlmodel import Session

from gateway.ledger.amounts import DAY_S, Payer, Rates, Usage
from gateway.ledger.balance import Entry
from gateway.ledger.day import CutDay, Day, Events, Slice, pieces, spans_to_read
from gateway.ledger.report import Cells, CutDays, Plan
from gateway.ledger.running import Running
from gateway.store import cursors, running
from gateway.store.entries import read_entries
from gateway.store.tables import DAYS, ENTRIES, PAYERS

Tenants = frozenset[str] | None
"""Whose usage; None means all."""

_NONE = Events()
_RATES = (ENTRIES.c.gpus, ENTRIES.c.cpus, ENTRIES.c.memory_mib, ENTRIES.c.nodes, ENTRIES.c.billing)
_CELL = (
    *(DAYS.c.alive, DAYS.c.held_gpus, DAYS.c.held_cpus, DAYS.c.held_memory_mib, DAYS.c.held_nodes),
    *(DAYS.c.held_billing, DAYS.c.started),
    *(DAYS.c.gpu_s, DAYS.c.cpu_s, DAYS.c.memory_mib_s, DAYS.c.node_s, DAYS.c.billing_s),
)


@dataclass(frozen=True, slots=True)
class Reading:
    """What a report is added up from."""

    cells: Cells
    cut_days: CutDays
    running: Sequence[Running]
    as_of: datetime | None
    """How far accounting of every cluster has been read whole."""


def read(session: Session, plan: Plan, tenants: Tenants) -> Reading:
    """Read what a plan needs, as of one moment."""
    if session.get_bind().dialect.name == "postgresql":
        session.connection(execution_options={"isolation_level": "REPEATABLE READ"})
    payers = _payers(session, tenants)
    cells = _cells(session, plan, payers, tenants)
    positions = cursors.positions(session, cursors.ACCOUNTING)
    return Reading(
        cells=cells,
        cut_days={day: _cut(session, day, borders, cells, payers) for day, borders in plan.cuts.items()},
        running=running.of_tenants(session, tenants),
        as_of=min(positions.values(), default=None),
    )


def _payers(session: Session, tenants: Tenants) -> dict[int, Payer]:
    statement = sa.select(
        *(PAYERS.c.id, PAYERS.c.tenant, PAYERS.c.user, PAYERS.c.job_class),
        *(PAYERS.c.flavor, PAYERS.c.door),
    )
    if tenants is not None:
        statement = statement.where(PAYERS.c.tenant.in_(sorted(tenants)))
    return {number: Payer(*payer) for number, *payer in session.execute(statement)}


def _cells(
    session: Session, plan: Plan, payers: dict[int, Payer], tenants: Tenants
) -> dict[int, dict[Payer, Day]]:
    # One day more: what was held when the last day ended is in the following day's cell.
    statement = sa.select(DAYS.c.day, DAYS.c.payer_id, *_CELL).where(
        DAYS.c.day.between(plan.first_day, plan.last_day + 1)
    )
    if tenants is not None:
        statement = statement.where(DAYS.c.payer_id.in_(sorted(payers)))
    found: dict[int, dict[Payer, Day]] = {}
    for day, payer_id, alive, gpus, cpus, memory_mib, nodes, billing, started, *used in session.execute(
        statement
    ):
        cell = Day(alive, Rates(gpus, cpus, memory_mib, nodes, billing), started, Usage(0, *used))
        found.setdefault(day, {})[payers[payer_id]] = cell
    return found


def _cut(
    session: Session, day: int, borders_s: tuple[int, ...], cells: Cells, payers: dict[int, Payer]
) -> dict[Payer, Sequence[Slice]]:
    begin_s = day * DAY_S
    spans = spans_to_read(begin_s, borders_s)
    starts = [_starts(session, lo_s, hi_s, payers) for lo_s, hi_s in spans]
    ends = [_ends(session, lo_s, hi_s, payers) for lo_s, hi_s in spans]
    suspended = _suspended(session, begin_s, begin_s + DAY_S)
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
                suspended=tuple(entry for entry in suspended if entry.payer == payer),
            )
        )
        for payer, cell in cells.get(day, {}).items()
    }


def _starts(session: Session, lo_s: int, hi_s: int, payers: dict[int, Payer]) -> dict[Payer, Events]:
    moment = ENTRIES.c.start_s
    inside = sa.and_(moment >= lo_s, moment < hi_s)
    return _events(session, moment, inside, lo_s, payers)


def _ends(session: Session, lo_s: int, hi_s: int, payers: dict[int, Payer]) -> dict[Payer, Events]:
    moment = ENTRIES.c.end_s
    inside = sa.and_(moment > lo_s, moment <= hi_s)
    return _events(session, moment, inside, lo_s, payers)


def _events(
    session: Session,
    moment: sa.ColumnElement[int],
    inside: sa.ColumnElement[bool],
    lo_s: int,
    payers: dict[int, Payer],
) -> dict[Payer, Events]:
    payer_id, runs = ENTRIES.c.payer_id, sa.func.sum(ENTRIES.c.runs)
    lasts = ENTRIES.c.end_s > ENTRIES.c.start_s
    lasting = (
        sa.select(
            *(payer_id, runs),
            *(sa.func.sum(rate) for rate in _RATES),
            *(sa.func.sum(rate * (moment - lo_s)) for rate in _RATES),
        )
        .where(inside, lasts)
        .group_by(payer_id)
    )
    momentary = sa.select(payer_id, runs).where(inside, sa.not_(lasts)).group_by(payer_id)
    found: dict[Payer, Events] = {}
    for number, count, *sums in session.execute(lasting):
        if number in payers:
            whole = [int(value) for value in sums]  # PostgreSQL sums bigints to numeric
            found[payers[number]] = Events(int(count), int(count), Rates(*whole[:5]), Rates(*whole[5:]))
    for number, count in session.execute(momentary):
        if number in payers:
            known = found.get(payers[number], _NONE)
            found[payers[number]] = Events(known.runs + int(count), known.runs, known.rates, known.moments)
    return found


def _suspended(session: Session, lo_s: int, hi_s: int) -> list[Entry]:
    return read_entries(
        session,
        # Written as the partial index has it, so that it is used.
        sa.text("suspended_s > 0"),  # type: ignore[arg-type]
        ENTRIES.c.end_s > lo_s,
        ENTRIES.c.start_s < hi_s,
    )
