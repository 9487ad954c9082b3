from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import pytest

from gateway.price.money import rounded


@pytest.mark.parametrize(
    ("amount", "currency", "expected"),
    [
        (Fraction(5, 1000), "EUR", "0.00"),
        (Fraction(15, 1000), "EUR", "0.02"),
        (Fraction(25, 1000), "EUR", "0.02"),
        (Fraction(-15, 1000), "EUR", "-0.02"),
        (Fraction(1, 3), "EUR", "0.33"),
        (Fraction(5, 2), "JPY", "2"),
        (Fraction(7, 2), "JPY", "4"),
        (Fraction(10005, 10_000), "KWD", "1.000"),
    ],
)
def test_a_line_is_rounded_half_to_even_to_the_currencys_digits(
    amount: Fraction, currency: str, expected: str
) -> None:
    assert rounded(amount, currency) == Decimal(expected)
    assert str(rounded(amount, currency)) == expected
