"""Price books and tenants' terms."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from gateway.store.columns import UtcDateTime

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply."""
    op.create_table(
        "price_books",
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("name", sa.String(length=64), nullable=False),
        sa.Column("document", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("actor", sa.String(length=200), nullable=False),
        sa.Column("recorded_at", UtcDateTime(), nullable=False),
        sa.PrimaryKeyConstraint("version"),
    )
    op.create_index("ix_price_books_name", "price_books", ["name", "version"])
    op.create_table(
        "tenant_terms",
        sa.Column("tenant", sa.String(length=64), nullable=False),
        sa.Column("since_s", sa.BigInteger(), nullable=False),
        sa.Column("book", sa.String(length=64), nullable=False),
        sa.Column("guarantees", sa.JSON(), nullable=False),
        sa.PrimaryKeyConstraint("tenant", "since_s"),
    )


def downgrade() -> None:
    """Undo."""
    op.drop_table("tenant_terms")
    op.drop_table("price_books")
