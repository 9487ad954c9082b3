"""``python -m gateway.file_agent``: serve until SIGTERM."""

from __future__ import annotations

import signal
import socket
import sys
import threading
from types import FrameType

import structlog
from pydantic import ValidationError

from bridge.wire import Server
from gateway.file_agent.config import Settings
from gateway.file_agent.serve import Files
from gateway.file_agent.spawner import start_spawner
from gateway.file_agent.users import Users

_log = structlog.get_logger(__name__)


def main() -> int:
    """Fork the spawner, serve; returns the exit status (1 when the spawner died)."""
    try:
        settings = Settings()
    except ValidationError as error:
        for problem in error.errors():
            _log.error("bad setting", setting=problem["loc"], reason=problem["msg"])
        return 2
    control = start_spawner()
    files = Files(
        users=Users(settings.users_dir),
        roots=settings.shared_roots,
        deadline_s=settings.deadline_s,
        control=control,
    )
    server = Server(settings.socket, files.handlers(), frozenset({settings.client_uid}))
    return _serve(server, control, settings)


def _serve(server: Server, control: socket.socket, settings: Settings) -> int:
    status = 0
    ended = threading.Event()

    def stop(_number: int, _frame: FrameType | None) -> None:
        ended.set()

    def watch_spawner() -> None:
        nonlocal status
        control.recv(1)  # the spawner never writes: only its end wakes this
        if not ended.is_set():
            _log.error("the spawner ended; this process ends too, so that it is started afresh")
            status = 1
            ended.set()

    signal.signal(signal.SIGTERM, stop)
    signal.signal(signal.SIGINT, stop)
    threading.Thread(target=watch_spawner, name="spawner-watch", daemon=True).start()
    server.start()
    _log.info("serving", socket=settings.socket, roots=settings.shared_roots, client_uid=settings.client_uid)
    ended.wait()
    server.shutdown()
    control.close()
    return status


if __name__ == "__main__":
    sys.exit(main())
