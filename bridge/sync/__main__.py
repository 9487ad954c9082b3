"""``python -m bridge.sync``: keep a pod's users and rules as the bridge has them, until SIGTERM.

A bridge that doesn't answer changes nothing: what was fetched last stays in force.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Mapping
from pathlib import Path
from types import FrameType
from typing import Annotated

import structlog
from pydantic import Field
from pydantic_settings import BaseSettings, SettingsConfigDict

from bridge.errors import SluiceError
from bridge.sync.folders import Folders
from bridge.wire import Client

_log = structlog.get_logger("sync")


class SyncConfig(BaseSettings):
    """``SLUICE_SYNC_*`` in the environment."""

    model_config = SettingsConfigDict(env_prefix="SLUICE_SYNC_", frozen=True)

    bridge: str
    """``tls://HOST:PORT?ca=FILE&token=FILE``."""
    caller: str = ""
    """``slurmctld`` in its pod: the bridge waits for it before it tells Slurm of a new user."""
    users_dir: Path | None = None
    policy_dir: Path | None = None
    every_s: Annotated[float, Field(gt=0)] = 2.0
    ready_file: Path | None = None
    """Made after the first good answer, or at once where users are there from before."""


def fetch(client: Client, folders: Folders, *, caller: str) -> tuple[str, ...]:
    """Ask once; returns what changed. Raises `SluiceError`."""
    answer: Mapping[str, bytes] = client.call("files", timeout_s=20.0, caller=caller, have=folders.have())
    changed = folders.put(answer)
    if changed:
        # The bridge hears that they are in place with the next call, not with the next round.
        client.call("files", timeout_s=20.0, caller=caller, have=folders.have())
    return changed


def main() -> None:
    """Run until SIGTERM."""
    config = SyncConfig()
    folders = Folders(users_dir=config.users_dir, policy_dir=config.policy_dir)
    client = Client(config.bridge, "bridge")
    ended = threading.Event()

    def end(_number: int, _frame: FrameType | None) -> None:
        ended.set()

    signal.signal(signal.SIGTERM, end)
    signal.signal(signal.SIGINT, end)
    problem = ""
    if config.ready_file is not None and folders.have().get("passwd"):
        config.ready_file.touch()
    while not ended.is_set():
        try:
            changed = fetch(client, folders, caller=config.caller)
        except SluiceError as error:
            if error.message != problem:
                _log.warning("nothing fetched, what is here stays in force", problem=error.message)
            problem = error.message
        else:
            problem = ""
            if changed:
                _log.info("fetched", files=list(changed))
            if config.ready_file is not None and folders.have().get("passwd"):
                config.ready_file.touch()
        ended.wait(config.every_s)
    client.close()


if __name__ == "__main__":
    main()
