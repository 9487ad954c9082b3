"""What happens around every request: an id, a log line, metrics, a limit on the body.

Plain ASGI, so that streams stream and a vanished client cancels nothing that must go on.
"""

from __future__ import annotations

import re
import time
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, Final

import structlog
from ulid import ULID

from bridge.errors import TooLarge
from gateway.metrics import Metrics

Message = MutableMapping[str, Any]
Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

QUIET: Final = frozenset({"/healthz", "/readyz", "/metrics"})
"""Routes that machines ask all the time: no log line of a success."""
_GIVEN_ID: Final = re.compile(rb"^[A-Za-z0-9._:-]{1,100}$")

_log = structlog.get_logger("gateway.access")


class Around:
    """Wraps the app.

    Parameters
    ----------
    metrics
        Gives the metrics once they are there (the app starts before its parts).
    max_body_bytes
        A longer body is refused with `TooLarge`.
    """

    def __init__(self, app: App, *, metrics: Callable[[], Metrics | None], max_body_bytes: int) -> None:
        self._app = app
        self._metrics = metrics
        self._max_body_bytes = max_body_bytes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request_id = _request_id(scope)
        scope.setdefault("state", {})["request_id"] = request_id
        status = 0

        async def send_with_id(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = [pair for pair in message.get("headers", []) if pair[0].lower() != b"x-request-id"]
                message = {**message, "headers": [*headers, (b"x-request-id", request_id.encode())]}
            await send(message)

        begun = time.monotonic()
        structlog.contextvars.bind_contextvars(request_id=request_id)
        try:
            await self._app(scope, self._limited(receive), send_with_id)
        except Exception:
            status = 500  # answered outside of this wrapper, by the server's last line of defence
            raise
        finally:
            self._note(scope, status, time.monotonic() - begun)
            structlog.contextvars.unbind_contextvars("request_id")

    def _limited(self, receive: Receive) -> Receive:
        seen = 0

        async def limited() -> Message:
            nonlocal seen
            message = await receive()
            seen += len(message.get("body", b""))
            if seen > self._max_body_bytes:
                raise TooLarge(
                    f"the request is above {self._max_body_bytes} bytes; a batch script has at most 4 MiB"
                )
            return message

        return limited

    def _note(self, scope: Scope, status: int, seconds: float) -> None:
        # The template, not the path: a path has ids, and would be a new time series each.
        route = getattr(scope.get("route"), "path", "none")
        if (metrics := self._metrics()) is not None:
            metrics.requests.labels(route=route, method=scope["method"], status=str(status)).inc()
            metrics.request_seconds.labels(route=route, method=scope["method"]).observe(seconds)
        if route in QUIET and status < 400:
            return
        _log.info(
            "request",
            method=scope["method"],
            path=scope["path"],
            status=status,
            ms=round(seconds * 1000, 1),
            user=scope["state"].get("user"),
        )


def _request_id(scope: Scope) -> str:
    for name, value in scope.get("headers", []):
        if name.lower() == b"x-request-id" and _GIVEN_ID.match(value):
            return str(value.decode())
    return str(ULID())
