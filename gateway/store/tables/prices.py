"""Price books and tenants' terms; both are only ever added to."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlmodel import Field, SQLModel

from gateway.store.columns import UtcDateTime


class PriceBookRow(SQLModel, table=True):
    """One version of a price book (`gateway.price.book.PriceBook`); the newest of a name is in force."""

    __tablename__ = "price_books"
    __table_args__ = (sa.Index("ix_price_books_name", "name", "version"),)

    version: int | None = Field(default=None, primary_key=True)
    """Ascending over all books."""
    name: str = Field(max_length=64)
    document: dict[str, Any] | None = Field(default=None, sa_type=sa.JSON(none_as_null=True))
    """None: the book was removed."""
    actor: str = Field(max_length=200)
    recorded_at: datetime = Field(sa_type=UtcDateTime)


class TermsRow(SQLModel, table=True):
    """See `gateway.price.terms.Terms`."""

    __tablename__ = "tenant_terms"

    tenant: str = Field(primary_key=True, max_length=64)
    since_s: int = Field(primary_key=True, sa_type=sa.BigInteger)
    book: str = Field(max_length=64)
    guarantees: dict[str, int] = Field(sa_type=sa.JSON)
