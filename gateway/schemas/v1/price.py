"""Price books and bills as version 1 of the API shows them, bills as JSON and as CSV."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from decimal import Decimal
from typing import Annotated

from pydantic import BaseModel, Field, PlainSerializer

from gateway.ledger.amounts import Usage
from gateway.price.bill import Bill, Column, Sum
from gateway.price.book import PriceBook
from gateway.price.money import digits_of
from gateway.schemas.v1.report import PeriodView, csv_text
from gateway.store.prices import BookVersion

Money = Annotated[
    Decimal,
    PlainSerializer(lambda amount: f"{amount:f}", return_type=str),
    Field(description="A decimal number as text, with the currency's own digits; never a float."),
]


class PriceBookView(BaseModel):
    """A version of a price book."""

    book: PriceBook | None = Field(description="Null: removed.")
    version: int
    changed_by: str
    changed_at: datetime


class PriceBooks(BaseModel):
    """All books in force."""

    items: list[PriceBookView]


class PriceBookHistory(BaseModel):
    """Every version of one book, newest first."""

    items: list[PriceBookView]


class CostFigures(BaseModel):
    """What it cost, and what for."""

    gpu_seconds: int
    covered_gpu_seconds: int = Field(description="Of the GPU-seconds: covered by the tenant's guarantee.")
    reserved_gpu_seconds: int = Field(description="Guaranteed GPU-seconds, used or not.")
    cpu_seconds: int
    memory_mib_seconds: int
    currency: str
    list_cost: Money = Field(description="Before coverage and discounts.")
    cost: Money


class CostColumns(BaseModel):
    """What a bill can be grouped by; only the columns asked for are there."""

    tenant: str | None = None
    user: str | None = Field(default=None, description="Empty for guarantees, which are the tenant's.")
    job_class: str | None = Field(default=None, alias="class")
    flavor: str | None = None
    door: str | None = None
    kind: str | None = Field(
        default=None, description="`used`, or `reserved`: the guarantee itself, used or not."
    )
    day: str | None = Field(default=None, description="In the zone of the price book.")
    month: str | None = Field(default=None, description="In the zone of the price book.")


class CostRow(CostFigures, CostColumns):
    """One row: its columns, then the figures."""


class UnpricedView(BaseModel):
    """Usage that no price is for; it is in no row."""

    tenant: str
    price_book: str
    flavor: str
    job_class: str = Field(serialization_alias="class")
    gpu_seconds: int
    cpu_seconds: int


class ProvisionalCost(BaseModel):
    """The part that belongs to runs without end and will still change."""

    gpu_seconds: int


class CostReport(BaseModel):
    """The bill of a period."""

    period: PeriodView
    by: list[Column]
    rows: list[CostRow]
    totals: list[CostFigures] = Field(description="One for each currency; the sum of all lines.")
    unpriced: list[UnpricedView]
    as_of: datetime | None = Field(description="Accounting has been read whole up to then.")
    provisional: ProvisionalCost


def book_view(version: BookVersion) -> PriceBookView:
    """Show a version of a book."""
    return PriceBookView(
        book=version.book,
        version=version.version,
        changed_by=version.actor,
        changed_at=version.recorded_at,
    )


def bill_view(bill: Bill) -> CostReport:
    """Show a bill."""
    period = bill.period
    return CostReport(
        period=PeriodView(start=period.start, end=period.end, timezone=str(period.zone)),
        by=list(bill.by),
        rows=[
            CostRow.model_validate(
                {**dict(zip(bill.by, row.keys, strict=True)), **_figures(row.currency, row.sum)}
            )
            for row in bill.rows
        ],
        totals=[
            CostFigures.model_validate(_figures(currency, total)) for currency, total in bill.totals.items()
        ],
        unpriced=[
            UnpricedView(
                tenant=key.tenant,
                price_book=key.book,
                flavor=key.flavor,
                job_class=key.job_class,
                gpu_seconds=usage.gpu_s,
                cpu_seconds=usage.cpu_s,
            )
            for key, usage in sorted(bill.unpriced.items(), key=_by_tenant)
        ],
        as_of=bill.as_of,
        provisional=ProvisionalCost(gpu_seconds=bill.provisional_gpu_s),
    )


def bill_csv(bill: Bill) -> str:
    """Write the rows as CSV, grouping columns first."""
    header = (*bill.by, *CostFigures.model_fields)
    return csv_text(header, ((row.keys, _figures(row.currency, row.sum).values()) for row in bill.rows))


def _by_tenant(item: tuple[object, Usage]) -> str:
    return repr(item[0])


def _figures(currency: str, found: Sum) -> Mapping[str, int | str | Decimal]:
    cent = Decimal(1).scaleb(-digits_of(currency))
    return {
        "gpu_seconds": found.usage.gpu_s,
        "covered_gpu_seconds": found.covered_gpu_s,
        "reserved_gpu_seconds": found.reserved_gpu_s,
        "cpu_seconds": found.usage.cpu_s,
        "memory_mib_seconds": found.usage.memory_mib_s,
        "currency": currency,
        "list_cost": found.list_cost.quantize(cent),
        "cost": found.cost.quantize(cent),
    }
