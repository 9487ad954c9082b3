"""The asking side: calls and streams, over a few connections that are kept."""

from __future__ import annotations

import contextlib
import queue
import select
import socket
import ssl
from collections.abc import Iterator, Mapping
from typing import Any

from bridge.errors import OutcomeUnknown, Unavailable
from bridge.wire.frame import ConnectionLost, raise_error, receive_frame, send_frame
from bridge.wire.secure import SCHEME, Address


class Client:
    """Calls a `Server`; thread-safe, keeps up to `keep` idle connections.

    Parameters
    ----------
    path
        The server's socket, or an address of `bridge.wire.secure` (``tls://...``).
    part
        The server's name in sentences (`slurm-agent`).
    """

    def __init__(self, path: str, part: str, *, keep: int = 8) -> None:
        self.path = path
        self.part = part
        self._address = Address.read(path) if path.startswith(SCHEME) else None
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
        if self._address is not None:
            return self._address.connect(self.part, timeout_s), True
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
    if isinstance(sock, ssl.SSLSocket):  # which can't be peeked into; nothing is to be read between calls
        return bool(sock.pending() or select.select([sock], [], [], 0)[0])
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
