"""``sluice keys``: the user's API keys; for an administrator everybody's."""

from __future__ import annotations

import sys
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from gateway.cli.client import Gateway
from gateway.cli.session import AsOption, JsonOption, StackOption, open_session, print_json
from gateway.cli.tables import plain_table

WHAT = "Make, list and revoke API keys."

Scopes = Annotated[
    list[str] | None,
    typer.Option(
        "--scope", metavar="SCOPE", help="read, submit, keys, admin or tenant=NAME; repeated or with commas."
    ),
]
Days = Annotated[float | None, typer.Option("--days", min=0.001, help="Days until it expires.")]
Label = Annotated[str, typer.Option("--label", help="What it is for.")]
ForUser = Annotated[
    str | None, typer.Option("--user", help="Whose keys; another's than one's own for administrators.")
]
KeyId = Annotated[str, typer.Argument(metavar="KEY", help="Its id, as `sluice keys list` shows it.")]


def register(app: typer.Typer) -> None:
    """Add the command and its own commands."""
    commands = typer.Typer(help=WHAT, no_args_is_help=True)
    commands.command("create")(create)
    commands.command("list")(list_keys)
    commands.command("revoke")(revoke)
    app.add_typer(commands, name="keys")


def create(
    *,
    label: Label = "",
    scope: Scopes = None,
    days: Days = None,
    user: ForUser = None,
    as_user: AsOption = None,
    stack: StackOption = "sluice",
    as_json: JsonOption = False,
) -> None:
    """Make a key and print it, this once; without --scope it may read and submit."""
    words = [word for given in scope or [] for word in given.split(",") if word]
    expires_at = None if days is None else (datetime.now(UTC) + timedelta(days=days)).isoformat()
    wish = {"label": label, "scopes": words, "expires_at": expires_at, "user": user}
    with Gateway(open_session(stack, as_user)) as gateway:
        made = gateway.make_key(wish)
    if as_json:
        print_json(made)
        return
    until = f", until {made['expires_at'][:16]}Z" if made["expires_at"] else ""
    sys.stderr.write(
        f"key {made['id']} of {made['user']} may {', '.join(made['scopes'])}{until}; it is shown this once\n"
    )
    sys.stdout.write(f"{made['key']}\n")


def list_keys(
    *,
    user: ForUser = None,
    every: Annotated[bool, typer.Option("--all", help="Also those that have ended.")] = False,
    as_user: AsOption = None,
    stack: StackOption = "sluice",
    as_json: JsonOption = False,
) -> None:
    """List keys; never their secrets."""
    with Gateway(open_session(stack, as_user)) as gateway:
        found = [key for key in gateway.keys(user) if every or key["valid"]]
    if as_json:
        print_json(found)
        return
    Console().print(_table(found) if found else "no keys; sluice keys create makes one")


def revoke(
    key: KeyId, *, as_user: AsOption = None, stack: StackOption = "sluice", as_json: JsonOption = False
) -> None:
    """End a key for ever."""
    with Gateway(open_session(stack, as_user)) as gateway:
        gone = gateway.revoke_key(key)
    if as_json:
        print_json(gone)
    else:
        sys.stdout.write(f"key {gone['id']} of {gone['user']} is revoked\n")


def _table(found: list[dict[str, Any]]) -> Table:
    table = plain_table()
    for title in ("Key", "User", "Label", "May", "Used", "Ends"):
        table.add_column(title)
    for key in found:
        ends = "revoked" if key["revoked_at"] else (key["expires_at"] or "never")[:10]
        used = (key["last_used_at"] or "never")[:10]
        table.add_row(key["id"], key["user"], key["label"], ", ".join(key["scopes"]), used, ends)
    return table
