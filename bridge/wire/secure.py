"""The wire between pods: TLS over TCP, the caller known by a token instead of a uid.

The first request of a connection is ``hello`` with a token; what the token may ask is decided once, by
`Admit`, for the life of the connection (`LIFE_S` at most). All else is as on a Unix socket.
"""

from __future__ import annotations

import contextlib
import socket
import socketserver
import ssl
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import parse_qs, urlsplit

import structlog

from bridge.errors import Denied, InputError, SluiceError, Unavailable
from bridge.wire.frame import ConnectionLost, error_frame, receive_frame, send_frame
from bridge.wire.server import Handler, answer, end, serve

Admit = Callable[[str], frozenset[str]]
"""Takes a token; returns the operations that its bearer may ask, or raises a `SluiceError`."""

HELLO: Final = "hello"
HELLO_BYTES: Final = 64 * 1024
"""The longest hello: who has shown no token yet makes this process keep no more."""
HELLO_S: Final = 10.0
"""A peer that hasn't said hello within it is cut off."""
IDLE_S: Final = 300.0
LIFE_S: Final = 600.0
"""After it a connection is closed, so that a token is judged again."""
SCHEME: Final = "tls://"

_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """Where a `SecureServer` is: ``tls://HOST:PORT?ca=FILE&token=FILE``."""

    host: str
    port: int
    ca: Path
    token: Path

    @classmethod
    def read(cls, text: str) -> Address:
        """Parse; raises `InputError` with what is missing."""
        parts, files = urlsplit(text), parse_qs(urlsplit(text).query)
        if not parts.hostname or not parts.port or not files.get("ca") or not files.get("token"):
            raise InputError(f"{text} is no address: write tls://HOST:PORT?ca=FILE&token=FILE")
        return cls(
            host=parts.hostname, port=parts.port, ca=Path(files["ca"][0]), token=Path(files["token"][0])
        )

    def connect(self, part: str, timeout_s: float) -> ssl.SSLSocket:
        """Connect, check the server's certificate and say hello; raises `Unavailable`."""
        try:
            context = ssl.create_default_context(cafile=str(self.ca))
            plain = socket.create_connection((self.host, self.port), timeout=timeout_s)
        except OSError as error:
            raise Unavailable(
                f"{part} does not answer on {self.host}:{self.port} ({error})", part=part
            ) from error
        try:
            # Not connected yet: the handshake follows, so that there is always one socket to close.
            sock = context.wrap_socket(plain, server_hostname=self.host, do_handshake_on_connect=False)
        except OSError as error:
            plain.close()
            raise Unavailable(f"{part} on {self.host}:{self.port} broke off ({error})", part=part) from error
        try:
            sock.do_handshake()
            send_frame(sock, {"op": HELLO, "args": {"token": self.token.read_text().strip()}})
            greeting = receive_frame(sock)
        except (OSError, ConnectionLost) as error:
            sock.close()
            raise Unavailable(f"{part} on {self.host}:{self.port} broke off ({error})", part=part) from error
        if greeting is None or "error" in greeting:
            sock.close()
            words = (greeting or {}).get("error", {}).get("message", "no answer")
            raise Unavailable(f"{part} does not take this process's token: {words}", part=part)
        return sock


class SecureServer:
    """Answers requests over TLS, one thread a connection.

    Parameters
    ----------
    certificate, key
        PEM files; read again for each connection, so that a renewed certificate needs no restart.
    admit
        Decides what a token may ask.
    """

    def __init__(
        self,
        address: tuple[str, int],
        handlers: Mapping[str, Handler],
        *,
        certificate: Path,
        key: Path,
        admit: Admit,
    ) -> None:
        self.handlers = dict(handlers)
        self._certificate = certificate
        self._key = key
        self._admit = admit
        server = self

        class Connection(socketserver.BaseRequestHandler):
            def handle(self) -> None:
                server._serve(self.request)

        class Listener(socketserver.ThreadingTCPServer):
            daemon_threads = True
            allow_reuse_address = True
            request_queue_size = 512

        self._context()  # a wrong certificate shows at once
        self._listener = Listener(address, Connection)
        self.port = int(self._listener.server_address[1])

    def start(self) -> None:
        """Serve in a daemon thread."""
        threading.Thread(target=serve, args=(self._listener,), name="wire-tls", daemon=True).start()

    def shutdown(self) -> None:
        """Stop serving."""
        end(self._listener)

    def _context(self) -> ssl.SSLContext:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_3
        try:
            context.load_cert_chain(self._certificate, self._key)
        except (OSError, ssl.SSLError) as error:
            raise InputError(f"{self._certificate} and {self._key} are no certificate ({error})") from error
        return context

    def _serve(self, plain: socket.socket) -> None:
        plain.settimeout(HELLO_S)
        with (
            contextlib.suppress(ConnectionLost, TimeoutError, OSError),
            self._context().wrap_socket(plain, server_side=True) as sock,
        ):
            allowed = self._hello(sock)
            if allowed is None:
                return
            sock.settimeout(IDLE_S)
            ends = time.monotonic() + LIFE_S
            while time.monotonic() < ends and (request := receive_frame(sock)) is not None:
                op = str(request.get("op"))
                if op in self.handlers and op not in allowed:
                    send_frame(sock, error_frame(Denied(f"this ServiceAccount may not ask {op}", op=op)))
                    continue
                answer(sock, request, self.handlers)

    def _hello(self, sock: ssl.SSLSocket) -> frozenset[str] | None:
        request = receive_frame(sock, most=HELLO_BYTES) or {}
        args = request.get("args")
        token = args.get("token") if isinstance(args, dict) else None
        try:
            if request.get("op") != HELLO or not isinstance(token, str):
                raise Denied("a connection begins with hello and a token")
            allowed = self._admit(token)
        except SluiceError as error:
            _log.warning("a caller was refused", problem=error.message)
            send_frame(sock, error_frame(error))
            return None
        send_frame(sock, {"done": sorted(allowed)})
        return allowed
