"""The price book: what a GPU, a CPU and a GiB of memory cost, for whom, from when.

Pure pydantic, ``extra="forbid"``, one model for YAML and for the API::

    name: standard
    currency: EUR
    timezone: Europe/Berlin
    per: hour
    on_demand:
      - {from: 2026-01-01, gpu: "2.40", cpu: "0.03", memory_gib: "0.004"}
      - {from: 2026-01-01, flavor: h100, class: production, gpu: "3.10", cpu: "0.03"}
    reserved:
      - {from: 2026-01-01, flavor: h100, gpu: "1.50"}
    discounts:
      - {from: 2026-07-01, to: 2026-09-01, class: batch, percent: 20}

Prices change at midnights of the book's zone alone. Of the prices that are valid on a day the most specific
holds (flavor and class, then flavor, then class, then neither), and of those the newest; it holds whole:
what it leaves out costs nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from datetime import date
from decimal import Decimal
from fractions import Fraction
from typing import Annotated, Any, Final, Literal, Self
from zoneinfo import ZoneInfo

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StringConstraints,
    model_validator,
)

from bridge.errors import InputError
from bridge.policy.tenant import TENANT_NAME, FlavorName, JobClass, Name
from gateway.ledger.period import zone_of
from gateway.price.money import CURRENCIES

DEFAULT_BOOK: Final = "default"
"""The book of tenants whose document names none."""

BookName = Annotated[str, StringConstraints(pattern=TENANT_NAME)]


def _exact(value: Any) -> Any:  # noqa: ANN401 - whatever YAML or JSON had there
    # YAML and JSON read 2.40 as a float; its shortest form is what was written. A truth value is no price.
    if isinstance(value, bool):
        raise ValueError("write a number such as 2.40")  # noqa: TRY004 - pydantic takes ValueError
    return repr(value) if isinstance(value, float) else value


def _known_currency(code: str) -> str:
    if code not in CURRENCIES:
        raise ValueError(f"{code!r} is not a currency of ISO 4217; write one such as EUR or USD")
    return code


def _known_zone(name: str) -> str:
    try:
        zone_of(name)
    except InputError as error:
        raise ValueError(error.message) from error
    return name


Price = Annotated[Decimal, BeforeValidator(_exact), Field(ge=0, le=1_000_000, decimal_places=12)]
Percent = Annotated[Decimal, BeforeValidator(_exact), Field(gt=0, le=100, decimal_places=4)]


class _Part(BaseModel):
    model_config = ConfigDict(
        extra="forbid", frozen=True, populate_by_name=True, use_attribute_docstrings=True
    )


class OnDemand(_Part):
    """Prices of what is used."""

    valid_from: Annotated[date, Field(alias="from")]
    """First day, in the book's zone."""
    flavor: FlavorName | None = None
    """Kind of GPU; without it, all kinds and jobs without GPUs."""
    job_class: Annotated[JobClass | None, Field(alias="class")] = None
    """Without it, all classes."""
    gpu: Price = Decimal(0)
    """One GPU for one `per`."""
    cpu: Price = Decimal(0)
    """One CPU for one `per`."""
    memory_gib: Price = Decimal(0)
    """One GiB of allocated memory for one `per`."""


class Reserved(_Part):
    """The price of a guaranteed GPU, used or not; what it covers costs no on-demand GPU price."""

    valid_from: Annotated[date, Field(alias="from")]
    flavor: FlavorName
    gpu: Price
    """One guaranteed GPU for one `per`."""


class Discount(_Part):
    """Percent off on-demand prices; of several that match, the largest holds (they don't add up)."""

    valid_from: Annotated[date, Field(alias="from")]
    valid_to: Annotated[date | None, Field(alias="to")] = None
    """First day on which it holds no more."""
    tenant: Name | None = None
    flavor: FlavorName | None = None
    job_class: Annotated[JobClass | None, Field(alias="class")] = None
    percent: Percent

    @model_validator(mode="after")
    def _forward(self) -> Self:
        if self.valid_to is not None and self.valid_to <= self.valid_from:
            raise ValueError(f"to {self.valid_to} is not after from {self.valid_from}; write a later day")
        return self


class PriceBook(_Part):
    """One price book, whole."""

    name: BookName
    """What tenant documents call it by `price_book`; `default` is that of tenants that name none."""
    currency: Annotated[str, StringConstraints(pattern=r"^[A-Z]{3}$"), AfterValidator(_known_currency)]
    """ISO 4217."""
    timezone: Annotated[str, AfterValidator(_known_zone)] = "UTC"
    """IANA zone of the book's days: of `from` and `to`, and of the lines of a bill."""
    per: Literal["hour", "second"] = "hour"
    """What all prices of the book are for."""
    on_demand: Annotated[tuple[OnDemand, ...], Field(min_length=1, max_length=10_000)]
    reserved: Annotated[tuple[Reserved, ...], Field(max_length=10_000)] = ()
    discounts: Annotated[tuple[Discount, ...], Field(max_length=10_000)] = ()

    @model_validator(mode="after")
    def _unambiguous(self) -> Self:
        _once("on_demand", ((each.valid_from, each.flavor, each.job_class) for each in self.on_demand))
        _once("reserved", ((each.valid_from, each.flavor) for each in self.reserved))
        return self

    @property
    def zone(self) -> ZoneInfo:
        """The zone of the book's days."""
        return ZoneInfo(self.timezone)

    @property
    def seconds_per(self) -> int:
        """Seconds that one price is for."""
        return 3600 if self.per == "hour" else 1

    def on_demand_price(self, day: date, flavor: str, job_class: str) -> OnDemand | None:
        """Return the price that holds on a day; None when the book has none for it."""
        valid = [
            price
            for price in self.on_demand
            if price.valid_from <= day
            and price.flavor in (None, flavor)
            and price.job_class in (None, job_class)
        ]
        return max(
            valid,
            key=lambda price: (price.flavor is not None, price.job_class is not None, price.valid_from),
            default=None,
        )

    def reserved_price(self, day: date, flavor: str) -> Reserved | None:
        """Return the price of a guaranteed GPU on a day; None when guarantees cost nothing."""
        valid = [price for price in self.reserved if price.valid_from <= day and price.flavor == flavor]
        return max(valid, key=lambda price: price.valid_from, default=None)

    def discount(self, day: date, tenant: str, flavor: str, job_class: str) -> Fraction:
        """Return the part of on-demand prices that is let off, 0 to 1."""
        valid = (
            Fraction(each.percent) / 100
            for each in self.discounts
            if each.valid_from <= day
            and (each.valid_to is None or day < each.valid_to)
            and each.tenant in (None, tenant)
            and each.flavor in (None, flavor)
            and each.job_class in (None, job_class)
        )
        return max(valid, default=Fraction(0))


def _once(where: str, keys: Iterable[tuple[date | str | None, ...]]) -> None:
    doubled = [key for key, count in Counter(keys).items() if count > 1]
    if doubled:
        words = ", ".join(str(part) for part in doubled[0] if part is not None)
        raise ValueError(f"{where} has two prices for {words}; keep one, or give one another `from`")
