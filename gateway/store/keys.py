"""Queries on API keys. What is kept of a key's secret is its sha256."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import sqlalchemy as sa
from sqlmodel import Session, select

from bridge.errors import NotFound
from gateway.store import audit
from gateway.store.tables import KeyRow


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiKey:
    """One API key; times are aware UTC."""

    id: str
    user: str
    label: str
    scopes: tuple[str, ...]
    """Words of `gateway.principal.Grant`."""
    secret_sha256: str
    """Hex; a secret has 256 random bits, so that a slow hash would protect nothing more."""
    created_at: datetime
    expires_at: datetime | None = None
    revoked_at: datetime | None = None
    last_used_at: datetime | None = None
    """To the hour; None: never."""

    def valid(self, now: datetime) -> bool:
        """Whether it may be used at `now`."""
        return self.revoked_at is None and (self.expires_at is None or now < self.expires_at)


def add(session: Session, key: ApiKey, *, audit_entry: audit.Entry | None = None) -> None:
    """Write a new key, and in the same transaction what the audit log says of it."""
    session.add(
        KeyRow(
            id=key.id,
            user=key.user,
            label=key.label,
            scopes=" ".join(key.scopes),
            secret_sha256=key.secret_sha256,
            created_at=key.created_at,
            expires_at=key.expires_at,
            revoked_at=key.revoked_at,
        )
    )
    if audit_entry is not None:
        audit.add(session, audit_entry)
    session.flush()


def get(session: Session, key_id: str) -> ApiKey | None:
    """Return one key, valid or not."""
    row = session.get(KeyRow, key_id)
    return _key(row) if row else None


def listing(session: Session, *, user: str | None = None) -> Sequence[ApiKey]:
    """Return all keys, or one user's, oldest first, ended ones too."""
    query = select(KeyRow).order_by(sa.column("created_at"), sa.column("id"))
    if user is not None:
        query = query.where(KeyRow.user == user)
    return [_key(row) for row in session.exec(query)]


def used(session: Session, key_id: str, *, now: datetime) -> None:
    """Note that a key was used."""
    row = session.get(KeyRow, key_id)
    if row is not None:
        row.last_used_at = now
        session.add(row)
        session.flush()


def revoke(session: Session, key_id: str, *, now: datetime, audit_entry: audit.Entry | None = None) -> None:
    """Revoke a key for ever, with its audit entry; a revoked one stays as it was.

    Raises
    ------
    NotFound
        There is no such key.
    """
    row = session.get(KeyRow, key_id)
    if row is None:
        raise NotFound(f"there is no API key {key_id}; `sluice keys list` shows yours")
    if row.revoked_at is None:
        row.revoked_at = now
        session.add(row)
        if audit_entry is not None:
            audit.add(session, audit_entry)
        session.flush()


def _key(row: KeyRow) -> ApiKey:
    return ApiKey(
        id=row.id,
        user=row.user,
        label=row.label,
        scopes=tuple(row.scopes.split()),
        secret_sha256=row.secret_sha256,
        created_at=row.created_at,
        expires_at=row.expires_at,
        revoked_at=row.revoked_at,
        last_used_at=row.last_used_at,
    )
