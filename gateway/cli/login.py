"""``sluice login``: a shell, or one command, on the login node as a user of the cluster."""

from __future__ import annotations

import os
import shutil
import sys
from typing import Annotated

import typer

from bridge.cluster.console import run_in
from bridge.cluster.engine import connect
from bridge.cluster.plan import container_name
from bridge.errors import InputError, NotFound, Unavailable
from gateway.cli.session import StackOption

UserArgument = Annotated[str, typer.Argument(metavar="USER", help="A user of the tenants' documents.")]
CommandArgument = Annotated[
    list[str] | None, typer.Argument(metavar="COMMAND", help="Instead of a shell.", show_default=False)
]


def register(app: typer.Typer) -> None:
    """Add the command: all after the user's name belongs to the command that is run there."""
    settings = {"ignore_unknown_options": True, "allow_interspersed_args": False}
    app.command("login", context_settings=settings)(login)


def login(user: UserArgument, command: CommandArgument = None, *, stack: StackOption = "sluice") -> None:
    """Open a shell on the login node, or run a command there; its exit code is passed on."""
    docker = shutil.which("docker")
    if docker is None:
        raise Unavailable("the docker command is not there; install Docker's client", part="docker")
    entry = run_in(connect(), stack, "login", ("getent", "passwd", user))
    if entry.code != 0 or ":/home/" not in entry.out:  # users of the system have their homes elsewhere
        raise NotFound(f"stack {stack} has no user {user!r}; ./sluice tenants lists the tenants' members")
    command = _command(command or [])
    terminal = sys.stdin.isatty() and sys.stdout.isatty()
    arguments = [docker, "exec", "--interactive", *(["--tty"] if terminal else []), "--user", "0"]
    if "TERM" in os.environ:
        arguments += ["--env", f"TERM={os.environ['TERM']}"]
    arguments += [container_name(stack, "login"), "login-as", user, *command]
    sys.stdout.flush()
    os.execv(docker, arguments)  # noqa: S606 - nothing is left to do here, and signals reach it directly


def _command(given: list[str]) -> list[str]:
    """Return what is run: one word is a line for the shell, as with ssh; more are taken as they are."""
    if given and given[0] == "--":  # as others write it between a user and a command
        given = given[1:]
    elif given and given[0].startswith("-"):
        raise InputError(
            f"{given[0]} stands behind the user; options of login come before: ./sluice login --help"
        )
    return ["bash", "-lc", given[0]] if len(given) == 1 else given
