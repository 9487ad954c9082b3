"""``python -m bridge.agent.relay``: stdin and stdout, joined to the agent's socket.

For whoever can start a process beside the agent but can't reach its socket, as tests on the host do by
``docker exec -i``. The agent sees this process's uid as its peer.
"""

from __future__ import annotations

import os
import selectors
import socket
import sys

from bridge.wellknown import AGENT_SOCKET

_CHUNK = 1 << 16


def main() -> None:
    """Carry bytes both ways until either side ends."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as agent:
        agent.connect(os.environ.get("SLUICE_AGENT_SOCKET", AGENT_SOCKET))
        ways = selectors.DefaultSelector()
        ways.register(sys.stdin.fileno(), selectors.EVENT_READ)
        ways.register(agent, selectors.EVENT_READ)
        while True:
            for key, _ in ways.select():
                if key.fileobj is agent:
                    chunk = agent.recv(_CHUNK)
                    _write_all(chunk)
                else:
                    chunk = os.read(sys.stdin.fileno(), _CHUNK)
                    agent.sendall(chunk)
                if not chunk:
                    return


def _write_all(chunk: bytes) -> None:
    while chunk:
        chunk = chunk[os.write(sys.stdout.fileno(), chunk) :]


if __name__ == "__main__":
    main()
