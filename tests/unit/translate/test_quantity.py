"""Quantities: every form that the API server takes, exact sums, one rounding up."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bridge.translate.quantity import cpus, mib, milli, quantity, spoken


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("1", 1),
        ("0.5", Fraction(1, 2)),
        (".5", Fraction(1, 2)),
        ("5.", 5),
        ("+3", 3),
        ("-3", -3),
        ("500m", Fraction(1, 2)),
        ("100u", Fraction(1, 10000)),
        ("7n", Fraction(7, 10**9)),
        ("1k", 1000),
        ("1Ki", 1024),
        ("1.5Gi", 1.5 * 2**30),
        ("2E", 2 * 10**18),
        ("1Ei", 2**60),
        ("1e3", 1000),
        ("1E3", 1000),
        ("12e-1", Fraction(12, 10)),
        ("0", 0),
        (1.5, Fraction(3, 2)),
        (128974848, 128974848),
        (1e22, 2**63 - 1),
        ("9999Ei", 2**63 - 1),
        ("0.0000000001", Fraction(1, 10**9)),
        ("1e-30", Fraction(1, 10**9)),
    ],
)
def test_forms(text: str | int | float, number: Fraction | float) -> None:
    assert quantity(text) == number


@pytest.mark.parametrize(
    "text", ["", "4GB", "1 Gi", "Gi", ".", "1e", "1ee3", "0x10", "1_000", "1K", "--1", "1.2.3"]
)
def test_what_is_no_quantity_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not a quantity"):
        quantity(text)


def test_rounding_is_up_and_at_least_one_cpu() -> None:
    assert [cpus(quantity(text)) for text in ("0.0001", "1m", "1", "1001m", "3750m")] == [1, 1, 1, 2, 4]
    assert [mib(quantity(text)) for text in ("0", "1", "1Mi", "129e6", "512m")] == [None, 1, 1, 124, 1]
    assert milli(quantity("0.0001")) == 1


def test_quantities_are_spoken_as_people_write_them() -> None:
    assert [spoken(quantity(text), binary=True) for text in ("64Gi", "1000", "1536Mi")] == [
        "64Gi",
        "1000",
        "1536Mi",
    ]
    assert spoken(quantity("1.5")) == "1500m"


amounts = st.fractions(min_value=0, max_value=2**50, max_denominator=1000)


@given(st.lists(amounts, max_size=6))
def test_rounding_never_loses_and_never_adds_a_whole_unit(parts: list[Fraction]) -> None:
    total = sum(parts, Fraction(0))
    booked = mib(total) or 0
    assert total <= booked * 2**20 < total + 2**20
    assert total <= cpus(total) < max(total, Fraction(1, 1000)) + 1 + Fraction(1, 1000)


@given(st.integers(0, 10**6), st.sampled_from(["", "m", "k", "Ki", "M", "Mi", "G", "Gi"]))
def test_a_number_and_its_text_are_one_quantity(number: int, suffix: str) -> None:
    assert quantity(f"{number}{suffix}") == quantity(f"{number}.0{suffix}") == number * quantity(f"1{suffix}")
