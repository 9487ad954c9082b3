"""The fast way (cells and events) against the definition (`balance`)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

from hypothesis import example, given
from hypothesis import strategies as st

from gateway.ledger.amounts import DAY_S, NO_USAGE, NOTHING_HELD, Payer, Rates, Usage
from gateway.ledger.balance import Entry, balance
from gateway.ledger.charge import RunKey
from gateway.ledger.day import CutDay, Day, Events, cells, pieces, spans_to_read
from tests.unit.ledger.test_balance import entry


def days_of(entries: Sequence[Entry]) -> dict[int, Day]:
    days: dict[int, Day] = {}
    for one in entries:
        for number, change in cells(one):
            days[number] = days.get(number, Day()) + change
    return days


def events_of(entries: Sequence[Entry], lo_s: int, hi_s: int) -> tuple[Events, Events]:
    """What the store's queries give for one span."""
    starts = [one for one in entries if lo_s <= one.start_s < hi_s]
    ends = [one for one in entries if lo_s < one.end_s <= hi_s]
    return (
        _events(starts, [one.start_s - lo_s for one in starts]),
        _events(ends, [one.end_s - lo_s for one in ends]),
    )


def _events(entries: Sequence[Entry], moments_s: Sequence[int]) -> Events:
    lasting = [
        (one, moment) for one, moment in zip(entries, moments_s, strict=True) if one.end_s > one.start_s
    ]
    return Events(
        all_runs=sum(one.runs for one in entries),
        runs=sum(one.runs for one, _ in lasting),
        rates=sum((one.rates for one, _ in lasting), NOTHING_HELD),
        moments=sum((Rates(*(v * at for v in one.rates.values())) for one, at in lasting), NOTHING_HELD),
    )


def one_payer(entries: Sequence[Entry]) -> list[Entry]:
    return [replace(one, payer=Payer("astro", "ada", "training", "h100", "http")) for one in entries]


def total(entries: Sequence[Entry], lo_s: int, hi_s: int) -> Usage:
    return sum(balance(entries, lo_s, hi_s).values(), NO_USAGE)


def short(start_s: int, end_s: int) -> Entry:
    return Entry(
        key=RunKey("sluice", "1"),
        revision=0,
        reversal=False,
        payer=Payer("astro", "ada", "training", "h100", "http"),
        start_s=start_s,
        end_s=end_s,
        suspended_s=0,
        runs=1,
        rates=Rates(1, 1, 1, 1, 1),
        job_id=1,
        name="",
        state="COMPLETED",
    )


@given(st.lists(entry(), max_size=8))
@example([short(0, DAY_S), short(DAY_S, DAY_S), short(DAY_S, 2 * DAY_S), short(5, 3 * DAY_S + 1)])
def test_cells_add_up_to_the_days(entries: list[Entry]) -> None:
    entries = one_payer(entries)
    for number, day in days_of(entries).items():
        wanted = total(entries, number * DAY_S, (number + 1) * DAY_S)
        assert replace(day.usage, runs=day.alive + day.started) == wanted


@given(
    entries=st.lists(entry(horizon_s=200_000), max_size=8),
    borders=st.sets(st.integers(1, DAY_S - 1), min_size=1, max_size=3),
)
@example([short(DAY_S, DAY_S), short(DAY_S + 7, DAY_S + 7), short(5, DAY_S + 7)], {7})
@example([short(DAY_S, DAY_S), short(DAY_S + 80_000, DAY_S + 80_000), short(5, DAY_S + 80_000)], {80_000})
@example([short(5, 2 * DAY_S), short(DAY_S + 80_000, 2 * DAY_S), short(DAY_S + 1, 4 * DAY_S)], {80_000})
def test_a_cut_day_is_exact_in_every_piece(entries: list[Entry], borders: set[int]) -> None:
    entries = one_payer(entries)
    days = days_of(entries)
    borders_s = tuple(sorted(DAY_S + border for border in borders))
    spans = spans_to_read(DAY_S, borders_s)
    events = [events_of(entries, lo_s, hi_s) for lo_s, hi_s in spans]
    cut = CutDay(
        day=days.get(1, Day()),
        following=days.get(2, Day()),
        begin_s=DAY_S,
        borders_s=borders_s,
        starts=[starts for starts, _ in events],
        ends=[ends for _, ends in events],
        released_cpu_s=[
            sum(one.released_cpu_s(lo_s, hi_s) for one in entries if one.end_s > lo_s and one.start_s < hi_s)
            for lo_s, hi_s in spans
        ],
    )
    edges = (DAY_S, *borders_s, 2 * DAY_S)
    found = pieces(cut)
    assert len(found) == len(edges) - 1
    for piece, (lo_s, hi_s) in zip(found, pairwise(edges), strict=True):
        assert replace(piece.usage, runs=piece.alive + piece.started) == total(entries, lo_s, hi_s)


def test_at_most_half_a_day_of_events_is_read_for_one_border() -> None:
    for border in (1, 30_000, DAY_S // 2, 60_000, DAY_S - 1):
        ((lo_s, hi_s),) = spans_to_read(0, (border,))
        assert hi_s - lo_s <= DAY_S // 2
