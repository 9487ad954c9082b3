"""``sluice report``: who used what, from the ledger."""

from __future__ import annotations

import re
import sys
from typing import Annotated, Any

import typer
from rich.console import Console

from bridge.errors import InputError
from gateway.cli.client import Gateway
from gateway.cli.report_tables import cost_table, usage_table
from gateway.cli.session import AsOption, JsonOption, StackOption, open_session, print_json
from gateway.cli.tables import moment


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("report")(report)


def report(
    *,
    month: Annotated[str | None, typer.Option("--month", metavar="YYYY-MM", help="A calendar month.")] = None,
    begin: Annotated[
        str | None, typer.Option("--from", metavar="DATE", help="First day, or an ISO time.")
    ] = None,
    end: Annotated[str | None, typer.Option("--to", metavar="DATE", help="Day after the last.")] = None,
    by: Annotated[
        str, typer.Option("--by", help="Columns, of: tenant,user,flavor,class,door,day,month; --cost: kind.")
    ] = "tenant,user",
    timezone: Annotated[
        str | None,
        typer.Option("--timezone", help="Zone of days and months (UTC; --cost: of the default price book)."),
    ] = None,
    cost: Annotated[bool, typer.Option("--cost", help="What it cost, by the price books.")] = False,
    as_csv: Annotated[bool, typer.Option("--csv", help="Print CSV.")] = False,
    as_user: AsOption = None,
    stack: StackOption = "sluice",
    as_json: JsonOption = False,
) -> None:
    """Report GPU-seconds and more, of all doors, per tenant and user."""
    if as_csv and as_json:
        raise InputError("--csv and --json can't both be printed; leave one out")
    query = {"by": by, **({"timezone": timezone} if timezone else {}), **period(month, begin, end)}
    with Gateway(open_session(stack, as_user)) as gateway:
        if as_csv:
            sys.stdout.write(gateway.cost_csv(query) if cost else gateway.report_csv(query))
            return
        found = gateway.cost(query) if cost else gateway.report(query)
    if as_json:
        print_json(found)
        return
    (show_bill if cost else show_report)(found, Console())


def show_report(found: dict[str, Any], console: Console) -> None:
    """Print a report as a table under its period."""
    if not found["rows"]:
        console.print(f"{title(found)}\nnothing was used")
        return
    console.print(usage_table(found, title=title(found), width=console.width))


def show_bill(found: dict[str, Any], console: Console) -> None:
    """Print a bill as a table under its period, and what it leaves out."""
    if found["rows"]:
        console.print(cost_table(found, title=title(found, view="Cost")))
    else:
        console.print(f"{title(found, view='Cost')}\nnothing that has a price was used")
    for each in found["unpriced"]:
        what = f"{each['flavor'] or 'no GPU'}, class {each['class'] or '-'}"
        where = f"no price in book {each['price_book']!r}: tenant {each['tenant']}, {what}"
        hours = f"{each['gpu_seconds'] / 3600:,.1f} GPU-hours"
        console.print(f"{where}, {hours}", markup=False, highlight=False)


def title(found: dict[str, Any], view: str = "Billed usage") -> str:
    """Return the period in words, and how fresh the numbers are."""
    span = found.get("period") or {}
    zone = str(span.get("timezone") or "UTC")
    begin, end = (moment(str(span.get(key) or ""), zone) for key in ("from", "to"))
    words = f"{view} from {begin} to {end}" + ("" if zone == "UTC" else f"\nby the clock of {zone}")
    return f"{words}\nas of {moment(found['as_of'])}" if found.get("as_of") else words


def period(month: str | None, begin: str | None, end: str | None) -> dict[str, str]:
    """Return the query's ``from`` and ``to`` (half-open); nothing given means the gateway's default."""
    if month is None:
        return {name: value for name, value in (("from", begin), ("to", end)) if value is not None}
    if begin is not None or end is not None:
        raise InputError("--month and --from/--to say the same thing twice; leave one out")
    matched = re.fullmatch(r"(\d{4})-(0[1-9]|1[0-2])", month)
    if matched is None:
        raise InputError(f"--month {month}: write a month as 2026-11")
    year, number = int(matched[1]), int(matched[2])
    following = f"{year + 1:04}-01" if number == 12 else f"{year:04}-{number + 1:02}"
    return {"from": f"{month}-01", "to": f"{following}-01"}
