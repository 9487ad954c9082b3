"""``sluice bench``: runs what is in ``benchmarks/`` and prints figures beside their targets."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Final

import typer
from rich.console import Console

from bridge.errors import InputError
from gateway.cli import exits
from gateway.cli.session import CHECKOUT, StackOption
from gateway.cli.tables import plain_table

FOLDER: Final = CHECKOUT / "benchmarks"

NamesArgument = Annotated[
    list[str] | None, typer.Argument(metavar="[NAME]...", help="Which ones; all without a name.")
]
OutOption = Annotated[
    Path | None,
    typer.Option("--out", metavar="DIR", help="Where results go as JSON (default: .sluice/bench)."),
]


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("bench")(bench)


def bench(
    names: NamesArgument = None,
    *,
    out: OutOption = None,
    stack: StackOption = "sluice",
    list_only: Annotated[bool, typer.Option("--list", help="Only say which there are.")] = False,
) -> None:
    """Measure: each benchmark in a process of its own, with its figures as JSON."""
    console = Console(soft_wrap=True)
    known = known_benchmarks()
    if list_only:
        for name, path in known.items():
            console.print(f"{name}: {first_line(path)}", highlight=False, markup=False)
        return
    chosen = names if names else [*known]
    unknown = [name for name in chosen if name not in known]
    if unknown:
        raise InputError(f"there is no benchmark {unknown[0]}; choose among {', '.join(known)}")
    folder = out or CHECKOUT / ".sluice" / "bench" / f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}"
    folder.mkdir(parents=True, exist_ok=True)
    failed = [name for name in chosen if not _run(known[name], folder, stack, console)]
    console.print(f"results: {folder}", highlight=False, markup=False)
    if failed:
        console.print(f"failed: {', '.join(failed)}", highlight=False, markup=False)
        raise typer.Exit(exits.FAILED)


def known_benchmarks() -> dict[str, Path]:
    """Return the scripts by name."""
    return {path.stem: path for path in sorted(FOLDER.glob("*.py"))}


def first_line(path: Path) -> str:
    """Return what a script says it measures."""
    return path.read_text(encoding="utf-8").partition("\n")[0].removeprefix('"""').removesuffix('"""')


def _run(path: Path, folder: Path, stack: str, console: Console) -> bool:
    environment = {**os.environ, "PYTHONPATH": str(CHECKOUT), "SLUICE_STACK": stack}
    console.print(f"[bold]{path.stem}[/bold]")
    done = subprocess.run(
        [sys.executable, str(path)],
        cwd=CHECKOUT,
        env=environment,
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    if done.returncode:
        return False
    (folder / f"{path.stem}.json").write_text(done.stdout, encoding="utf-8")
    table = plain_table()
    table.add_column("Figure")
    table.add_column("Value", justify="right")
    for name, value in figures(done.stdout):
        table.add_row(name, value)
    console.print(table)
    return True


def figures(text: str) -> list[tuple[str, str]]:
    """Read a benchmark's answer: JSON, or lines that are shown as they are."""
    try:
        found = json.loads(text)
    except ValueError:
        return [(line, "") for line in text.splitlines()]
    pairs = found.items() if isinstance(found, dict) else enumerate(found)
    return [
        (str(name), json.dumps(value) if isinstance(value, dict | list) else str(value))
        for name, value in pairs
    ]
