"""``python -m bridge``: the bridge process. Logs are JSON lines on standard error."""

from __future__ import annotations

import logging
import signal
import sys
from types import FrameType
from typing import TYPE_CHECKING

import structlog

from bridge.compose import Bridge, compose
from bridge.config import BridgeConfig

if TYPE_CHECKING:
    from bridge.compose_cluster import ClusterBridge


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
    config = BridgeConfig()
    if config.source == "resources" and config.cluster is not None:
        from bridge.compose_cluster import compose_cluster  # only here is the Kubernetes client needed

        bridge: Bridge | ClusterBridge = compose_cluster(config, config.cluster)
    else:
        bridge = compose(config)

    def stop(_number: int, _frame: FrameType | None) -> None:
        bridge.stop()

    signal.signal(signal.SIGTERM, stop)
    signal.signal(signal.SIGINT, stop)
    sys.exit(bridge.run() or 0)


if __name__ == "__main__":
    main()
