"""Stands for `bridge.agent.native_child` in tests of the pool: no Slurm, any behaviour.

Speaks the wire's frames by itself, so that starting it costs next to nothing.
"""

from __future__ import annotations

import os
import socket
import struct
import sys
import time
from collections.abc import Mapping
from typing import Any

import msgpack


def send(parent: socket.socket, message: Mapping[str, Any]) -> None:
    body: bytes = msgpack.packb(message)
    parent.sendall(struct.pack(">I", len(body)) + body)


def receive(parent: socket.socket) -> dict[str, Any] | None:
    head = parent.recv(4)
    if not head:
        return None
    message: dict[str, Any] = msgpack.unpackb(parent.recv(struct.unpack(">I", head)[0]))
    return message


def main() -> None:
    if "NATIVE_DOUBLE_FAILS" in os.environ.get("LANG", ""):
        print("slurm.conf is missing", file=sys.stderr)
        sys.exit(1)
    with socket.socket(fileno=os.dup(0)) as parent:
        send(parent, {"pyslurm": "double", "said": []})
        while (request := receive(parent)) is not None:
            op, args = request["op"], request["args"]
            if op == "die":
                print("assertion failed", file=sys.stderr)
                os.abort()
            if op == "sleep":
                time.sleep(args["seconds"])
            if op == "refuse":
                failed = {"errno": args["errno"], "words": "Slurm's words"}
                send(parent, {"failed": failed, "said": args["said"]})
                continue
            send(parent, {"done": os.getpid(), "said": ["beside it"]})


if __name__ == "__main__":
    main()
