"""The ledger over a real SQLite file: what comes in by rows comes out in reports."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from sqlmodel import Session

from bridge.errors import Unavailable
from bridge.job import AccountingRow, BaseState
from gateway.ledger.amounts import NO_USAGE, Usage
from gateway.ledger.charge import RunKey
from gateway.store import entries as stored
from tests.component.ledger.books import Books, opened
from tests.unit.ledger.rows import at, run, seconds

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)


@pytest.fixture
def books(tmp_path: Path) -> Iterator[Books]:
    with opened(tmp_path) as books:
        yield books


# Rows in.


def test_the_report_is_the_gpu_seconds_of_the_rows(books: Books) -> None:
    assert books.take(run(index=1), replace(run(index=2), account="robotics", user="emil")) == 2
    assert books.figures() == {"astro": 7200, "robotics": 7200}
    assert books.report().total == Usage(
        runs=2,
        gpu_s=14400,
        cpu_s=16 * 3600,
        memory_mib_s=2 * 16384 * 3600,
        node_s=7200,
        billing_s=2 * 208 * 3600,
    )


def test_an_empty_ledger_gives_an_empty_report_that_says_so(books: Books) -> None:
    report = books.report()
    assert (report.rows, report.total, report.as_of) == ((), NO_USAGE, None)


def test_rows_that_come_again_write_nothing(books: Books) -> None:
    rows = [run(index=number) for number in range(20)]
    assert books.take(*rows) == 20
    assert books.take(*reversed(rows), *rows[:3]) == 0
    assert books.report().total.runs == 20


def test_a_later_figure_corrects_the_report_and_keeps_what_was_written(books: Books) -> None:
    books.take(run())
    assert books.take(run(end="11-03 10:30")) == 2
    assert books.figures() == {"astro": 3600}
    history = books.store.read_now(lambda session: stored.entries_of_runs(session, [RunKey("sluice", "1")]))
    assert [(entry.reversal, entry.rates.gpus) for entry in history[RunKey("sluice", "1")]] == [
        (False, 2),
        (True, -2),
        (False, 2),
    ]


def test_recycled_job_numbers_and_requeued_runs_are_told_apart_by_the_index(books: Books) -> None:
    first = replace(run(index=1), job_id=42, state=replace(run().state, flags=frozenset({"REQUEUED"})))
    second = replace(run("11-03 12:00", "11-03 13:00", index=2), job_id=42)
    recycled = replace(run("11-20 12:00", "11-20 13:00", index=3), job_id=42, account="robotics", user="emil")
    books.take(first, second, recycled)
    assert books.figures() == {"astro": 2 * 7200, "robotics": 7200}
    assert books.report().total.runs == 3


def test_the_same_index_of_another_cluster_is_another_run(books: Books) -> None:
    books.take(run(), replace(run(), cluster="other"))
    assert books.report().total.runs == 2


def test_an_index_beyond_63_bits_is_kept(books: Books) -> None:
    books.take(replace(run(), db_index=str(2**64 - 1)))
    assert books.take(replace(run(), db_index=str(2**64 - 1))) == 0


def test_a_failure_in_the_middle_loses_whole_chunks_and_a_second_reading_mends_it(
    books: Books, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [run(index=number) for number in range(2500)]
    real, calls = stored.take, 0

    def fails_once(session: Session, *, charges: dict[RunKey, object], now: datetime) -> int:
        nonlocal calls
        calls += 1
        written = real(session, charges=charges, now=now)  # type: ignore[arg-type]
        if calls == 2:
            raise Unavailable("the disk is full", part="store")
        return written

    monkeypatch.setattr(stored, "take", fails_once)
    with pytest.raises(Unavailable):
        books.take(*rows)
    assert books.report().total.runs == 1000
    assert books.take(*rows) == 1500
    assert books.report().total == Usage(
        *(2500 * value for value in (1, 7200, 28800, 16384 * 3600, 3600, 208 * 3600))
    )


# Borders.


def test_a_job_over_the_month_border_is_in_both_months_with_its_own_part(books: Books) -> None:
    books.take(run("11-30 22:00", "12-01 03:00"))
    assert books.figures("2026-11-01", "2026-12-01") == {"astro": 2 * 7200}
    assert books.figures("2026-12-01", "2027-01-01") == {"astro": 2 * 10800}


def test_the_month_of_a_zone_begins_at_its_midnight(books: Books) -> None:
    books.take(run("11-30 22:00", "12-01 03:00"))
    # Berlin's December begins at 23:00 UTC, Kolkata's at 18:30, New York's at 05:00 on 1 December.
    assert books.figures("2026-12-01", "2027-01-01", zone="Europe/Berlin") == {"astro": 2 * 4 * 3600}
    assert books.figures("2026-12-01", "2027-01-01", zone="Asia/Kolkata") == {"astro": 2 * 5 * 3600}
    assert books.figures("2026-12-01", "2027-01-01", zone="America/New_York") == {}


def test_days_on_which_the_clock_changes_have_their_own_length(books: Books) -> None:
    books.take(run("10-24 22:00", "10-26 23:00"))
    days = books.figures("2026-10-24", "2026-10-28", by="day", zone="Europe/Berlin")
    # Local: from 25 October 00:00 to 27 October 00:00; the 25th has 25 hours.
    assert days == {"2026-10-25": 2 * 25 * 3600, "2026-10-26": 2 * 24 * 3600}


def test_a_run_over_midnight_counts_on_both_days_and_once_in_the_total(books: Books) -> None:
    books.take(run("11-03 23:00", "11-04 01:00"))
    report = books.report(by="day")
    assert [(row.keys, row.usage.runs) for row in report.rows] == [(("2026-11-03",), 1), (("2026-11-04",), 1)]
    assert report.total.runs == 1


def test_rows_are_in_the_order_of_their_columns(books: Books) -> None:
    books.take(
        replace(run(index=1), user="zoe"),
        replace(run(index=2), user="ada"),
        replace(run(index=3), account="aero", user="zoe", qos="normal", partition="a100"),
        run("11-03 10:00", "11-03 10:10", tres="cpu=1,mem=1G,node=1,billing=1", index=4),
    )
    assert [row.keys for row in books.report(by="user,tenant").rows] == [
        ("ada", "astro"),
        ("zoe", "aero"),
        ("zoe", "astro"),
    ]
    assert [row.keys for row in books.report(by="flavor,class").rows] == [
        ("", "training"),
        ("h100", ""),
        ("h100", "training"),
    ]
    assert [row.keys for row in books.report(by="month,door").rows] == [("2026-11", "sbatch")]
    assert [row.keys for row in books.report(by="").rows] == [()]


def test_a_tenants_members_get_their_own_rows_and_total(books: Books) -> None:
    books.take(
        run(index=1),
        replace(run(index=2), account="robotics"),
        run(end=None, index=3, state=BaseState.RUNNING),
    )
    books.complete("11-03 12:00", 103)
    report = books.report(tenants=frozenset({"robotics"}))
    assert [row.keys for row in report.rows] == [("robotics",)]
    assert (report.total.runs, report.provisional.runs) == (1, 0)
    assert books.report(tenants=frozenset()).rows == ()


# Runs without end.


def running(index: int = 1, **fields: object) -> AccountingRow:
    return replace(run(end=None, index=index, state=BaseState.RUNNING), **fields)  # type: ignore[arg-type]


def test_a_running_job_is_charged_provisionally_up_to_the_confirmed_moment(books: Books) -> None:
    books.take(running())
    books.complete("11-03 10:30", 101)
    report = books.report()
    assert report.rows[0].usage.gpu_s == 2 * 1800
    assert report.provisional == report.total
    assert report.as_of == at("11-03 10:30")
    books.complete("11-03 10:50", 101)
    assert books.figures() == {"astro": 2 * 3000}


def test_its_end_replaces_the_provisional_charge(books: Books) -> None:
    books.take(running())
    books.complete("11-03 10:30", 101)
    assert books.take(run()) == 1
    books.complete("11-03 11:10")
    report = books.report()
    assert (report.total.gpu_s, report.total.runs, report.provisional) == (7200, 1, NO_USAGE)


def test_a_running_job_over_the_month_border_is_cut_there(books: Books) -> None:
    books.take(running(started_at=at("11-30 20:00")))
    books.complete("12-01 02:00", 101)
    assert books.figures("2026-11-01", "2026-12-01") == {"astro": 2 * 4 * 3600}
    assert books.figures("2026-12-01", "2027-01-01") == {"astro": 2 * 2 * 3600}
    report = books.report("2026-11-30", "2026-12-03", by="day")
    assert [row.usage.runs for row in report.rows] == [1, 1]
    assert (report.total.runs, report.provisional.runs) == (1, 1)


def test_without_slurmctlds_word_nothing_more_is_charged(books: Books) -> None:
    books.take(running())
    books.complete("11-03 10:10", 101)
    books.complete("11-03 10:15", known=False)
    assert books.figures() == {"astro": 2 * 600}
    assert books.report().runaways == ()


def test_a_runaway_is_shown_and_never_charged_to_now(books: Books) -> None:
    books.take(running())
    books.complete("11-03 10:30", 101)
    books.take(running())
    books.complete("11-29 10:30")
    report = books.report()
    assert report.total.gpu_s == 2 * 1800
    (runaway,) = report.runaways
    assert (runaway.charge.job_id, runaway.until_s) == (101, seconds("11-03 10:30"))
    assert books.report("2026-10-01", "2026-11-01").runaways == ()


def test_a_run_that_slurmctld_never_had_is_charged_nothing(books: Books) -> None:
    books.take(running())
    books.complete("11-29 10:30", 999)
    report = books.report()
    assert report.total.gpu_s == 0
    assert len(report.runaways) == 1


def test_an_old_open_row_does_not_live_on_with_a_recycled_number(books: Books) -> None:
    books.take(
        running(index=1, job_id=42),
        running(index=2, job_id=42, started_at=at("11-20 10:00"), account="robotics"),
    )
    books.complete("11-20 12:00", 42)
    assert books.figures() == {"astro": 0, "robotics": 2 * 7200}
    assert [entry.charge.key.db_index for entry in books.report().runaways] == ["1"]


def test_a_repaired_runaway_is_asked_for_by_its_number_and_settled(books: Books) -> None:
    books.take(running())
    books.complete("11-03 10:30", 101)
    books.complete("11-29 10:30")  # this scan didn't show the row any more: it has an end in the past now
    assert asyncio.run(books.ledger.unsettled(cluster="sluice")) == (101,)
    books.take(run("11-03 10:00", "11-03 10:00"))
    assert asyncio.run(books.ledger.unsettled(cluster="sluice")) == ()
    assert books.figures() == {"astro": 0}
    assert books.report().runaways == ()


def test_a_row_that_is_shown_in_each_scan_is_never_asked_for(books: Books) -> None:
    for minute in range(1, 5):
        books.take(running())
        books.complete(f"11-03 10:0{minute}", 101)
        assert asyncio.run(books.ledger.unsettled(cluster="sluice")) == ()


def test_a_row_that_slurmdbd_forgot_is_forgotten(books: Books) -> None:
    books.take(running())
    books.complete("11-03 10:30", 101)
    asyncio.run(books.ledger.vanished(cluster="sluice", job_id=101))
    assert books.report().rows == ()


def test_a_running_job_that_changes_its_payer_keeps_its_confirmation(books: Books) -> None:
    books.take(running())
    books.complete("11-03 10:30", 101)
    books.take(running(qos="production-astro"))
    assert books.figures(by="class") == {"production": 2 * 1800}


def test_the_position_moves_with_complete_scans_and_never_back(books: Books) -> None:
    async def position() -> datetime | None:
        return await books.ledger.position(cluster="sluice")

    assert asyncio.run(position()) is None
    books.complete("11-03 10:30")
    books.complete("11-03 10:20")
    assert asyncio.run(position()) == at("11-03 10:30")


def test_a_report_is_as_old_as_the_slowest_cluster(books: Books) -> None:
    books.complete("11-03 10:30")
    asyncio.run(books.ledger.complete(cluster="other", as_of=at("11-02 10:30"), live=None))
    assert books.report().as_of == at("11-02 10:30")
