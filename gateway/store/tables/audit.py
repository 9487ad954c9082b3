"""The audit log of writes that came by HTTP; rows are only ever added."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlmodel import Field, SQLModel

from gateway.store.columns import UtcDateTime


class AuditRow(SQLModel, table=True):
    """See `gateway.store.audit.Entry`."""

    __tablename__ = "audit"
    __table_args__ = (sa.Index("ix_audit_user", "user", "id"), sa.Index("ix_audit_tenant", "tenant", "id"))

    id: int | None = Field(
        default=None,
        sa_column=sa.Column(sa.BigInteger().with_variant(sa.Integer(), "sqlite"), primary_key=True),
    )
    at: datetime = Field(sa_type=UtcDateTime)
    user: str = Field(max_length=64)
    actor: str = Field(sa_type=sa.Text)
    action: str = Field(max_length=32)
    object: str = Field(max_length=128)
    tenant: str = Field(max_length=64)
    before: dict[str, Any] | None = Field(default=None, sa_type=sa.JSON)
    after: dict[str, Any] | None = Field(default=None, sa_type=sa.JSON)
