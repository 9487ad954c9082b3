"""``sluice whoami``: who the gateway takes one for, and what is left of each limit."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import typer
from rich.console import Console
from rich.table import Table

from gateway.cli.client import Gateway
from gateway.cli.session import AsOption, JsonOption, StackOption, open_session, print_json
from gateway.cli.tables import plain_table

JOBS: Final = {"running": "running jobs", "submitted": "jobs queued and running"}
OTHERS: Final = {"cpus": "CPUs", "memory_mib": "memory (MiB)", "nodes": "nodes"}


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("whoami")(whoami)


def whoami(*, as_user: AsOption = None, stack: StackOption = "sluice", as_json: JsonOption = False) -> None:
    """Say who you are here: tenants, classes, limits, and what is left of them now."""
    with Gateway(open_session(stack, as_user)) as gateway:
        me = gateway.whoami()
    if as_json:
        print_json(me)
        return
    console = Console()
    for line in _about(me):
        console.print(line, markup=False, highlight=False)
    for tenant in me["tenants"]:
        console.print()
        for line in _tenant(tenant):
            console.print(line, markup=False, highlight=False)
        if tenant["jobs"]:
            console.print(_amounts(tenant))


def _about(me: Mapping[str, Any]) -> list[str]:
    rights = "administrator" if me["admin"] else f"may {', '.join(me['scopes'])}"
    lines = [f"{me['user']} ({me['credential']}; {rights})"]
    if not me["tenants"]:
        lines.append("a member of no tenant: jobs would be refused; ask the administrators to add you to one")
    elif me["default_tenant"]:
        lines.append(f"jobs that name no tenant (--account) are {me['default_tenant']}'s")
    if me["missing"]:
        lines.append(f"what is used now is not known: {me['missing']}")
    return lines


def _tenant(tenant: Mapping[str, Any]) -> list[str]:
    classes = ", ".join(_class(each, tenant["default_class"]) for each in tenant["classes"])
    lines = [f"{tenant['name']}: {tenant['role']}", f"  classes (--qos): {classes}"]
    if tenant["guarantees"]:
        given = ", ".join(f"{count} {flavor}" for flavor, count in tenant["guarantees"].items())
        lines.append(f"  guaranteed to production: {given}")
    if tenant["max_gpus_per_job"]:
        lines.append(f"  one job: at most {tenant['max_gpus_per_job']} GPUs")
    if tenant.get("budget"):
        lines.append(f"  budget of a month: {tenant['budget']} (used: sluice report)")
    return lines


def _class(each: Mapping[str, Any], default: str) -> str:
    longest = each["max_walltime_min"]
    words = f"up to {_time(longest)}" if longest else "no longest time"
    mark = ", the default" if each["name"] == default else ""
    return f"{each['name']} ({words}{mark})"


def _time(minutes: int) -> str:
    hours, rest = divmod(minutes, 60)
    return f"{hours} h" if not rest else f"{hours}:{rest:02d} h" if hours else f"{rest} min"


def _amounts(tenant: Mapping[str, Any]) -> Table:
    table = plain_table()
    table.add_column("Limit")
    for title in ("Most", "Used", "Left"):
        table.add_column(title, justify="right")
    for flavor, amount in tenant["gpus"].items():
        _row(table, f"{flavor} GPUs", amount)
    for whose, values in (("", tenant["jobs"]), ("yours: ", tenant["own"])):
        for name, words in JOBS.items():
            if name in values:
                _row(table, f"{whose}{words}", values[name])
    for whose, values in (("", tenant["others"]), ("yours: ", tenant["own"])):
        for name, words in OTHERS.items():
            if values.get(name, {}).get("left") is not None:
                _row(table, f"{whose}{words}", values[name])
    return table


def _row(table: Table, name: str, amount: Mapping[str, Any]) -> None:
    cells = [_number(amount["limit"]), str(amount["used"]), _number(amount["left"])]
    table.add_row(name, *cells)


def _number(value: int | None) -> str:
    return "no limit" if value is None else str(value)
