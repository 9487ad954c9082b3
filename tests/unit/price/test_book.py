from __future__ import annotations

from datetime import date
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest
import yaml
from pydantic import ValidationError

from gateway.price.book import PriceBook

STANDARD = """
name: standard
currency: EUR
on_demand:
  - {from: 2026-01-01, gpu: 2.40, cpu: "0.03", memory_gib: 0.004}
  - {from: 2026-03-01, gpu: 2.00}
  - {from: 2026-01-01, flavor: h100, gpu: 3}
  - {from: 2026-01-01, class: batch, gpu: 1}
  - {from: 2026-01-01, flavor: h100, class: production, gpu: 4}
reserved:
  - {from: 2026-02-01, flavor: h100, gpu: 1.50}
discounts:
  - {from: 2026-01-01, percent: 10}
  - {from: 2026-07-01, to: 2026-08-01, class: batch, percent: 12.5}
  - {from: 2026-01-01, tenant: astro, percent: 20}
"""


def book(text: str = STANDARD, **changed: Any) -> PriceBook:
    return PriceBook.model_validate({**yaml.safe_load(text), **changed})


def test_a_price_is_what_was_written_not_its_float() -> None:
    price = book().on_demand[0]
    assert (price.gpu, price.cpu, price.memory_gib) == (Decimal("2.4"), Decimal("0.03"), Decimal("0.004"))


@pytest.mark.parametrize(
    ("day", "flavor", "job_class", "gpu"),
    [
        (date(2025, 12, 31), "h100", "training", None),
        (date(2026, 1, 1), "a100", "training", "2.4"),
        (date(2026, 2, 28), "a100", "training", "2.4"),
        (date(2026, 3, 1), "a100", "training", "2.0"),
        (date(2026, 3, 1), "a100", "batch", "1"),
        (date(2026, 3, 1), "h100", "batch", "3"),
        (date(2026, 3, 1), "h100", "production", "4"),
        (date(2026, 3, 1), "", "", "2.0"),
    ],
)
def test_of_the_valid_prices_the_most_specific_holds(
    day: date, flavor: str, job_class: str, gpu: str | None
) -> None:
    price = book().on_demand_price(day, flavor, job_class)
    assert (None if price is None else price.gpu) == (None if gpu is None else Decimal(gpu))


def test_a_price_holds_whole() -> None:
    price = book().on_demand_price(date(2026, 3, 1), "a100", "training")
    assert price is not None
    assert price.cpu == 0


def test_a_guarantee_costs_from_its_day_on() -> None:
    assert book().reserved_price(date(2026, 1, 31), "h100") is None
    assert book().reserved_price(date(2026, 2, 1), "a100") is None
    price = book().reserved_price(date(2026, 2, 1), "h100")
    assert price is not None
    assert price.gpu == Decimal("1.5")


@pytest.mark.parametrize(
    ("day", "tenant", "job_class", "expected"),
    [
        (date(2025, 12, 31), "other", "batch", Fraction(0)),
        (date(2026, 6, 30), "other", "batch", Fraction(1, 10)),
        (date(2026, 7, 1), "other", "batch", Fraction(1, 8)),
        (date(2026, 8, 1), "other", "batch", Fraction(1, 10)),
        (date(2026, 7, 1), "astro", "batch", Fraction(1, 5)),
    ],
)
def test_the_largest_discount_holds_alone(day: date, tenant: str, job_class: str, expected: Fraction) -> None:
    assert book().discount(day, tenant, "h100", job_class) == expected


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"currency": "EUX"}, "'EUX' is not a currency of ISO 4217"),
        ({"timezone": "Mars/Olympus"}, "timezone 'Mars/Olympus' is not known"),
        ({"on_demand": []}, "at least 1 item"),
        ({"on_demand": [{"from": "2026-01-01", "gpu": -1}]}, "greater than or equal to 0"),
        ({"on_demand": [{"from": "2026-01-01", "gpu": True}]}, "write a number such as 2.40"),
        ({"on_demand": [{"from": "2026-01-01", "gpu": float("nan")}]}, "finite number"),
        (
            {"on_demand": [{"from": "2026-01-01"}, {"from": "2026-01-01", "gpu": 1}]},
            "two prices for 2026-01-01",
        ),
        (
            {"reserved": [{"from": "2026-01-01", "flavor": "h100", "gpu": 1}] * 2},
            "two prices for 2026-01-01, h100",
        ),
        ({"discounts": [{"from": "2026-02-01", "to": "2026-02-01", "percent": 5}]}, "write a later day"),
        ({"discounts": [{"from": "2026-02-01", "percent": 101}]}, "less than or equal to 100"),
        ({"vat": 19}, "Extra inputs are not permitted"),
    ],
)
def test_a_wrong_book_is_refused_with_what_is_wrong(changed: dict[str, Any], said: str) -> None:
    with pytest.raises(ValidationError, match=said):
        book(**changed)
