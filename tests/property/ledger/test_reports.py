"""The ledger's fast way, through SQL, against the definition, row by row."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from sqlmodel import Session, SQLModel

from bridge.job import AccountingRow
from gateway.ledger.amounts import NO_USAGE, Payer, Usage
from gateway.ledger.balance import Entry, balance, settle
from gateway.ledger.charge import RunKey, charge_of
from gateway.store import entries as stored
from tests.component.ledger.books import NOW, Books, opened
from tests.support.effort import examples
from tests.unit.ledger.rows import at, run

TRES = st.sampled_from(
    [
        "cpu=8,mem=16384M,node=1,billing=208,gres/gpu=2,gres/gpu:h100=2",
        "cpu=3,mem=7M,node=2,billing=5,gres/gpu=3,gres/gpu:h100=1,gres/gpu:a100=2",
        "cpu=5,mem=11M,node=1,billing=5",
    ]
)
BEGIN = at("11-01 00:00")


@st.composite
def some_row(draw: st.DrawFn) -> AccountingRow:
    start = BEGIN + timedelta(seconds=draw(st.integers(0, 6 * 86_400)))
    length_s = draw(st.one_of(st.integers(0, 7200), st.integers(0, 5 * 86_400)))
    row = run(index=draw(st.integers(1, 6)), tres=draw(TRES))
    return replace(
        row,
        started_at=start,
        ended_at=start + timedelta(seconds=length_s),
        suspended_s=draw(st.sampled_from([0, 0, 601])),
        account=draw(st.sampled_from(["astro", "robotics"])),
        admin_comment=draw(st.sampled_from(["", "sluice:http:X"])),
    )


def expected(rows: Sequence[AccountingRow], lo_s: int, hi_s: int) -> dict[Payer, Usage]:
    by_run: dict[str, tuple[Entry, ...]] = {}
    for row in rows:
        present = by_run.get(row.db_index, ())
        by_run[row.db_index] = (*present, *settle(present, charge_of(row)))
    return balance([entry for entries in by_run.values() for entry in entries], lo_s, hi_s)


def one_after_the_other(session: Session, rows: Sequence[AccountingRow]) -> None:
    """Empty the ledger, then take each row by itself, as if it came in a scan of its own."""
    for table in reversed(SQLModel.metadata.sorted_tables):
        session.execute(table.delete())
    for row in rows:
        stored.take(session, {RunKey(row.cluster, row.db_index): charge_of(row)}, now=NOW)


@pytest.fixture(scope="module")
def one_ledger(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Books]:
    """One file for all examples of the property below."""
    with opened(tmp_path_factory.mktemp("ledger")) as books:
        yield books


MIDNIGHT = 86_400


@settings(max_examples=examples(12))
@given(
    rows=st.lists(some_row(), min_size=1, max_size=12),
    lo=st.integers(0, 8 * MIDNIGHT),
    length=st.integers(1, 4 * MIDNIGHT),
    zone=st.sampled_from(["UTC", "Europe/Berlin", "Asia/Kolkata", "America/New_York"]),
    step=st.sampled_from(["", ",day", ",month"]),
)
@example(rows=[run("11-03 00:00", "11-04 00:00")], lo=2 * MIDNIGHT, length=MIDNIGHT, zone="UTC", step=",day")
def test_reports_are_exactly_what_the_definition_says(
    one_ledger: Books, rows: list[AccountingRow], lo: int, length: int, zone: str, step: str
) -> None:
    one_ledger.store.write_now(lambda session: one_after_the_other(session, rows))
    start, end = BEGIN + timedelta(seconds=lo), BEGIN + timedelta(seconds=lo + length)
    by = "tenant,user,class,flavor,door" + step
    report = one_ledger.report(start.isoformat(), end.isoformat(), by=by, zone=zone)
    wanted = expected(rows, int(start.timestamp()), int(end.timestamp()))
    found: dict[Payer, Usage] = {}
    for row_ in report.rows:
        payer = Payer(*row_.keys[:5])
        found[payer] = found.get(payer, NO_USAGE) + replace(row_.usage, runs=0)
    assert found == {payer: replace(usage, runs=0) for payer, usage in wanted.items()}
    assert report.total == sum(wanted.values(), NO_USAGE)
