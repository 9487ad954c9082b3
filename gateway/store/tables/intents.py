"""Submissions that were accepted: written before Slurm is asked, closed with what came of it."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlmodel import Field, SQLModel

from gateway.store.columns import UtcDateTime


class IntentRow(SQLModel, table=True):
    """See `gateway.submit.intent.Intent`."""

    __tablename__ = "intents"
    __table_args__ = (
        # NULL keys never collide, neither in SQLite nor in PostgreSQL.
        sa.UniqueConstraint("user", "idempotency_key", name="uq_intents_key"),
        sa.Index("ix_intents_state", "state", "id"),
    )

    id: str = Field(primary_key=True, max_length=26)
    user: str = Field(max_length=64)
    idempotency_key: str | None = Field(default=None, max_length=255)
    body_hash: str = Field(max_length=64)
    cluster: str = Field(max_length=64)
    spec: bytes = Field(sa_type=sa.LargeBinary)
    """The `JobSpec`s, msgpack of a list of `bridge.slurm.codec.encode`; emptied when the intent is closed."""
    warnings: list[str] = Field(sa_type=sa.JSON)
    state: str = Field(max_length=16)
    job_id: int | None = None
    error: dict[str, Any] | None = Field(default=None, sa_type=sa.JSON(none_as_null=True))
    created_at: datetime = Field(sa_type=UtcDateTime)
    closed_at: datetime | None = Field(default=None, sa_type=UtcDateTime)
