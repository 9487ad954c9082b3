"""``sluice env``: the gateway's address and a key as shell variables, for curl and scripts."""

from __future__ import annotations

import shlex
import sys

import typer

from gateway.cli.session import AsOption, JsonOption, StackOption, open_session, print_json


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("env")(env)


def env(*, as_user: AsOption = None, stack: StackOption = "sluice", as_json: JsonOption = False) -> None:
    """Print SLUICE_URL and SLUICE_API_KEY for the shell: eval "$(./sluice env --as ada)"."""
    session = open_session(stack, as_user)
    variables = {"SLUICE_URL": session.url, "SLUICE_API_KEY": session.key}
    if as_json:
        print_json(variables)
        return
    for name, value in variables.items():
        sys.stdout.write(f"export {name}={shlex.quote(value)}\n")
