from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from bridge.job import AccountingRow, BaseState
from gateway.ledger.amounts import NO_USAGE, Payer, Rates, Usage
from gateway.ledger.balance import Entry, balance, entries_of, settle
from gateway.ledger.charge import RunKey, charge_of
from tests.unit.ledger.rows import run, seconds

EVER = (0, 2**40)


def settled(*rows: AccountingRow) -> tuple[Entry, ...]:
    """The entries after these rows of one run came in, one after the other."""
    entries: tuple[Entry, ...] = ()
    for row in rows:
        entries = (*entries, *settle(entries, charge_of(row)))
    return entries


def total(entries: Sequence[Entry], lo_s: int = 0, hi_s: int = 2**40) -> Usage:
    return sum(balance(entries, lo_s, hi_s).values(), NO_USAGE)


def test_the_same_row_twice_is_written_once() -> None:
    assert settled(run(), run(), replace(run(), name="renamed")) == settled(run())


def test_a_run_without_end_is_not_written() -> None:
    assert settled(run(end=None, state=BaseState.RUNNING)) == ()


def test_a_later_end_reverses_the_charge_and_charges_anew() -> None:
    entries = settled(run(), run(end="11-03 10:30"))
    assert [(entry.revision, entry.reversal) for entry in entries] == [(0, False), (0, True), (1, False)]
    assert total(entries) == total(settled(run(end="11-03 10:30")))
    assert total(entries).gpu_s == 2 * 1800
    assert total(entries).runs == 1


def test_a_correction_can_change_the_payer() -> None:
    entries = settled(run(), replace(run(), account="robotics"))
    assert {payer.tenant for payer in balance(entries, *EVER)} == {"robotics"}


def test_a_correction_back_to_the_first_figures_is_a_revision_of_its_own() -> None:
    entries = settled(run(), run(end="11-03 10:30"), run())
    assert max(entry.revision for entry in entries) == 2
    assert total(entries) == total(settled(run()))


def test_a_run_that_turns_out_to_go_on_is_taken_back_whole() -> None:
    entries = settled(run(), run(end=None, state=BaseState.RUNNING))
    assert balance(entries, *EVER) == {}
    assert total(settled(run(), run(end=None, state=BaseState.RUNNING), run())).runs == 1


def test_suspended_time_stops_cpus_and_nothing_else() -> None:
    usage = total(settled(run(suspended_s=600)))
    assert usage == Usage(
        runs=1, gpu_s=2 * 3600, cpu_s=8 * 3000, memory_mib_s=16384 * 3600, node_s=3600, billing_s=208 * 3600
    )


def test_a_run_over_a_border_counts_in_both_periods_with_its_own_part() -> None:
    entries = settled(run("11-30 22:00", "12-01 03:00"))
    border = seconds("12-01 00:00")
    november, december = total(entries, 0, border), total(entries, border)
    assert (november.gpu_s, december.gpu_s) == (2 * 7200, 2 * 10800)
    assert (november.runs, december.runs) == (1, 1)


def test_a_run_of_no_whole_second_counts_once_where_it_began() -> None:
    entries = settled(run("11-03 10:00", "11-03 10:00"))
    moment = seconds("11-03 10:00")
    assert total(entries, moment - 10, moment) == NO_USAGE
    assert total(entries, moment, moment + 10) == Usage(runs=1)


def test_reports_name_only_payers_with_something() -> None:
    assert balance(settled(run()), seconds("12-01 00:00"), seconds("12-02 00:00")) == {}


# Properties.

PAYERS = st.builds(
    Payer,
    tenant=st.sampled_from(["astro", "genomics"]),
    user=st.sampled_from(["ada", "chen"]),
    job_class=st.just("training"),
    flavor=st.sampled_from(["h100", "a100"]),
    door=st.sampled_from(["http", "sbatch"]),
)


@st.composite
def entry(draw: st.DrawFn, horizon_s: int = 400_000) -> Entry:
    start_s = draw(st.integers(0, horizon_s))
    end_s = start_s + draw(st.integers(0, horizon_s))
    made = Entry(
        key=RunKey("sluice", str(draw(st.integers(0, 50)))),
        revision=0,
        reversal=False,
        payer=draw(PAYERS),
        start_s=start_s,
        end_s=end_s,
        suspended_s=draw(st.one_of(st.just(0), st.integers(0, end_s - start_s))),
        runs=draw(st.sampled_from([0, 1])),
        rates=Rates(*(draw(st.integers(0, 9)) for _ in range(5))),
        job_id=1,
        name="",
        state="COMPLETED",
    )
    return made if draw(st.booleans()) else replace(made, reversal=True, runs=-made.runs, rates=-made.rates)


@given(entries=st.lists(entry(), max_size=8), cuts=st.lists(st.integers(1, 799_999), max_size=8))
def test_any_partition_of_time_adds_up_to_the_whole(entries: list[Entry], cuts: list[int]) -> None:
    borders = [0, *sorted(set(cuts)), 800_001]
    parts = [total(entries, lo, hi) for lo, hi in pairwise(borders)]
    whole = total(entries, 0, 800_001)
    assert tuple(map(sum, zip(*(part.values() for part in parts), strict=True))) == whole.values()


@given(entry())
def test_a_reversal_takes_back_every_part(made: Entry) -> None:
    back = replace(made, reversal=not made.reversal, runs=-made.runs, rates=-made.rates)
    for lo, hi in ((0, 2**40), (0, 100_003), (100_003, 300_001), (made.start_s, made.end_s)):
        assert made.within(lo, hi) + back.within(lo, hi) == NO_USAGE


ROWS = st.builds(
    lambda end, tres, account, suspended_s, kept: replace(
        run("11-03 10:00", end, tres=tres, state=BaseState.COMPLETED if end else BaseState.RUNNING),
        account=account,
        suspended_s=suspended_s,
        qos=kept,
    ),
    end=st.sampled_from([None, "11-03 10:00", "11-03 10:20", "11-04 01:00"]),
    tres=st.sampled_from(
        ["cpu=4,node=1,gres/gpu:h100=2", "cpu=4,node=1,gres/gpu:h100=1,gres/gpu:a100=1", ""]
    ),
    account=st.sampled_from(["astro", "robotics"]),
    suspended_s=st.sampled_from([0, 7]),
    kept=st.sampled_from(["training", "production-astro"]),
)


@given(history=st.lists(ROWS, min_size=1, max_size=6), repeats=st.lists(st.integers(0, 5), max_size=4))
def test_the_sum_of_a_runs_entries_is_its_newest_row(
    history: list[AccountingRow], repeats: list[int]
) -> None:
    again = [history[number % len(history)] for number in repeats]
    last = history[-1]
    charge = charge_of(last)
    wanted = () if charge is None or charge.end_s is None else entries_of(charge)
    entries = settled(*again, *history, last)
    assert balance(entries, *EVER) == balance(wanted, *EVER)
    assert len({(e.key, e.revision, e.reversal, e.payer) for e in entries}) == len(entries)
