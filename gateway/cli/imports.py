"""``sluice import``: what a site has already, as tenant documents in a folder of the caller's."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from bridge.errors import InputError
from gateway.cli.session import JsonOption, StackOption, print_json
from gateway.cli.tenants import tell_bridge

Folder = Annotated[Path, typer.Option("--to", help="Folder for the documents; made when it is missing.")]


def register(app: typer.Typer) -> None:
    """Add the command."""
    commands = typer.Typer(no_args_is_help=True, help="Describe what a site has already.")
    commands.callback()(imports)
    commands.command("slurm")(slurm)
    app.add_typer(commands, name="import")


def imports() -> None:
    """Describe what a site has already."""


def slurm(
    *, to: Folder = Path("tenants"), stack: StackOption = "sluice", as_json: JsonOption = False
) -> None:
    """Write a tenant document for each account of Slurm that has none; changes nothing in Slurm."""
    answer = tell_bridge(stack, "import")
    documents, notes = answer["documents"], answer["notes"]
    for document in documents:
        if (to / document["file"]).exists():
            raise InputError(f"{to / document['file']} is there already; name an empty folder with --to")
    to.mkdir(parents=True, exist_ok=True)
    for document in documents:
        (to / document["file"]).write_text(document["text"], encoding="utf-8")
    if as_json:
        print_json({"folder": str(to), "documents": len(documents), "notes": notes})
        return
    console = Console(soft_wrap=True)
    for note in notes:
        console.print(note)
    console.print(f"{len(documents)} documents are in {to}; next: sluice tenants apply {to}")
