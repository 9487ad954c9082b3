"""Plain HTTP for kubelet and Prometheus: ``/healthz``, ``/readyz``, ``/metrics``."""

from __future__ import annotations

import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest


class Probes:
    """The server; `alive` and `ready` return "" or what is wrong."""

    def __init__(
        self,
        address: tuple[str, int],
        *,
        alive: Callable[[], str],
        ready: Callable[[], str],
        registry: CollectorRegistry,
    ) -> None:
        def said(problem: str) -> tuple[int, str, bytes]:
            return (503 if problem else 200), "text/plain", f"{problem or 'ok'}\n".encode()

        pages: dict[str, Callable[[], tuple[int, str, bytes]]] = {
            "/healthz": lambda: said(alive()),
            "/readyz": lambda: said(ready()),
            "/metrics": lambda: (200, CONTENT_TYPE_LATEST, generate_latest(registry)),
        }

        class Answers(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                page = pages.get(self.path)
                status, kind, body = page() if page else (404, "text/plain", b"not found\n")
                self.send_response(status)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: object) -> None:
                """Say nothing: probes come every few seconds."""

        class Listener(ThreadingHTTPServer):
            def handle_error(self, request: object, client_address: object) -> None:
                """Say nothing: a prober that is in a hurry hangs up."""

        self._server = Listener(address, Answers)
        self._server.daemon_threads = True
        self.port = int(self._server.server_address[1])

    def start(self) -> None:
        """Serve in a daemon thread."""
        threading.Thread(target=self._server.serve_forever, name="probes", daemon=True).start()

    def shutdown(self) -> None:
        """Stop serving."""
        self._server.shutdown()
        self._server.server_close()
