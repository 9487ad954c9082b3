"""Queries on the audit log: who did what, with which credential, from what to what."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, Literal

import sqlalchemy as sa
from sqlmodel import Session, select

from gateway.store.tables.audit import AuditRow

Action = Literal[
    "job.submit",
    "job.cancel",
    "command.run",
    "key.create",
    "key.revoke",
    "tenant.put",
    "tenant.delete",
    "price.put",
    "price.delete",
]

LONGEST_OBJECT: Final = 128


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One write. `before` is None for what was made, `after` for what was removed; neither has a secret."""

    at: datetime
    user: str
    """Who did it, as the Linux user; the local command's own is ``root``."""
    actor: str
    """The credential: ``key 1f2e3d4c5b6a``, ``token SUBJECT of ISSUER``, ``command``."""
    action: Action
    object: str
    """Id of the job or key, name of the tenant or price book."""
    tenant: str = ""
    """The tenant that it is about, empty for none or several."""
    before: Mapping[str, Any] | None = None
    after: Mapping[str, Any] | None = None
    id: int | None = None
    """Grows with each entry; None before it is written."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reader:
    """Whose entries may be read: the user's own, those about `tenants`, or everything."""

    user: str
    tenants: frozenset[str] = frozenset()
    everything: bool = False


def add(session: Session, entry: Entry) -> None:
    """Add an entry, in the transaction of the write that it tells of where there is one."""
    session.add(
        AuditRow(
            at=entry.at,
            user=entry.user,
            actor=entry.actor,
            action=entry.action,
            object=entry.object[:LONGEST_OBJECT],
            tenant=entry.tenant,
            before=None if entry.before is None else dict(entry.before),
            after=None if entry.after is None else dict(entry.after),
        )
    )
    session.flush()


def page(session: Session, *, reader: Reader, limit: int, before: int | None = None) -> Sequence[Entry]:
    """Return entries, newest first, older than entry number `before`."""
    query = select(AuditRow).order_by(sa.column("id").desc()).limit(limit)
    if before is not None:
        query = query.where(sa.column("id") < before)
    if not reader.everything:
        query = query.where(
            sa.or_(sa.column("user") == reader.user, sa.column("tenant").in_(sorted(reader.tenants)))
        )
    return [_entry(row) for row in session.exec(query)]


def _entry(row: AuditRow) -> Entry:
    action: Any = row.action
    return Entry(
        id=row.id,
        at=row.at,
        user=row.user,
        actor=row.actor,
        action=action,
        object=row.object,
        tenant=row.tenant,
        before=row.before,
        after=row.after,
    )
