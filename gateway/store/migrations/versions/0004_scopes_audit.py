"""Scopes of API keys; the audit log."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from gateway.store.columns import UtcDateTime

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply: a key of before may what it could, in words."""
    with op.batch_alter_table("api_keys") as table:
        table.add_column(sa.Column("scopes", sa.Text(), nullable=False, server_default="read submit keys"))
        table.add_column(sa.Column("last_used_at", UtcDateTime(), nullable=True))
    op.execute(sa.text("UPDATE api_keys SET scopes = 'admin' WHERE admin"))
    with op.batch_alter_table("api_keys") as table:
        table.drop_column("admin")
    _audit()


def _audit() -> None:
    op.create_table(
        "audit",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("at", UtcDateTime(), nullable=False),
        sa.Column("user", sa.String(length=64), nullable=False),
        sa.Column("actor", sa.Text(), nullable=False),
        sa.Column("action", sa.String(length=32), nullable=False),
        sa.Column("object", sa.String(length=128), nullable=False),
        sa.Column("tenant", sa.String(length=64), nullable=False),
        sa.Column("before", sa.JSON(), nullable=True),
        sa.Column("after", sa.JSON(), nullable=True),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("ix_audit_user", "audit", ["user", "id"], unique=False)
    op.create_index("ix_audit_tenant", "audit", ["tenant", "id"], unique=False)


def downgrade() -> None:
    """Undo."""
    op.drop_table("audit")
    with op.batch_alter_table("api_keys") as table:
        table.add_column(sa.Column("admin", sa.Boolean(), nullable=False, server_default=sa.false()))
    op.execute(sa.text("UPDATE api_keys SET admin = TRUE WHERE scopes = 'admin'"))
    with op.batch_alter_table("api_keys") as table:
        table.drop_column("last_used_at")
        table.drop_column("scopes")
