"""The answering side: a table of handlers, peers checked by the kernel's word for their uid."""

from __future__ import annotations

import contextlib
import socket
import socketserver
import struct
import threading
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import structlog

from bridge.errors import Denied, InputError, SluiceError
from bridge.wire.frame import ConnectionLost, error_frame, receive_frame, send_frame

Handler = Callable[[Mapping[str, Any]], Any]
"""Takes the request's args; returns a msgpack-able value, or an iterator of them to stream."""

_log = structlog.get_logger(__name__)


class Server:
    """Answers requests on a Unix socket, one thread a connection.

    Parameters
    ----------
    path
        Where the socket is made (mode 0666: the check is on the peer's uid, not on the file's mode).
    handlers
        Operation name to handler. A handler raises `SluiceError` for what the caller should read;
        anything else is logged with its traceback and answered as one plain sentence.
    allowed_uids
        uids that may speak; anybody else gets one `denied` error and the connection is closed.
    """

    def __init__(self, path: str, handlers: Mapping[str, Handler], allowed_uids: frozenset[int]) -> None:
        self.path = Path(path)
        self.handlers = dict(handlers)
        self.allowed_uids = allowed_uids
        server = self

        class Connection(socketserver.BaseRequestHandler):
            def handle(self) -> None:
                server._serve(self.request)

        class Listener(socketserver.ThreadingUnixStreamServer):
            daemon_threads = True
            request_queue_size = 128

        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.path.unlink(missing_ok=True)
        self._listener = Listener(str(self.path), Connection)
        self.path.chmod(0o666)

    def serve_forever(self) -> None:
        """Serve until `shutdown` is called from another thread."""
        serve(self._listener)

    def start(self) -> None:
        """Serve in a daemon thread."""
        threading.Thread(target=self.serve_forever, name=f"wire-{self.path.name}", daemon=True).start()

    def shutdown(self) -> None:
        """Stop serving and remove the socket."""
        end(self._listener)
        self.path.unlink(missing_ok=True)

    def _serve(self, sock: socket.socket) -> None:
        with contextlib.suppress(ConnectionLost, TimeoutError):
            uid = peer_uid(sock)
            if uid not in self.allowed_uids:
                send_frame(sock, error_frame(Denied(f"uid {uid} may not speak to {self.path.name}")))
                return
            while (request := receive_frame(sock)) is not None:
                answer(sock, request, self.handlers)


def answer(sock: socket.socket, request: Mapping[str, Any], handlers: Mapping[str, Handler]) -> None:
    """Carry out one request and send what it gives."""
    op = str(request.get("op"))
    try:
        handler = handlers.get(op)
        if handler is None:
            raise InputError(f"unknown operation {op!r}", op=op)
        args = request.get("args") or {}
        if not isinstance(args, dict):
            raise InputError(f"args of {op} must be a map", op=op)
        result = handler(args)
        if isinstance(result, Iterator):
            for item in result:
                send_frame(sock, {"item": item})
            result = None
        send_frame(sock, {"done": result})
    except SluiceError as error:
        send_frame(sock, error_frame(error))
    except (ConnectionLost, TimeoutError):
        raise
    except Exception:  # noqa: BLE001 - the last line of defence of a server thread
        _log.exception("handler failed", op=op)
        send_frame(sock, error_frame(SluiceError(f"{op} failed inside; its log has the reason", op=op)))


def serve(listener: socketserver.TCPServer) -> None:
    """Take connections until `end` is called from another thread."""
    listener.serve_forever(poll_interval=None)  # type: ignore[arg-type] # selectors take None


def end(listener: socketserver.TCPServer) -> None:
    """Stop taking connections, at once, and close the socket."""
    # Linux reports a listening socket that is shut down as readable, which wakes `serve`: it need not look
    # every now and then whether it shall end.
    with contextlib.suppress(OSError):
        listener.socket.shutdown(socket.SHUT_RDWR)
    listener.shutdown()
    listener.server_close()


def peer_uid(sock: socket.socket) -> int:
    """Return the uid of the process at the other end, by SO_PEERCRED."""
    _pid, uid, _gid = struct.unpack("3i", sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
    return int(uid)
