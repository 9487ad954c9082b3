"""Plans of the bridge on a terminal: shown, confirmed, told as done; and the history of documents.

What flows in: the bridge's answers as JSON. What flows out: text, and a yes or no.
"""

from __future__ import annotations

import difflib
import sys
from collections.abc import Iterator, Mapping
from typing import Any

import typer
from rich.console import Console

from bridge.errors import InputError
from gateway.cli.session import print_json
from gateway.cli.tables import plain_table

Answer = Mapping[str, Any]


def show_plan(answer: Answer, *, as_json: bool) -> None:
    """Print what is to be done."""
    if as_json:
        print_json(answer)
    else:
        _table(answer, "To do")


def show_done(answer: Answer, *, as_json: bool) -> None:
    """Print what was done."""
    if as_json:
        print_json(answer)
    else:
        _table(answer, "Done")


def confirmed(plan: Answer, *, yes: bool, as_json: bool) -> bool:
    """Show a plan and ask; True when there is something to do and it shall be done.

    Raises
    ------
    InputError
        There is nobody to ask, and no ``--yes``.
    """
    if as_json:
        if not yes:
            raise InputError("--json asks nobody: add --yes, or look with `sluice tenants validate --json`")
        return True
    _table(plan, "To do")
    if not plan["plan"]:
        return False
    if yes:
        return True
    if not sys.stdin.isatty():
        raise InputError("nothing was done: add --yes to carry this plan out without being asked")
    return typer.confirm("Carry it out?")


def text_changes(answer: Answer) -> Iterator[str]:
    """Yield the documents' changes as a unified diff."""
    for change in answer["changes"]:
        yield from _diff(change)


def history_lines(answer: Answer) -> Iterator[str]:
    """Yield each entry: when, who, what, and the difference."""
    entries = answer["entries"]
    if not entries:
        yield "no changes are recorded\n"
    for entry in entries:
        yield f"{entry['at']}  {entry['actor']}  {entry['change']} {entry['tenant']}\n"
        yield from (f"    {line}" for line in _diff(entry))


def _diff(change: Mapping[str, Any]) -> Iterator[str]:
    before, after = ((change[side] or "").splitlines() for side in ("before", "after"))
    names = {
        side: f"{change['tenant']} ({word})" if change[side] is not None else "/dev/null"
        for side, word in (("before", "before"), ("after", "after"))
    }
    lines = difflib.unified_diff(before, after, names["before"], names["after"], lineterm="")
    yield from (f"{line}\n" for line in lines)


def _table(answer: Answer, title: str) -> None:
    console = Console()
    steps = answer["plan"]
    if not steps:
        console.print("nothing to change: all of it is in force")
        return
    table = plain_table()
    for column in (title, "What", "Name", "Detail"):
        table.add_column(column, overflow="fold")
    for step in steps:
        detail = str(step["detail"])
        if step.get("drift"):
            detail = f"{detail} (drift: changed in Slurm by hand)".strip()
        table.add_row(step["action"], step["kind"], step["name"], detail)
    console.print(table)
