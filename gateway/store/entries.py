"""Writing the ledger: payers, entries, day sums.

Entries are only ever inserted. The day sums change in the same transaction as the entries they sum up, so
that neither can be seen without the other.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, TypeVar

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite
from sqlmodel import Session

from gateway.ledger.amounts import Payer, Rates
from gateway.ledger.balance import Entry, settle
from gateway.ledger.charge import Charge, RunKey
from gateway.ledger.day import Day, cells
from gateway.store import cursors, running
from gateway.store.columns import MAX_VARIABLES
from gateway.store.tables import DAYS, ENTRIES, PAYERS

T = TypeVar("T")

_PAYER = (PAYERS.c.tenant, PAYERS.c.user, PAYERS.c.job_class, PAYERS.c.flavor, PAYERS.c.door)


def take(session: Session, charges: Mapping[RunKey, Charge | None], *, now: datetime) -> int:
    """Make `charges` the truth of their runs; what is the truth already changes nothing.

    Parameters
    ----------
    charges
        The newest row of each run, None where it charges nothing.
    now
        When these entries came in.

    Returns
    -------
    int
        Entries written.
    """
    present = entries_of_runs(session, charges)
    fresh = [entry for key, charge in charges.items() for entry in settle(present.get(key, ()), charge)]
    payers = {entry.payer for entry in fresh}
    still_open = {key: charge for key, charge in charges.items() if charge and charge.end_s is None}
    payers |= {line.payer for charge in still_open.values() for line in charge.lines}
    numbers = payer_numbers(session, payers)
    _append(session, fresh, numbers, now=now)
    running.replace(session, charges, still_open, numbers)
    return len(fresh)


def complete(session: Session, *, cluster: str, as_of: datetime, live: frozenset[int] | None) -> None:
    """Note that every row up to `as_of` was taken; see `gateway.store.running.complete` for `live`."""
    running.complete(session, cluster=cluster, as_of_s=int(as_of.timestamp()), live=live)
    cursors.move(session, cluster, cursors.ACCOUNTING, as_of)


def entries_of_runs(session: Session, keys: Iterable[RunKey]) -> dict[RunKey, list[Entry]]:
    """Return all entries of some runs, oldest first."""
    by_cluster: dict[str, list[str]] = {}
    for key in keys:
        by_cluster.setdefault(key.cluster, []).append(key.db_index)
    found: dict[RunKey, list[Entry]] = {}
    for cluster, indexes in by_cluster.items():
        for some in batches(indexes, MAX_VARIABLES - 1):
            chosen = (ENTRIES.c.cluster == cluster, ENTRIES.c.db_index.in_(some))
            for entry in read_entries(session, *chosen):
                found.setdefault(entry.key, []).append(entry)
    for entries in found.values():
        entries.sort(key=lambda entry: (entry.revision, entry.reversal))
    return found


def batches(items: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    """Yield `items` in pieces that one statement can carry."""
    for start in range(0, len(items), size):
        yield items[start : start + size]


def read_entries(session: Session, *conditions: sa.ColumnElement[bool]) -> list[Entry]:
    """Return the entries for which all conditions hold, in no order (an ORDER BY would cost an index)."""
    statement = (
        sa.select(
            *(ENTRIES.c.cluster, ENTRIES.c.db_index, ENTRIES.c.revision, ENTRIES.c.reversal),
            *(ENTRIES.c.start_s, ENTRIES.c.end_s, ENTRIES.c.suspended_s, ENTRIES.c.runs),
            *(ENTRIES.c.job_id, ENTRIES.c.name, ENTRIES.c.state),
            *(ENTRIES.c.gpus, ENTRIES.c.cpus, ENTRIES.c.memory_mib, ENTRIES.c.nodes, ENTRIES.c.billing),
            *_PAYER,
        )
        .join(PAYERS, PAYERS.c.id == ENTRIES.c.payer_id)
        .where(*conditions)
    )
    return [_entry(row) for row in session.execute(statement)]


def _entry(row: Sequence[Any]) -> Entry:
    cluster, index, revision, reversal, start_s, end_s, suspended_s, runs, job_id, name, state, *rest = row
    return Entry(
        key=RunKey(cluster, index),
        revision=revision,
        reversal=reversal,
        payer=Payer(*rest[5:]),
        start_s=start_s,
        end_s=end_s,
        suspended_s=suspended_s,
        runs=runs,
        rates=Rates(*rest[:5]),
        job_id=job_id,
        name=name,
        state=state,
    )


def payer_numbers(session: Session, payers: Iterable[Payer]) -> dict[Payer, int]:
    """Return each payer's number; a new payer gets one."""
    wanted = set(payers)
    known = _known_payers(session, wanted)
    if missing := sorted(wanted - known.keys()):
        rows = [
            {
                "tenant": payer.tenant,
                "user": payer.user,
                "job_class": payer.job_class,
                "flavor": payer.flavor,
                "door": payer.door,
            }
            for payer in missing
        ]
        session.execute(_insert(session, PAYERS).on_conflict_do_nothing(), rows)
        known |= _known_payers(session, set(missing))
    return known


def _known_payers(session: Session, wanted: set[Payer]) -> dict[Payer, int]:
    found: dict[Payer, int] = {}
    for some in batches(sorted(wanted), MAX_VARIABLES // len(_PAYER)):
        values = [(one.tenant, one.user, one.job_class, one.flavor, one.door) for one in some]
        statement = sa.select(PAYERS.c.id, *_PAYER).where(sa.tuple_(*_PAYER).in_(values))
        found |= {Payer(*payer): number for number, *payer in session.execute(statement)}
    return found


def _append(
    session: Session, entries: Sequence[Entry], numbers: Mapping[Payer, int], *, now: datetime
) -> None:
    if not entries:
        return
    rows = [
        {
            "cluster": entry.key.cluster,
            "db_index": entry.key.db_index,
            "revision": entry.revision,
            "reversal": entry.reversal,
            "payer_id": numbers[entry.payer],
            "start_s": entry.start_s,
            "end_s": entry.end_s,
            "suspended_s": entry.suspended_s,
            "runs": entry.runs,
            **_rates("", entry.rates),
            "job_id": entry.job_id,
            "name": entry.name,
            "state": entry.state,
            "recorded_at": now,
        }
        for entry in entries
    ]
    session.execute(sa.insert(ENTRIES), rows)
    sums: dict[tuple[int, int], Day] = {}
    for entry in entries:
        for day, change in cells(entry):
            cell = (day, numbers[entry.payer])
            sums[cell] = sums[cell] + change if cell in sums else change
    _add_days(session, sums)


def _add_days(session: Session, sums: Mapping[tuple[int, int], Day]) -> None:
    """Add to the cells, in the order of their keys."""
    insert = _insert(session, DAYS)
    added = [column.name for column in DAYS.columns if not column.primary_key]
    changed = {name: DAYS.c[name] + insert.excluded[name] for name in added}
    statement = insert.on_conflict_do_update(index_elements=["day", "payer_id"], set_=changed)
    rows = [
        {
            "day": day,
            "payer_id": payer_id,
            "alive": cell.alive,
            **_rates("held_", cell.held),
            "started": cell.started,
            "gpu_s": cell.usage.gpu_s,
            "cpu_s": cell.usage.cpu_s,
            "memory_mib_s": cell.usage.memory_mib_s,
            "node_s": cell.usage.node_s,
            "billing_s": cell.usage.billing_s,
        }
        for (day, payer_id), cell in sorted(sums.items())
        if cell
    ]
    if rows:
        session.execute(statement, rows)


def _rates(prefix: str, rates: Rates) -> dict[str, int]:
    return {
        f"{prefix}gpus": rates.gpus,
        f"{prefix}cpus": rates.cpus,
        f"{prefix}memory_mib": rates.memory_mib,
        f"{prefix}nodes": rates.nodes,
        f"{prefix}billing": rates.billing,
    }


def _insert(session: Session, table: sa.Table) -> Any:  # noqa: ANN401 - one of two dialects' inserts
    return (postgresql if session.get_bind().dialect.name == "postgresql" else sqlite).insert(table)
