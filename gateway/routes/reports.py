"""``/v1/reports``: who used what."""

from __future__ import annotations

from typing import Annotated, Final, Literal

import anyio.to_thread
from fastapi import APIRouter, Query, Request, Response
from pydantic import BaseModel

from bridge.errors import InputError
from gateway.auth import Caller, Principal
from gateway.compose import Parts
from gateway.ledger import report as ledger_report
from gateway.ledger.period import period_of, zone_of
from gateway.price.bill import Bill, columns_of
from gateway.price.book import DEFAULT_BOOK
from gateway.schemas.v1.price import CostReport, bill_csv, bill_view
from gateway.schemas.v1.problem import problems
from gateway.schemas.v1.report import UsageReport, report_csv, report_view

router = APIRouter(prefix="/v1/reports", tags=["reports"])

CSV: Final = "text/csv"
Form = Literal["json", "csv"]


Start = Annotated[
    str | None, Query(alias="from", description="Date or ISO time; default: begin of this month.")
]
End = Annotated[
    str | None,
    Query(alias="to", description="Date or ISO time, not included; default: end of this month."),
]
Output = Annotated[
    str | None, Query(alias="format", description="`json` or `csv`; default: what Accept says.")
]


@router.get(
    "/usage",
    response_model=UsageReport,
    responses={200: {"content": {CSV: {"schema": {"type": "string"}}}}, **problems(401, 422, 503)},
)
async def usage(
    request: Request,
    caller: Caller,
    *,
    start: Start = None,
    end: End = None,
    by: Annotated[
        str, Query(description="Columns: tenant, user, class, flavor, door, day, month; separated by commas.")
    ] = "tenant",
    timezone: Annotated[str, Query(description="IANA zone of dates, days and months.")] = "UTC",
    output: Output = None,
) -> Response:
    """Report billed usage: AllocTRES times seconds of all doors, from slurmdbd's rows.

    A member sees the own tenants, an administrator all. Runs that go on are in it up to `as_of`.
    """
    parts: Parts = request.app.state.parts
    form = _form(output, request.headers.get("accept", ""))
    query = ledger_report.Query(
        period=period_of(start, end, zone_of(timezone), now=parts.clock()),
        by=ledger_report.by_of(by),
        tenants=visible_tenants(caller),
    )
    report = await parts.ledger.report(query)
    # Written in a thread: a report of every column has tens of thousands of rows.
    return await anyio.to_thread.run_sync(_answer, report, form)


@router.get(
    "/cost",
    response_model=CostReport,
    responses={200: {"content": {CSV: {"schema": {"type": "string"}}}}, **problems(401, 404, 422, 503)},
)
async def cost(
    request: Request,
    caller: Caller,
    *,
    start: Start = None,
    end: End = None,
    by: Annotated[
        str, Query(description="Columns: tenant, user, class, flavor, door, kind, day, month; with commas.")
    ] = "tenant",
    timezone: Annotated[
        str | None, Query(description="IANA zone of `from` and `to`; default: that of the default book.")
    ] = None,
    output: Output = None,
) -> Response:
    """Report what usage and guarantees cost, by the price books.

    An administrator sees all, a manager the own tenants, a member the own lines. Days are those of each
    tenant's book; a line is one payer's day, rounded once, so that every grouping adds up to the same cent.
    """
    parts: Parts = request.app.state.parts
    form = _form(output, request.headers.get("accept", ""))
    books = await parts.prices.books()
    default = books[DEFAULT_BOOK].book if DEFAULT_BOOK in books else None
    zone = zone_of(timezone or (default.timezone if default else "UTC"))
    period = period_of(start, end, zone, now=parts.clock())
    columns = columns_of(by)
    managed = frozenset(name for name, role in caller.tenants.items() if role == "manager")
    own = frozenset(caller.tenants) - managed
    if caller.admin:
        bill = await parts.prices.bill(period, by=columns, tenants=None)
    else:
        bill = await parts.prices.bill(period, by=columns, tenants=managed, own=(caller.user, own))
    return await anyio.to_thread.run_sync(_priced, bill, form)


def _priced(bill: Bill, form: Form) -> Response:
    return _written(bill_csv(bill), "cost") if form == "csv" else _shown(bill_view(bill))


def _answer(report: ledger_report.Report, form: Form) -> Response:
    return _written(report_csv(report), "usage") if form == "csv" else _shown(report_view(report))


def _written(text: str, name: str) -> Response:
    headers = {"Content-Disposition": f'attachment; filename="{name}.csv"'}
    return Response(text, media_type=f"{CSV}; charset=utf-8; header=present", headers=headers)


def _shown(view: BaseModel) -> Response:
    body = view.model_dump_json(by_alias=True, exclude_unset=True)
    return Response(body, media_type="application/json")


def visible_tenants(caller: Principal) -> frozenset[str] | None:
    """Return whose usage the caller may see; None means everybody's."""
    return None if caller.admin else frozenset(caller.tenants)


def _form(asked: str | None, accept: str) -> Form:
    if asked is None:
        return "csv" if accept.split(";", 1)[0].split(",", 1)[0].strip().lower() == CSV else "json"
    match asked.lower():
        case "csv":
            return "csv"
        case "json":
            return "json"
        case _:
            raise InputError(f"format={asked} is not known; give json or csv", parameter="format")
