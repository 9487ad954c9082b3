"""``python -m bridge``: the bridge process. Logs are JSON lines on standard error."""

from __future__ import annotations

import logging
import signal
import sys
from types import FrameType

import structlog

from bridge.compose import compose
from bridge.config import BridgeConfig


def configure_logs() -> None:
    """Write one JSON object a line, times in UTC."""
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
            structlog.processors.JSONRenderer(),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(logging.INFO),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
    )


def main() -> None:
    """Run until SIGTERM or SIGINT."""
    configure_logs()
    bridge = compose(BridgeConfig())

    def stop(_number: int, _frame: FrameType | None) -> None:
        bridge.stop()

    signal.signal(signal.SIGTERM, stop)
    signal.signal(signal.SIGINT, stop)
    bridge.run()


if __name__ == "__main__":
    main()
