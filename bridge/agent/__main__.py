"""``python -m bridge.agent``: the slurm-agent, until SIGTERM."""

from __future__ import annotations

import importlib.util
import signal
import sys
from types import FrameType

import structlog
from pydantic import ValidationError

from bridge.agent.commands import Commands
from bridge.agent.config import AgentConfig, read_keys
from bridge.agent.desk import Desk
from bridge.agent.native import NativePool
from bridge.agent.native_calls import NativeCalls
from bridge.agent.rest import Rest
from bridge.agent.rest_accounting import RestAccounting
from bridge.agent.serve import handlers
from bridge.agent.tokens import Tokens
from bridge.errors import InputError
from bridge.wire import Server

_log = structlog.get_logger("agent")


def build(config: AgentConfig, jwt_key: bytes) -> Desk:
    """Put the parts together."""
    rest = Rest(config.rest_url, jwt_key, slurm_user=config.slurm_user, deadline_s=config.write_deadline_s)
    native = None
    if config.native and has_binding():
        pool = NativePool(config.native_workers)
        native = NativeCalls(pool, read_s=config.read_deadline_s, write_s=config.write_deadline_s)
    return Desk(
        rest=rest,
        accounting=RestAccounting(rest, deadline_s=config.accounting_deadline_s),
        commands=Commands(deadline_s=config.write_deadline_s),
        native=native,
        health_s=config.health_deadline_s,
    )


def has_binding() -> bool:
    """Whether this image was built with pyslurm and the libslurm binding (Slurm 25.11 or newer)."""
    return all(importlib.util.find_spec(name) is not None for name in ("pyslurm", "_sluice_libslurm"))


def main() -> int:
    """Run; returns the exit status."""
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
            structlog.processors.JSONRenderer(),
        ]
    )
    try:
        config = AgentConfig()
        jwt_key = read_keys(config)
    except (InputError, ValidationError) as error:
        print(f"slurm-agent: {_sentence(error)}", file=sys.stderr)
        return 1
    desk = build(config, jwt_key)
    server = Server(config.socket, handlers(desk, Tokens(jwt_key)), config.allowed_uids)
    server.start()
    _log.info("serving", socket=config.socket, native=has_binding() and config.native)
    _wait_for_the_end()
    _log.info("ending")
    server.shutdown()
    desk.close()
    return 0


def _wait_for_the_end() -> None:
    ended: list[int] = []

    def end(number: int, _frame: FrameType | None) -> None:
        ended.append(number)

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, end)
    while not ended:
        signal.pause()


def _sentence(error: Exception) -> str:
    if isinstance(error, ValidationError):
        first = error.errors()[0]
        name = "_".join(str(part) for part in first["loc"]).upper()
        return f"setting SLUICE_AGENT_{name}: {first['msg']}"
    return str(error)


if __name__ == "__main__":
    sys.exit(main())
