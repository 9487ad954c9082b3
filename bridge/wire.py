"""Calls between Sluice's own processes: framed messages on a Unix socket.

A frame is a 4-byte big-endian length and a msgpack map. A request is ``{"op": str, "args": map}``; an
answer is zero or more ``{"item": value}`` frames and one ``{"done": value}`` or ``{"error": {"code",
"message", "details"}}``. One request at a time on a connection; a client keeps a few connections. Who
may speak is decided by SO_PEERCRED: the kernel's word for the peer's uid, never something it sent.

What doesn't belong here: what the operations are (each server has its own table of handlers).
"""

from __future__ import annotations

import contextlib
import queue
import socket
import socketserver
import struct
import threading
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import msgpack
import structlog

from bridge.errors import Denied, InputError, OutcomeUnknown, SluiceError, Unavailable, by_code

MAX_FRAME: Final = 64 * 1024 * 1024
"""Bytes; a script is at most 4 MiB, a listing of 10,000 jobs about 10 MiB."""

Handler = Callable[[Mapping[str, Any]], Any]
"""Takes the request's args; returns a msgpack-able value, or an iterator of them to stream."""

_log = structlog.get_logger(__name__)
_LENGTH = struct.Struct(">I")


class ConnectionLost(Exception):
    """The peer closed or reset the connection in the middle of an exchange."""


def send_frame(sock: socket.socket, message: Mapping[str, Any]) -> None:
    """Write one frame; raises `InputError` above `MAX_FRAME`, `ConnectionLost` when the peer is gone."""
    try:
        body: bytes = msgpack.packb(message, use_bin_type=True, datetime=True)
    except (
        OverflowError,
        ValueError,
    ) as error:  # an integer of more than 64 bits, a lone surrogate, a deep nest
        raise InputError("a value of the request can't be sent: too large, too deep or not text") from error
    if len(body) > MAX_FRAME:
        raise InputError(f"a message of {len(body)} bytes is above the limit of {MAX_FRAME} bytes")
    try:
        sock.sendall(_LENGTH.pack(len(body)) + body)
    except OSError as error:
        if isinstance(error, TimeoutError):
            raise
        raise ConnectionLost(str(error)) from error


def receive_frame(sock: socket.socket) -> dict[str, Any] | None:
    """Read one frame; None when the peer closed between frames."""
    head = _receive_exactly(sock, _LENGTH.size, may_end=True)
    if head is None:
        return None
    (size,) = _LENGTH.unpack(head)
    if size > MAX_FRAME:
        raise ConnectionLost(f"frame of {size} bytes is above the limit of {MAX_FRAME}")
    body = _receive_exactly(sock, size, may_end=False)
    try:
        message = msgpack.unpackb(body, raw=False, timestamp=3, strict_map_key=False)
    except (ValueError, TypeError, OverflowError, msgpack.UnpackException) as error:
        raise ConnectionLost(f"not a msgpack frame: {error}") from error
    if not isinstance(message, dict):
        raise ConnectionLost("frame is not a map")
    return message


def _receive_exactly(sock: socket.socket, size: int, *, may_end: bool) -> bytes | None:
    chunks: list[bytes] = []
    missing = size
    while missing:
        try:
            chunk = sock.recv(min(missing, 1 << 20))
        except TimeoutError:
            raise
        except OSError as error:
            raise ConnectionLost(str(error)) from error
        if not chunk:
            if may_end and missing == size:
                return None
            raise ConnectionLost("the peer closed the connection within a frame")
        chunks.append(chunk)
        missing -= len(chunk)
    return b"".join(chunks)


def error_frame(error: SluiceError) -> dict[str, Any]:
    """Turn an error into its frame."""
    return {"error": {"code": error.code, "message": error.message, "details": error.details}}


def raise_error(frame: Mapping[str, Any]) -> None:
    """Raise the error that an error frame carries, as the same class on this side."""
    error = by_code(str(frame.get("code", "internal")))
    raise error(str(frame.get("message", "unknown error")), **dict(frame.get("details") or {}))


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
        self._listener.serve_forever(poll_interval=0.2)

    def start(self) -> None:
        """Serve in a daemon thread."""
        threading.Thread(target=self.serve_forever, name=f"wire-{self.path.name}", daemon=True).start()

    def shutdown(self) -> None:
        """Stop serving and remove the socket."""
        self._listener.shutdown()
        self._listener.server_close()
        self.path.unlink(missing_ok=True)

    def _serve(self, sock: socket.socket) -> None:
        with contextlib.suppress(ConnectionLost, TimeoutError):
            uid = peer_uid(sock)
            if uid not in self.allowed_uids:
                send_frame(sock, error_frame(Denied(f"uid {uid} may not speak to {self.path.name}")))
                return
            while (request := receive_frame(sock)) is not None:
                self._answer(sock, request)

    def _answer(self, sock: socket.socket, request: Mapping[str, Any]) -> None:
        op = str(request.get("op"))
        try:
            handler = self.handlers.get(op)
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


def peer_uid(sock: socket.socket) -> int:
    """Return the uid of the process at the other end, by SO_PEERCRED."""
    _pid, uid, _gid = struct.unpack("3i", sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
    return int(uid)


class Client:
    """Calls a `Server`; thread-safe, keeps up to `keep` idle connections.

    Parameters
    ----------
    path
        The server's socket.
    part
        The server's name in sentences (`slurm-agent`).
    """

    def __init__(self, path: str, part: str, *, keep: int = 8) -> None:
        self.path = path
        self.part = part
        self._idle: queue.LifoQueue[socket.socket] = queue.LifoQueue(maxsize=keep)

    def call(self, op: str, *, timeout_s: float = 30.0, **args: Any) -> Any:
        """Call and return the answer.

        Raises
        ------
        Unavailable
            Nobody listens; nothing was sent.
        OutcomeUnknown
            The request was sent and the answer didn't come (connection lost, `timeout_s` over).
        SluiceError
            What the server answered.
        """
        last: Any = None
        for kind, value in self._exchange(op, args, timeout_s):
            if kind == "done":
                last = value
        return last

    def stream(self, op: str, *, timeout_s: float = 60.0, **args: Any) -> Iterator[Any]:
        """Call and yield the items of a streaming answer; `timeout_s` is between two frames."""
        for kind, value in self._exchange(op, args, timeout_s):
            if kind == "item":
                yield value

    def _exchange(self, op: str, args: Mapping[str, Any], timeout_s: float) -> Iterator[tuple[str, Any]]:
        sock = self._send(op, args, timeout_s)
        healthy = False
        try:
            while True:
                frame = receive_frame(sock)
                if frame is None:
                    raise ConnectionLost("closed before an answer")
                if "item" in frame:
                    yield "item", frame["item"]
                    continue
                healthy = True
                if "error" in frame:
                    raise_error(frame["error"])
                yield "done", frame.get("done")
                return
        except (ConnectionLost, TimeoutError) as error:
            raise OutcomeUnknown(
                f"{self.part} did not answer {op} within {timeout_s:g} s ({error or 'time-out'})",
                part=self.part,
            ) from error
        finally:
            self._give_back(sock, healthy=healthy)

    def _send(self, op: str, args: Mapping[str, Any], timeout_s: float) -> socket.socket:
        # An idle connection may have been closed by a restarted server: the first write or the
        # empty read shows it, and nothing of the request was acted on, so a fresh one is safe.
        request = {"op": op, "args": dict(args)}
        while True:
            sock, fresh = self._connection(timeout_s)
            if not fresh and _closed_by_peer(sock):
                sock.close()
                continue
            try:
                send_frame(sock, request)
            except ConnectionLost as error:
                denial = _last_word(sock) if fresh else None
                sock.close()
                if denial:
                    raise_error(denial)
                if fresh:
                    raise Unavailable(
                        f"{self.part} closed the connection: {error}", part=self.part
                    ) from error
                continue
            except BaseException:
                sock.close()
                raise
            return sock

    def _connection(self, timeout_s: float) -> tuple[socket.socket, bool]:
        try:
            sock = self._idle.get_nowait()
        except queue.Empty:
            pass
        else:
            sock.settimeout(timeout_s)
            return sock, False
        sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        sock.settimeout(timeout_s)
        try:
            sock.connect(self.path)
        except OSError as error:
            sock.close()
            raise Unavailable(
                f"{self.part} does not answer on {self.path} ({error.strerror})", part=self.part
            ) from error
        return sock, True

    def _give_back(self, sock: socket.socket, *, healthy: bool) -> None:
        if healthy:
            try:
                self._idle.put_nowait(sock)
            except queue.Full:
                sock.close()
            return
        sock.close()

    def close(self) -> None:
        """Close the idle connections."""
        with contextlib.suppress(queue.Empty):
            while True:
                self._idle.get_nowait().close()


def _last_word(sock: socket.socket) -> Mapping[str, Any] | None:
    # A server that denies a peer says so and closes at once, so the request may meet a closed socket
    # while the denial waits to be read.
    try:
        frame = receive_frame(sock)
    except (ConnectionLost, TimeoutError):
        return None
    return None if frame is None else frame.get("error")


def _closed_by_peer(sock: socket.socket) -> bool:
    # Python waits for the socket's time-out before it calls recv, MSG_DONTWAIT or not: so none here.
    timeout_s = sock.gettimeout()
    sock.setblocking(False)
    try:
        return sock.recv(1, socket.MSG_PEEK) == b""
    except BlockingIOError:
        return False
    except OSError:
        return True
    finally:
        sock.settimeout(timeout_s)
