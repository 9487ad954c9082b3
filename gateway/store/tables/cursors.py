"""How far each feed has been read whole."""

from __future__ import annotations

from datetime import datetime

from sqlmodel import Field, SQLModel

from gateway.store.columns import UtcDateTime


class CursorRow(SQLModel, table=True):
    """One feed of one cluster."""

    __tablename__ = "cursors"

    cluster: str = Field(primary_key=True, max_length=64)
    name: str = Field(primary_key=True, max_length=32)
    position: datetime = Field(sa_type=UtcDateTime)
