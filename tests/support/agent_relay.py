"""The slurm-agent of a stack as a socket on the host: each connection is a ``docker exec`` of its relay."""

from __future__ import annotations

import contextlib
import socket
import subprocess
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

from bridge.wellknown import AGENT_SOCKET


@contextlib.contextmanager
def agent_socket(container: str, *, agent: str = AGENT_SOCKET) -> Iterator[str]:
    """Listen on a socket of our own and hand every connection to the one named `agent` in `container`."""
    with (
        tempfile.TemporaryDirectory(prefix="agent-relay-") as folder,
        socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener,
    ):
        path = str(Path(folder, "agent.sock"))
        listener.bind(path)
        listener.listen(64)
        relays: list[subprocess.Popen[bytes]] = []
        variable = f"SLUICE_AGENT_SOCKET={agent}"
        command = ["docker", "exec", "-i", "-e", variable, container, "python", "-m", "bridge.agent.relay"]
        threading.Thread(target=_accept, args=(listener, command, relays), daemon=True).start()
        try:
            yield path
        finally:
            # Closing alone does not wake the thread that waits in accept.
            with contextlib.suppress(OSError):
                listener.shutdown(socket.SHUT_RDWR)
            for relay in relays:
                relay.kill()
                relay.wait()


def _accept(listener: socket.socket, command: list[str], relays: list[subprocess.Popen[bytes]]) -> None:
    while True:
        try:
            connection, _ = listener.accept()
        except OSError:
            return
        with connection:
            # docker's client keeps its own copy of the descriptor: the connection lives as long as it.
            end = connection.fileno()
            relays.append(subprocess.Popen(command, stdin=end, stdout=end, stderr=subprocess.DEVNULL))
