"""The audit log of tenant documents: who changed which one, when, from what to what.

One JSON object a line in ``.audit.jsonl`` beside the documents, only ever appended to, on disk before the
document itself is written: an interrupted change can be in the log and not in the folder, never the other
way round. A file that is full is put aside as ``.audit.N.jsonl``, N counting up, and is never deleted here:
how long a site keeps them is the site's affair. What flows in: documents before and after. What
flows out: `Entry` records, newest first.
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
MOST_BYTES: Final = 16 * 1024 * 1024
"""A file that is larger is put aside before the next entry."""
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

    def __init__(self, folder: Path, *, most_bytes: int = MOST_BYTES) -> None:
        self.path = folder / AUDIT_FILE
        self._most_bytes = most_bytes

    def append(self, entries: Sequence[Entry]) -> None:
        """Add entries; they are on disk when this returns."""
        if not entries:
            return
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._put_aside()
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
        found: list[Entry] = []
        for path in (self.path, *reversed(self._aside())):
            if len(found) >= limit:
                break
            own = [entry for entry in _read(path) if tenant in (None, entry.tenant)]
            found.extend(reversed(own))
        return tuple(found[: max(limit, 0)])

    def _put_aside(self) -> None:
        if self.path.is_file() and self.path.stat().st_size > self._most_bytes:
            self.path.rename(self.path.with_name(f".audit.{len(self._aside()) + 1:06}.jsonl"))

    def _aside(self) -> list[Path]:
        """Return the files that were put aside, the oldest first."""
        return sorted(self.path.parent.glob(".audit.[0-9]*.jsonl"))

    def _last_byte(self) -> bytes:
        with self.path.open("rb") as file:
            file.seek(-1, os.SEEK_END)
            return file.read(1)


def _read(path: Path) -> Iterator[Entry]:
    try:
        lines: Iterable[bytes] = path.read_bytes().splitlines()
    except FileNotFoundError:
        return
    for number, line in enumerate(lines, start=1):
        try:
            values = json.loads(line)
            yield Entry(**{**values, "at": datetime.fromisoformat(values["at"])})
        except (ValueError, TypeError, KeyError):
            _log.warning("a line of the audit log can't be read", file=path.name, line=number)
