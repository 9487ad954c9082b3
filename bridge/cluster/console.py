"""Runs commands inside a part, with input and output.

What flows in: a stack, a part, an argument vector, bytes for its input. What flows out: exit code and both
outputs. Interactive shells are the CLI's (`gateway.cli.login`).
"""

from __future__ import annotations

import socket
from dataclasses import dataclass
from typing import Any

import docker
from docker.utils.socket import demux_adaptor, frames_iter

from bridge.cluster.engine import calling
from bridge.cluster.plan import container_name
from bridge.errors import Unavailable


@dataclass(frozen=True, slots=True)
class Ran:
    """What a command in a part said."""

    code: int
    out: str
    err: str


def run_in(
    client: docker.DockerClient,
    stack: str,
    part: str,
    command: tuple[str, ...],
    *,
    stdin: bytes = b"",
    user: str = "",
) -> Ran:
    """Run a command and wait for its end.

    Raises
    ------
    Unavailable
        The part doesn't run.
    """
    name = container_name(stack, part)
    try:
        container = client.api.inspect_container(name)
    except docker.errors.NotFound:
        container = {"State": {"Running": False}}
    if not container["State"]["Running"]:
        raise Unavailable(f"part {part} of stack {stack} does not run; ./sluice up starts it", part=part)
    with calling(f"docker exec -i {name} {' '.join(command)}"):
        created = client.api.exec_create(name, list(command), stdin=True, user=user)
        stream = client.api.exec_start(created["Id"], socket=True)
        out, err = _talk(stream, stdin)
        code = client.api.exec_inspect(created["Id"])["ExitCode"]
    return Ran(int(code), out.decode(errors="replace"), err.decode(errors="replace"))


def _talk(stream: Any, stdin: bytes) -> tuple[bytes, bytes]:  # noqa: ANN401 - the SDK's socket has many types
    raw = getattr(stream, "_sock", stream)
    raw.settimeout(None)
    try:
        raw.sendall(stdin)
        # The command sees the end of its input; only this direction is closed.
        raw.shutdown(socket.SHUT_WR)
        parts: tuple[list[bytes], list[bytes]] = ([], [])
        for stream_id, data in frames_iter(stream, tty=False):  # type: ignore[no-untyped-call]
            out, err = demux_adaptor(stream_id, data)
            parts[0].append(out or b"")
            parts[1].append(err or b"")
    finally:
        stream.close()
    return b"".join(parts[0]), b"".join(parts[1])
