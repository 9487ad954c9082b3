"""``sluice status``: every part, and which one is at the root when something is down."""

from __future__ import annotations

from dataclasses import asdict

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from bridge.cluster.engine import connect
from bridge.cluster.stack import Stack
from bridge.cluster.status import PartStatus, diagnose, parts_status, slurm_version
from bridge.errors import NotFound
from gateway.cli import exits
from gateway.cli.session import CHECKOUT, JsonOption, StackOption, print_json
from gateway.cli.tables import WIDE, plain_table


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("status")(status)


def status(*, stack: StackOption = "sluice", as_json: JsonOption = False) -> None:
    """Show every part: whether it answers, its image and address. Exit code 5 when one doesn't."""
    client = connect()
    known = Stack(stack, CHECKOUT).read("stack.json")
    expected = known.get("parts")
    parts = parts_status(client, stack, expected if isinstance(expected, list) else [])
    if not any(part.container for part in parts):
        raise NotFound(f"there is no stack {stack} on this machine; ./sluice up makes it")
    wrong = diagnose(parts)
    version = slurm_version(client, stack) or str(known.get("slurm", ""))
    if as_json:
        print_json(
            {
                "stack": stack,
                "url": known.get("url"),
                "slurm": version,
                "healthy": not wrong,
                "problem": wrong,
                "parts": [asdict(part) for part in parts],
            }
        )
    else:
        console = Console()
        console.print(_table(parts, width=console.width))
        if "kubernetes" not in known:
            console.print(f"Slurm {version or '(version unknown: slurmctld does not run)'}", highlight=False)
        if wrong:
            console.print(Text(wrong, style="bold red"))
    if wrong:
        raise typer.Exit(exits.UNAVAILABLE)


def _table(parts: tuple[PartStatus, ...], *, width: int) -> Table:
    """Return a line a part; what an ill one says takes the place of the images on a narrow terminal."""
    ill = any(part.detail for part in parts)
    with_image = width >= WIDE or not ill
    table = plain_table()
    for column in ("Part", "State", *(("Image",) if with_image else ()), "Address"):
        table.add_column(column, no_wrap=True)
    if ill:
        table.add_column("Says", overflow="fold")
    for part in parts:
        word = "healthy" if part.healthy else ("not healthy" if part.state == "running" else part.state)
        state = Text(word, style="green" if part.healthy else "bold red")
        image, says = ((part.image,) if with_image else ()), ((part.detail,) if ill else ())
        table.add_row(part.name, state, *image, part.address, *says)
    return table
