"""API keys; only the hash of a secret is kept."""

from __future__ import annotations

from datetime import datetime

import sqlalchemy as sa
from sqlmodel import Field, SQLModel

from gateway.store.columns import UtcDateTime


class KeyRow(SQLModel, table=True):
    """See `gateway.store.keys.ApiKey`."""

    __tablename__ = "api_keys"

    id: str = Field(primary_key=True, max_length=16)
    user: str = Field(max_length=64, index=True)
    label: str = Field(max_length=200)
    scopes: str = Field(sa_type=sa.Text)
    secret_sha256: str = Field(max_length=64)
    created_at: datetime = Field(sa_type=UtcDateTime)
    expires_at: datetime | None = Field(default=None, sa_type=UtcDateTime)
    revoked_at: datetime | None = Field(default=None, sa_type=UtcDateTime)
    last_used_at: datetime | None = Field(default=None, sa_type=UtcDateTime)
