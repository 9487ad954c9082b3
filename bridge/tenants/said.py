"""What job_submit.lua says to the bridge: which table slurmctld has in force, and each refusal.

What flows in: the folder that slurmctld writes (``table``, ``refusals``, ``refusals.1``). What flows out: a
`TableInForce`, and counts by tenant, rule and mode. Counts begin with the bridge, with what the files still
have; without the folder nothing is known, and nothing is wrong.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal, NamedTuple

from bridge.slurm.port import PartHealth

TABLE: Final = "table"
REFUSALS: Final = "refusals"
_MOST: Final = 4 * 1024 * 1024
"""Bytes read at once; slurmctld turns to a new file long before."""


Which = Literal["current", "previous", "none", "unknown"]
_WORDS: Final[tuple[Which, ...]] = ("current", "previous", "none")


class Refused(NamedTuple):
    """What is counted."""

    tenant: str
    """Empty for users of no tenant."""
    rule: str
    mode: str


@dataclass(frozen=True, slots=True)
class TableInForce:
    """Which table slurmctld judges by, and why it isn't the newest."""

    which: Which = "unknown"
    why: str = ""

    @property
    def health(self) -> PartHealth:
        """The alarm: the newest table could not be read, so that changes of tenants aren't in force."""
        match self.which:
            case "previous":
                detail = f"slurmctld keeps the table before, the newest one can't be read: {self.why}"
            case "none":
                detail = f"slurmctld has no table, so that only administrators submit: {self.why}"
            case "current":
                return PartHealth(part="policy", healthy=True, detail="slurmctld has the newest table")
            case _:
                return PartHealth(part="policy", healthy=True, detail="slurmctld doesn't say which table")
        return PartHealth(part="policy", healthy=False, detail=detail)


class Said:
    """Reads the folder; thread-safe."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._counts = Counter[Refused]()
        self._read: tuple[int, int] = (0, 0)
        """Inode of the file that was read last, and how far."""
        self._lock = threading.Lock()

    def table(self) -> TableInForce:
        """Return what slurmctld said when it loaded its script last."""
        try:
            which, _, why = (self._folder / TABLE).read_text(errors="replace").strip().partition("\t")
        except OSError:
            return TableInForce()
        known: dict[str, Which] = {word: word for word in _WORDS}
        return TableInForce(known.get(which, "unknown"), why)

    def refusals(self) -> Mapping[Refused, int]:
        """Return the counts, by now."""
        with self._lock:
            inode, at = self._read
            before = self._folder / f"{REFUSALS}.1"
            if inode == 0 or inode == _inode(before):  # the rest of the file that was turned away
                self._take(before, at)
                at = 0
            elif inode != _inode(self._folder / REFUSALS):
                at = 0
            self._read = self._take(self._folder / REFUSALS, at)
            return dict(self._counts)

    def _take(self, path: Path, start: int) -> tuple[int, int]:
        try:
            with path.open("rb") as file:
                file.seek(start)
                data = file.read(_MOST)
        except OSError:
            return 0, 0
        whole = data[: data.rfind(b"\n") + 1]
        for line in whole.decode(errors="replace").splitlines():
            parts = line.split("\t")
            if len(parts) == 3:
                self._counts[Refused(*parts)] += 1
        return _inode(path), start + len(whole)


def _inode(path: Path) -> int:
    try:
        return path.stat().st_ino
    except OSError:
        return 0
