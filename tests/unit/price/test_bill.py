from __future__ import annotations

from datetime import date
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bridge.errors import InputError
from gateway.ledger.amounts import Payer, Usage
from gateway.price.bill import (
    COLUMNS,
    Line,
    Unpriced,
    allotted,
    columns_of,
    grouped,
    reserved_line,
    used_line,
)
from tests.unit.price.test_book import book

DAY = date(2026, 2, 10)


def payer(user: str = "ada", **changed: str) -> Payer:
    return Payer(
        **{
            "tenant": "genomics",
            "user": user,
            "job_class": "training",
            "flavor": "h100",
            "door": "http",
            **changed,
        }
    )


def test_a_line_is_use_times_price_less_discount() -> None:
    # 2 GPUs for 30 minutes at 3.00 an hour: 3.00 by the list, 10 % off.
    line = used_line(book(), day=DAY, payer=payer(), usage=Usage(gpu_s=3600))
    assert isinstance(line, Line)
    assert (line.list_cost, line.cost, line.currency) == (Decimal("3.00"), Decimal("2.70"), "EUR")


def test_cpus_and_memory_cost_their_own() -> None:
    # 8 CPUs and 64 GiB for an hour, without GPUs: 8 x 0.03 + 64 x 0.004 = 0.496; 10 % off is 0.4464.
    usage = Usage(cpu_s=8 * 3600, memory_mib_s=64 * 1024 * 3600)
    line = used_line(book(), day=DAY, payer=payer(flavor=""), usage=usage)
    assert isinstance(line, Line)
    assert (line.list_cost, line.cost) == (Decimal("0.50"), Decimal("0.45"))


def test_what_the_guarantee_covers_costs_no_gpu_price() -> None:
    line = used_line(book(), day=DAY, payer=payer(), usage=Usage(gpu_s=7200), covered_gpu_s=7200)
    assert isinstance(line, Line)
    assert (line.list_cost, line.cost) == (Decimal("6.00"), Decimal("0.00"))


def test_a_price_a_second_is_one() -> None:
    by_second = book(per="second", discounts=[])
    line = used_line(by_second, day=DAY, payer=payer(), usage=Usage(gpu_s=3))
    assert isinstance(line, Line)
    assert line.cost == Decimal("9.00")


def test_use_without_a_price_is_named_not_free() -> None:
    found = used_line(book(), day=date(2025, 1, 1), payer=payer(), usage=Usage(gpu_s=3600))
    assert found == Unpriced("genomics", "standard", "h100", "training")


def test_a_guarantee_costs_whether_it_is_used_or_not() -> None:
    line = reserved_line(book(), day=DAY, tenant="genomics", flavor="h100", guaranteed_gpu_s=2 * 86_400)
    assert line is not None
    assert line.cost == Decimal("72.00")  # 2 GPUs x 24 h x 1.50
    before = date(2026, 1, 31)
    assert reserved_line(book(), day=before, tenant="genomics", flavor="h100", guaranteed_gpu_s=5) is None


weights = st.dictionaries(st.sampled_from("abcdefgh").map(payer), st.integers(0, 10**9), min_size=1)


@given(weights, st.data())
def test_coverage_is_divided_whole_and_nobody_gets_more_than_used(
    used: dict[Payer, int], data: st.DataObject
) -> None:
    total = data.draw(st.integers(0, sum(used.values())))
    parts = allotted(total, used)
    assert sum(parts.values()) == total
    for each, part in parts.items():
        assert 0 <= part <= used[each]
        assert abs(part * sum(used.values()) - total * used[each]) < sum(used.values())


lines = st.lists(
    st.builds(
        lambda day, user, job_class, seconds: used_line(
            book(),
            day=date(2026, 2, day),
            payer=payer(user, job_class=job_class),
            usage=Usage(gpu_s=seconds, cpu_s=3 * seconds),
        ),
        st.integers(1, 28),
        st.sampled_from(["ada", "bela"]),
        st.sampled_from(["training", "batch"]),
        st.integers(1, 10**6),
    ),
    max_size=20,
)


@given(lines, st.lists(st.sampled_from(COLUMNS), unique=True).map(tuple))
def test_every_grouping_adds_up_to_the_same_cent(found: list[Line], by: tuple[str, ...]) -> None:
    rows, totals = grouped(found, by)  # type: ignore[arg-type]
    assert sum((row.sum.cost for row in rows), Decimal(0)) == sum((line.cost for line in found), Decimal(0))
    assert {"EUR": sum((line.cost for line in found), Decimal(0))} == (
        {currency: total.cost for currency, total in totals.items()} or {"EUR": Decimal(0)}
    )
    assert [row.keys for row in rows] == sorted(row.keys for row in rows)


def test_columns_are_read_and_wrong_ones_named() -> None:
    assert columns_of("kind, tenant") == ("kind", "tenant")
    with pytest.raises(InputError, match="by=colour is no column of the bill"):
        columns_of("colour")
    with pytest.raises(InputError, match="twice"):
        columns_of("day,day")
