"""``python -m gateway``: lock, migrate, serve until SIGTERM."""

from __future__ import annotations

import contextlib
import logging
import sys
from collections.abc import Iterator

import structlog
import uvicorn

from bridge.errors import SluiceError
from gateway.app import create_app
from gateway.compose import compose
from gateway.config import Settings
from gateway.protocol import Protocol
from gateway.store.engine import Store, sqlite_file
from gateway.store.lock import ProcessLock
from gateway.store.schema import migrate

GRACE_S = 30
"""Seconds that requests under way get after SIGTERM."""


def main() -> int:
    """Run the gateway; returns the exit code."""
    settings = Settings()
    _log_to_stdout(as_json=settings.log_json)
    try:
        with _locked(settings.database_url):
            migrate(settings.database_url)
            store = Store.open(settings.database_url)
            try:
                _serve(settings, store)
            finally:
                store.close()
    except SluiceError as error:
        print(f"the gateway can't start: {error.message}", file=sys.stderr)
        return 1
    return 0


def _serve(settings: Settings, store: Store) -> None:
    app = create_app(lambda: compose(settings, store=store), max_body_bytes=settings.max_body_bytes)
    uvicorn.run(
        app,
        host=settings.host,
        port=settings.port,
        http=Protocol,
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=GRACE_S,
    )


@contextlib.contextmanager
def _locked(url: str) -> Iterator[None]:
    database = sqlite_file(url)
    if database is None:
        yield
        return
    lock = ProcessLock(database)
    try:
        yield
    finally:
        lock.release()


def _log_to_stdout(*, as_json: bool) -> None:
    renderer: structlog.typing.Processor = (
        structlog.processors.JSONRenderer() if as_json else structlog.dev.ConsoleRenderer()
    )
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
            renderer,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(logging.INFO),
        logger_factory=structlog.PrintLoggerFactory(),
        cache_logger_on_first_use=True,
    )
    logging.basicConfig(
        stream=sys.stdout, level=logging.WARNING, format='{"level": "%(levelname)s", "event": "%(message)s"}'
    )


if __name__ == "__main__":
    sys.exit(main())
