"""``sluice down``: removes exactly what ``up`` made."""

from __future__ import annotations

from collections import Counter
from typing import Annotated

import typer
from rich.console import Console

from bridge.cluster.flow import bring_down
from bridge.cluster.stack import Stack
from gateway.cli.progress import Progress
from gateway.cli.session import CHECKOUT, JsonOption, StackOption, print_json

KeepOption = Annotated[
    bool, typer.Option("--keep-data", help="Keep the volumes: accounts, usage, homes, secrets.")
]
ImagesOption = Annotated[
    bool, typer.Option("--images", help="Remove built images too (those of other stacks in use stay).")
]


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("down")(down)


def down(
    *,
    stack: StackOption = "sluice",
    keep_data: KeepOption = False,
    images: ImagesOption = False,
    as_json: JsonOption = False,
) -> None:
    """Remove the stack: its containers, network and volumes, and nothing else."""
    words = Console(stderr=True)
    local = Stack(stack, CHECKOUT)
    with Progress(words) as report, local.locked(report):
        removed = bring_down(local, report, keep_data=keep_data, images=images)
    if as_json:
        print_json({"stack": stack, "removed": list(removed)})
        return
    counts = Counter(thing.split(" ", 1)[0] for thing in removed)
    said = ", ".join(f"{count} {kind}{'s' if count > 1 else ''}" for kind, count in counts.items())
    Console().print(f"stack {stack}: removed {said or 'nothing, there was nothing'}")
