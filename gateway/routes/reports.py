"""``/v1/reports``: who used what."""

from __future__ import annotations

from typing import Annotated, Final, Literal

import anyio.to_thread
from fastapi import APIRouter, Query, Request, Response

from bridge.errors import InputError
from gateway.auth import Caller, Principal
from gateway.compose import Parts
from gateway.ledger import report as ledger_report
from gateway.ledger.period import period_of, zone_of
from gateway.schemas.v1.problem import problems
from gateway.schemas.v1.report import UsageReport, report_csv, report_view

router = APIRouter(prefix="/v1/reports", tags=["reports"])

CSV: Final = "text/csv"
Form = Literal["json", "csv"]


@router.get(
    "/usage",
    response_model=UsageReport,
    responses={200: {"content": {CSV: {"schema": {"type": "string"}}}}, **problems(401, 422, 503)},
)
async def usage(
    request: Request,
    caller: Caller,
    *,
    start: Annotated[
        str | None, Query(alias="from", description="Date or ISO time; default: begin of this month.")
    ] = None,
    end: Annotated[
        str | None,
        Query(alias="to", description="Date or ISO time, not included; default: end of this month."),
    ] = None,
    by: Annotated[
        str, Query(description="Columns: tenant, user, class, flavor, door, day, month; separated by commas.")
    ] = "tenant",
    timezone: Annotated[str, Query(description="IANA zone of dates, days and months.")] = "UTC",
    output: Annotated[
        str | None, Query(alias="format", description="`json` or `csv`; default: what Accept says.")
    ] = None,
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


def _answer(report: ledger_report.Report, form: Form) -> Response:
    if form == "csv":
        headers = {"Content-Disposition": 'attachment; filename="usage.csv"'}
        return Response(
            report_csv(report), media_type=f"{CSV}; charset=utf-8; header=present", headers=headers
        )
    body = report_view(report).model_dump_json(by_alias=True, exclude_unset=True)
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
