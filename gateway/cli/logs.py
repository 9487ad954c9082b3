"""``sluice logs``: what a part of the stack printed."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from typing import Annotated

import docker
import typer

from bridge import wellknown
from bridge.cluster.engine import calling, connect
from bridge.cluster.plan import container_name
from bridge.errors import NotFound
from gateway.cli.session import JsonOption, StackOption

PartArgument = Annotated[str, typer.Argument(metavar="PART", help="As in ./sluice status, e.g. slurmctld.")]
FollowOption = Annotated[bool, typer.Option("--follow", "-f", help="Go on with what comes.")]
TailOption = Annotated[
    int | None, typer.Option("--tail", "-n", min=0, help="Only the last lines (default: all that is kept).")
]


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("logs")(logs)


def logs(
    part: PartArgument,
    *,
    follow: FollowOption = False,
    tail: TailOption = None,
    stack: StackOption = "sluice",
    as_json: JsonOption = False,
) -> None:
    """Print a part's log; with --json one object a line, with its time."""
    client = connect()
    name = container_name(stack, part)
    with calling(f"docker logs {name}"):
        try:
            container = client.containers.get(name)
        except docker.errors.NotFound as error:
            raise NotFound(_no_part(client, stack, part)) from error
        lines = container.logs(
            stream=True, follow=follow, tail="all" if tail is None else tail, timestamps=as_json
        )
        try:
            _print(lines, as_json=as_json)
        except (KeyboardInterrupt, BrokenPipeError):
            raise typer.Exit from None


def _print(lines: Iterable[bytes], *, as_json: bool) -> None:
    for line in lines:
        if not as_json:
            sys.stdout.buffer.write(line)
        else:
            at, _, text = line.decode(errors="replace").rstrip("\n").partition(" ")
            sys.stdout.buffer.write(f"{json.dumps({'at': at, 'line': text})}\n".encode())
        sys.stdout.buffer.flush()


def _no_part(client: docker.DockerClient, stack: str, part: str) -> str:
    listed = client.api.containers(all=True, filters={"label": f"{wellknown.LABEL_STACK}={stack}"})
    names = sorted(entry["Labels"].get(wellknown.LABEL_PART, "") for entry in listed)
    if not names:
        return f"there is no stack {stack} on this machine; ./sluice up makes it"
    return f"stack {stack} has no part {part!r}; its parts are {', '.join(name for name in names if name)}"
