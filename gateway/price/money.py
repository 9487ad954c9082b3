"""Money: exact fractions while it is computed, decimals of the currency's own digits once it is a line.

Pure. Nothing is ever a float. A line is rounded once, half to even, and every sum is a sum of rounded
lines, so that each grouping of a bill adds up to the same cent.
"""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Final

from babel.numbers import get_currency_precision, list_currencies

CURRENCIES: Final = frozenset(list_currencies())
"""ISO 4217 codes that CLDR knows."""

NO_MONEY: Final = Decimal(0)


def digits_of(currency: str) -> int:
    """Return the decimal digits of a currency (ISO 4217 by CLDR): 2 for EUR, 0 for JPY, 3 for KWD."""
    return get_currency_precision(currency)


def rounded(amount: Fraction, currency: str) -> Decimal:
    """Round an exact amount to the currency's digits, half to even (banker's rounding)."""
    digits = digits_of(currency)
    return Decimal(round(amount * 10**digits)).scaleb(-digits)
