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
from bridge.errors import NotFound, Unavailable
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
    if command and command[0] == "--":  # as others write it between a user and a command
        command = command[1:]
    terminal = sys.stdin.isatty() and sys.stdout.isatty()
    arguments = [docker, "exec", "--interactive", *(["--tty"] if terminal else []), "--user", "0"]
    if "TERM" in os.environ:
        arguments += ["--env", f"TERM={os.environ['TERM']}"]
    arguments += [container_name(stack, "login"), "login-as", user, *(command or [])]
    sys.stdout.flush()
    os.execv(docker, arguments)  # noqa: S606 - nothing is left to do here, and signals reach it directly
