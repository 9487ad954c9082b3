"""The audit log of tenant documents: who changed which one, when, from what to what.

One JSON object a line in ``.audit.jsonl`` beside the documents, only ever appended to, on disk before the
document itself is written: an interrupted change can be in the log and not in the folder, never the other
way round. What flows in: documents before and after. What flows out: `Entry` records, newest first.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import Final, Literal

import structlog

_log = structlog.get_logger(__name__)

AUDIT_FILE: Final = ".audit.jsonl"
Change = Literal["create", "change", "remove"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One document's change. `before` is None for a new document, `after` for a removed one."""

    at: datetime
    actor: str
    change: Change
    tenant: str
    before: str | None
    after: str | None


class AuditLog:
    """The log of one folder of documents; the bridge is its only writer."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / AUDIT_FILE

    def append(self, entries: Sequence[Entry]) -> None:
        """Add entries; they are on disk when this returns."""
        if not entries:
            return
        self.path.parent.mkdir(parents=True, exist_ok=True)
        lines = "".join(f"{json.dumps({**asdict(e), 'at': e.at.isoformat()})}\n" for e in entries)
        with self.path.open("ab") as file:
            os.fchmod(file.fileno(), 0o600)
            # A line that a crash cut short stays as it is; the next one begins on a line of its own.
            cut = file.tell() > 0 and self._last_byte() != b"\n"
            file.write((("\n" if cut else "") + lines).encode())
            file.flush()
            os.fsync(file.fileno())

    def entries(self, tenant: str | None = None, *, limit: int = 100) -> tuple[Entry, ...]:
        """Return the newest `limit` entries, of one tenant or of all, newest first."""
        found = [entry for entry in self._read() if tenant in (None, entry.tenant)]
        return tuple(reversed(found[-limit:])) if limit > 0 else ()

    def _last_byte(self) -> bytes:
        with self.path.open("rb") as file:
            file.seek(-1, os.SEEK_END)
            return file.read(1)

    def _read(self) -> Iterator[Entry]:
        try:
            lines: Iterable[bytes] = self.path.read_bytes().splitlines()
        except FileNotFoundError:
            return
        for number, line in enumerate(lines, start=1):
            try:
                values = json.loads(line)
                yield Entry(**{**values, "at": datetime.fromisoformat(values["at"])})
            except (ValueError, TypeError, KeyError):
                _log.warning("a line of the audit log can't be read", line=number)
