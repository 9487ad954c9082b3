"""job_submit.lua as slurmctld loads it: the files of ``slurm-conf/job_submit`` behind each other.

slurmctld loads one file, and its mtime alone says that it changed (src/lua/slurm_lua.c): one file is renamed
into place whole, where several could be of two versions. Reading is all the I/O here.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

SHIPPED: Final = Path(__file__).parents[2] / "slurm-conf" / "job_submit"
"""The files that this version of Sluice ships."""


def script_text(folder: Path = SHIPPED) -> str:
    """Return the whole script; the files' names give their order."""
    return "".join(path.read_text() for path in sorted(folder.glob("*.lua")))
