"""``sluice audit``: who wrote what over HTTP."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Annotated, Any, Final

import typer
from rich.console import Console

from gateway.cli.client import Gateway
from gateway.cli.session import AsOption, JsonOption, StackOption, open_session, print_json
from gateway.cli.tables import plain_table

SHOWN: Final = 60
"""Characters of what was before and after; ``--json`` has all."""


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("audit")(audit)


def audit(
    *,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, max=1000, help="Entries at most.")] = 20,
    as_user: AsOption = None,
    stack: StackOption = "sluice",
    as_json: JsonOption = False,
) -> None:
    """List who wrote what: your own, a manager's tenants, for an administrator all."""
    with Gateway(open_session(stack, as_user)) as gateway:
        found = gateway.audit(limit)
    if as_json:
        print_json(found)
        return
    if not found:
        Console().print("nothing was written yet")
        return
    table = plain_table()
    for title in ("When (UTC)", "User", "With", "Did", "To", "Before and after"):
        table.add_column(title, overflow="fold")
    for entry in found:
        when = str(entry["at"])[:19].replace("T", " ")
        words = (when, entry["user"], entry["actor"], entry["action"], entry["object"], _change(entry))
        table.add_row(*words)
    Console().print(table)


def _change(entry: Mapping[str, Any]) -> str:
    sides = [_short(entry[side]) for side in ("before", "after") if entry[side] is not None]
    return " -> ".join(sides)


def _short(value: Any) -> str:  # noqa: ANN401 - whatever the write was about
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= SHOWN else f"{text[: SHOWN - 1]}…"
