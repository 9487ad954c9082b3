"""``sluice lint``: what a batch script asks, and what may be meant otherwise."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from gateway.cli.client import Gateway
from gateway.cli.preview import show_lint
from gateway.cli.session import AsOption, JsonOption, StackOption, open_session
from gateway.cli.submit import read_script


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(
        "lint",
        context_settings={"allow_interspersed_args": False, "ignore_unknown_options": False},
    )(lint)


def lint(
    script: Annotated[str, typer.Argument(metavar="SCRIPT", help="A batch script; - reads standard input.")],
    arguments: Annotated[
        list[str] | None,
        typer.Argument(metavar="[SBATCH OPTIONS]", help="As on sbatch's command line."),
    ] = None,
    *,
    as_user: AsOption = None,
    stack: StackOption = "sluice",
    as_json: JsonOption = False,
) -> None:
    """Say what a batch script asks, after precedence; nothing is submitted."""
    text = read_script(script)
    query: dict[str, str | list[str]] = {"arg": arguments or []}
    if script != "-":
        query["file_name"] = Path(script).name
    with Gateway(open_session(stack, as_user)) as gateway:
        show_lint(gateway.look_at(text, by="scripts:lint", query=query), as_json=as_json)
