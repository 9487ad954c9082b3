"""The bill: usage of a day and payer becomes a line, lines become the rows that were asked for.

Pure. A line is the smallest thing that has a cost: one payer, one day of the book's zone, one kind. It is
rounded once; rows and totals are sums of lines, so that every grouping of the same period adds up alike,
and so do days to months.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction
from typing import Final, Literal, get_args

from gateway.ledger.amounts import NO_USAGE, Payer, Usage
from gateway.ledger.period import Period
from gateway.ledger.report import named_columns
from gateway.price.book import PriceBook
from gateway.price.money import NO_MONEY, rounded

MAKE_ONE: Final = "an administrator makes one: sluice prices apply FILE"
"""How to mend that there is no price book."""

Kind = Literal["used", "reserved"]
"""used: what was used, less what the guarantee covers. reserved: the guarantee itself, used or not."""

Column = Literal["tenant", "user", "class", "flavor", "door", "kind", "day", "month"]
COLUMNS: Final[tuple[Column, ...]] = get_args(Column)


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One line. Of kind `reserved`, the GPU-seconds are those guaranteed."""

    day: date
    kind: Kind
    payer: Payer
    usage: Usage
    covered_gpu_s: int = 0
    """GPU-seconds of these that the guarantee covers."""
    currency: str
    list_cost: Decimal
    """Before coverage and discounts."""
    cost: Decimal


@dataclass(frozen=True, slots=True)
class Unpriced:
    """Usage that no price of the tenant's book is for."""

    tenant: str
    book: str
    flavor: str
    job_class: str


@dataclass(frozen=True, slots=True)
class Sum:
    """What lines add up to, in one currency."""

    usage: Usage = NO_USAGE
    """Of lines of kind `used` alone."""
    covered_gpu_s: int = 0
    reserved_gpu_s: int = 0
    list_cost: Decimal = NO_MONEY
    cost: Decimal = NO_MONEY

    def plus(self, line: Line) -> Sum:
        """Return the sum with one line more."""
        used = line.kind == "used"
        return Sum(
            usage=self.usage + line.usage if used else self.usage,
            covered_gpu_s=self.covered_gpu_s + line.covered_gpu_s,
            reserved_gpu_s=self.reserved_gpu_s + (0 if used else line.usage.gpu_s),
            list_cost=self.list_cost + line.list_cost,
            cost=self.cost + line.cost,
        )


@dataclass(frozen=True, slots=True)
class Row:
    """A value for each column of the query, then the currency."""

    keys: tuple[str, ...]
    currency: str
    sum: Sum


@dataclass(frozen=True, slots=True, kw_only=True)
class Bill:
    """What a period cost."""

    period: Period
    by: tuple[Column, ...]
    rows: tuple[Row, ...]
    totals: Mapping[str, Sum]
    """By currency."""
    unpriced: Mapping[Unpriced, Usage] = field(default_factory=dict)
    as_of: datetime | None
    provisional_gpu_s: int
    """GPU-seconds of runs without end among those in the bill."""


def columns_of(text: str) -> tuple[Column, ...]:
    """Read the ``by`` of a query.

    Raises
    ------
    InputError
        An unknown or a doubled name.
    """
    return named_columns(text, COLUMNS, of="bill")


def used_line(
    book: PriceBook, *, day: date, payer: Payer, usage: Usage, covered_gpu_s: int = 0
) -> Line | Unpriced:
    """Price what a payer used on a day; `covered_gpu_s` of its GPU-seconds cost nothing here."""
    price = book.on_demand_price(day, payer.flavor, payer.job_class)
    if price is None:
        return Unpriced(payer.tenant, book.name, payer.flavor, payer.job_class)
    rest = usage.cpu_s * Fraction(price.cpu) + Fraction(usage.memory_mib_s, 1024) * Fraction(price.memory_gib)
    listed = (usage.gpu_s * Fraction(price.gpu) + rest) / book.seconds_per
    asked = ((usage.gpu_s - covered_gpu_s) * Fraction(price.gpu) + rest) / book.seconds_per
    left = 1 - book.discount(day, payer.tenant, payer.flavor, payer.job_class)
    return Line(
        day=day,
        kind="used",
        payer=payer,
        usage=usage,
        covered_gpu_s=covered_gpu_s,
        currency=book.currency,
        list_cost=rounded(listed, book.currency),
        cost=rounded(asked * left, book.currency),
    )


def reserved_line(
    book: PriceBook, *, day: date, tenant: str, flavor: str, guaranteed_gpu_s: int
) -> Line | None:
    """Price a guarantee on a day; None when the book doesn't charge for it."""
    price = book.reserved_price(day, flavor)
    if price is None or not guaranteed_gpu_s:
        return None
    amount = guaranteed_gpu_s * Fraction(price.gpu) / book.seconds_per
    cost = rounded(amount, book.currency)
    return Line(
        day=day,
        kind="reserved",
        payer=Payer(tenant=tenant, user="", job_class="", flavor=flavor, door=""),
        usage=Usage(gpu_s=guaranteed_gpu_s),
        currency=book.currency,
        list_cost=cost,
        cost=cost,
    )


def allotted(total: int, weights: Mapping[Payer, int]) -> dict[Payer, int]:
    """Divide whole GPU-seconds among payers in proportion to their use (largest remainder).

    Payers with equal remainders are served in their order. `total` is at most the sum of the weights, so
    that nobody gets more than they used.
    """
    whole = sum(weights.values())
    if not whole or not total:
        return {}
    parts = {payer: divmod(total * weight, whole) for payer, weight in sorted(weights.items())}
    left = total - sum(quotient for quotient, _ in parts.values())
    first = sorted(parts, key=lambda payer: (-parts[payer][1], payer))[:left]
    return {payer: quotient + (payer in first) for payer, (quotient, _) in parts.items()}


def grouped(lines: Iterable[Line], by: tuple[Column, ...]) -> tuple[tuple[Row, ...], dict[str, Sum]]:
    """Add lines up by columns and currency; returns rows in the order of their columns, and totals."""
    rows: dict[tuple[tuple[str, ...], str], Sum] = {}
    totals: dict[str, Sum] = {}
    for line in lines:
        key = (_keys(line, by), line.currency)
        rows[key] = rows.get(key, Sum()).plus(line)
        totals[line.currency] = totals.get(line.currency, Sum()).plus(line)
    found = tuple(Row(keys, currency, total) for (keys, currency), total in sorted(rows.items(), key=_first))
    return found, dict(sorted(totals.items()))


def _first(item: tuple[tuple[tuple[str, ...], str], Sum]) -> tuple[tuple[str, ...], str]:
    return item[0]


def _keys(line: Line, by: tuple[Column, ...]) -> tuple[str, ...]:
    values: dict[Column, str] = {
        "tenant": line.payer.tenant,
        "user": line.payer.user,
        "class": line.payer.job_class,
        "flavor": line.payer.flavor,
        "door": line.payer.door,
        "kind": line.kind,
        "day": line.day.isoformat(),
        "month": f"{line.day:%Y-%m}",
    }
    return tuple(values[column] for column in by)
