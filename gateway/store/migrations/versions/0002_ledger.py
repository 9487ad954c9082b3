"""The ledger: payers, entries, day sums, runs without end, cursors."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from gateway.store.columns import UtcDateTime

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply."""
    _cursors()
    _payers()
    _entries()
    _days()
    _running()


def downgrade() -> None:
    """Undo."""
    for table in ("usage_running", "usage_days", "usage_entries", "usage_payers", "cursors"):
        op.drop_table(table)


def _cursors() -> None:
    op.create_table(
        "cursors",
        sa.Column("cluster", sa.String(length=64), nullable=False),
        sa.Column("name", sa.String(length=32), nullable=False),
        sa.Column("position", UtcDateTime(), nullable=False),
        sa.PrimaryKeyConstraint("cluster", "name"),
    )


def _payers() -> None:
    op.create_table(
        "usage_payers",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("tenant", sa.String(length=64), nullable=False),
        sa.Column("user", sa.String(length=64), nullable=False),
        sa.Column("job_class", sa.String(length=64), nullable=False),
        sa.Column("flavor", sa.Text(), nullable=False),
        sa.Column("door", sa.String(length=16), nullable=False),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("tenant", "user", "job_class", "flavor", "door", name="uq_usage_payers"),
    )


def _rates() -> list[sa.Column[int]]:
    names = ("gpus", "cpus", "memory_mib", "nodes", "billing")
    return [sa.Column(name, sa.BigInteger(), nullable=False) for name in names]


def _entries() -> None:
    op.create_table(
        "usage_entries",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("cluster", sa.String(length=64), nullable=False),
        sa.Column("db_index", sa.String(length=20), nullable=False),
        sa.Column("revision", sa.Integer(), nullable=False),
        sa.Column("reversal", sa.Boolean(), nullable=False),
        sa.Column("payer_id", sa.Integer(), sa.ForeignKey("usage_payers.id"), nullable=False),
        sa.Column("start_s", sa.BigInteger(), nullable=False),
        sa.Column("end_s", sa.BigInteger(), nullable=False),
        sa.Column("suspended_s", sa.BigInteger(), nullable=False),
        sa.Column("runs", sa.Integer(), nullable=False),
        *_rates(),
        sa.Column("job_id", sa.BigInteger(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("state", sa.String(length=20), nullable=False),
        sa.Column("recorded_at", UtcDateTime(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint(
            "cluster", "db_index", "revision", "reversal", "payer_id", name="uq_usage_entries"
        ),
    )
    op.create_index("ix_usage_entries_start", "usage_entries", ["start_s", "end_s"], unique=False)
    op.create_index("ix_usage_entries_end", "usage_entries", ["end_s", "start_s"], unique=False)
    op.create_index(
        "ix_usage_entries_suspended",
        "usage_entries",
        ["end_s", "start_s"],
        unique=False,
        sqlite_where=sa.text("suspended_s > 0"),
        postgresql_where=sa.text("suspended_s > 0"),
    )


def _days() -> None:
    names = (
        *("alive", "held_gpus", "held_cpus", "held_memory_mib", "held_nodes", "held_billing", "started"),
        *("gpu_s", "cpu_s", "memory_mib_s", "node_s", "billing_s"),
    )
    op.create_table(
        "usage_days",
        sa.Column("day", sa.Integer(), nullable=False),
        sa.Column("payer_id", sa.Integer(), sa.ForeignKey("usage_payers.id"), nullable=False),
        *(sa.Column(name, sa.BigInteger(), nullable=False) for name in names),
        sa.PrimaryKeyConstraint("day", "payer_id"),
    )


def _running() -> None:
    op.create_table(
        "usage_running",
        sa.Column("cluster", sa.String(length=64), nullable=False),
        sa.Column("db_index", sa.String(length=20), nullable=False),
        sa.Column("payer_id", sa.Integer(), sa.ForeignKey("usage_payers.id"), nullable=False),
        sa.Column("start_s", sa.BigInteger(), nullable=False),
        sa.Column("suspended_s", sa.BigInteger(), nullable=False),
        sa.Column("runs", sa.Integer(), nullable=False),
        *_rates(),
        sa.Column("job_id", sa.BigInteger(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("state", sa.String(length=20), nullable=False),
        sa.Column("confirmed_s", sa.BigInteger(), nullable=True),
        sa.Column("seen", sa.Boolean(), nullable=False),
        sa.Column("missing", sa.Boolean(), nullable=False),
        sa.PrimaryKeyConstraint("cluster", "db_index", "payer_id"),
    )
