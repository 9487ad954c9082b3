"""One gateway process for one SQLite file: the second is refused with a sentence."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path
from typing import IO

from bridge.errors import Conflict, InputError


class ProcessLock:
    """A lock on ``<database>.lock``, held until `release` or the end of the process, kill -9 included.

    Raises
    ------
    Conflict
        Another process holds it.
    InputError
        The folder of the database can't be written.
    """

    def __init__(self, database: Path) -> None:
        path = database.with_name(database.name + ".lock")
        try:
            database.parent.mkdir(parents=True, exist_ok=True)
            self._file: IO[str] = path.open("a+", encoding="utf-8")
        except OSError as error:
            raise InputError(
                f"{path} can't be written ({error.strerror}); give the gateway's user that folder"
            ) from error
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            self._file.seek(0)
            holder = self._file.read().strip() or "unknown"
            self._file.close()
            raise Conflict(
                f"another gateway (pid {holder}) uses {database}; stop it, or set "
                "SLUICE_GATEWAY_DATABASE_URL to a PostgreSQL database for several gateways"
            ) from error
        self._file.seek(0)
        self._file.truncate()
        self._file.write(f"{os.getpid()}\n")
        self._file.flush()

    def release(self) -> None:
        """Give the lock back."""
        self._file.close()
