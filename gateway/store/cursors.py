"""How far each feed of a cluster has been read whole, e.g. ``accounting``."""

from __future__ import annotations

from datetime import datetime
from typing import Final

from sqlmodel import Session, select

from gateway.store.columns import upsert
from gateway.store.tables import CursorRow

ACCOUNTING: Final = "accounting"
READINESS: Final = "readiness"
"""No feed: the moment of the last write that only tried whether writes succeed."""


def position(session: Session, cluster: str, name: str) -> datetime | None:
    """Return where a feed stands, None before the first time."""
    row = session.get(CursorRow, (cluster, name))
    return row.position if row else None


def positions(session: Session, name: str) -> dict[str, datetime]:
    """Return where a feed stands for each cluster."""
    rows = session.exec(select(CursorRow).where(CursorRow.name == name))
    return {row.cluster: row.position for row in rows}


def move(session: Session, cluster: str, name: str, to: datetime) -> None:
    """Move a feed forward; a position that is further already stays."""
    before = position(session, cluster, name)
    if before is None or before < to:
        upsert(
            session,
            CursorRow,
            [{"cluster": cluster, "name": name, "position": to}],
            keys=("cluster", "name"),
        )
