"""Puts the rendered table and job_submit.lua where slurmctld reads them.

The order matters: the table is renamed into place first, job_submit.lua is touched last, because slurmctld
loads again only when that file's mtime grows (src/lua/slurm_lua.c compares whole seconds with ``<=``). The
table that was in force before stays as ``table.previous.lua``: it is what job_submit.lua falls back to.
"""

from __future__ import annotations

import os
import time
from pathlib import Path

from bridge.tenants.source import replace_file


class PolicyFiles:
    """The policy volume: ``job_submit.lua``, ``table.lua``, ``table.previous.lua``.

    Parameters
    ----------
    folder
        The volume's folder.
    script
        The text of the job_submit.lua that this version of Sluice ships.
    """

    def __init__(self, *, folder: Path, script: str) -> None:
        self.folder = folder
        self._script = script.encode()
        self._written: str | None = None

    def in_force(self, table: str) -> bool:
        """Whether the files are there already, as they should be."""
        return self._holds("table.lua", table.encode()) and self._holds("job_submit.lua", self._script)

    def write(self, table: str) -> bool:
        """Put the table into force; returns whether anything changed."""
        if self.in_force(table):
            return False
        self.folder.mkdir(parents=True, exist_ok=True)
        # Only what this process wrote is kept as good: what lies there may have been edited or cut.
        if self._written is not None and self._written != table:
            replace_file(self.folder / "table.previous.lua", self._written.encode())
        elif not (self.folder / "table.previous.lua").is_file():
            replace_file(self.folder / "table.previous.lua", table.encode())
        replace_file(self.folder / "table.lua", table.encode())
        self._written = table
        self._touched_script()
        return True

    def _touched_script(self) -> None:
        target = self.folder / "job_submit.lua"
        before = int(target.stat().st_mtime) if target.is_file() else 0
        replace_file(target, self._script)
        moment = max(int(time.time()), before + 1)
        os.utime(target, (moment, moment))

    def _holds(self, name: str, data: bytes) -> bool:
        try:
            return (self.folder / name).read_bytes() == data
        except FileNotFoundError:
            return False
