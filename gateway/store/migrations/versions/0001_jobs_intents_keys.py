"""Jobs, intents and API keys."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from gateway.store.columns import UtcDateTime

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply."""
    _api_keys()
    _intents()
    _jobs()


def downgrade() -> None:
    """Undo."""
    for table in ("jobs", "intents", "api_keys"):
        op.drop_table(table)


def _api_keys() -> None:
    op.create_table(
        "api_keys",
        sa.Column("id", sa.String(length=16), nullable=False),
        sa.Column("user", sa.String(length=64), nullable=False),
        sa.Column("label", sa.String(length=200), nullable=False),
        sa.Column("admin", sa.Boolean(), nullable=False),
        sa.Column("secret_sha256", sa.String(length=64), nullable=False),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.Column("expires_at", UtcDateTime(), nullable=True),
        sa.Column("revoked_at", UtcDateTime(), nullable=True),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("ix_api_keys_user", "api_keys", ["user"], unique=False)


def _intents() -> None:
    op.create_table(
        "intents",
        sa.Column("id", sa.String(length=26), nullable=False),
        sa.Column("user", sa.String(length=64), nullable=False),
        sa.Column("idempotency_key", sa.String(length=255), nullable=True),
        sa.Column("body_hash", sa.String(length=64), nullable=False),
        sa.Column("cluster", sa.String(length=64), nullable=False),
        sa.Column("spec", sa.LargeBinary(), nullable=False),
        sa.Column("warnings", sa.JSON(), nullable=False),
        sa.Column("state", sa.String(length=16), nullable=False),
        sa.Column("job_id", sa.Integer(), nullable=True),
        sa.Column("error", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.Column("closed_at", UtcDateTime(), nullable=True),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("user", "idempotency_key", name="uq_intents_key"),
    )
    op.create_index("ix_intents_state", "intents", ["state", "id"], unique=False)


def _jobs() -> None:
    op.create_table(
        "jobs",
        sa.Column("id", sa.String(length=30), nullable=False),
        sa.Column("cluster", sa.String(length=64), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("task", sa.Integer(), nullable=False),
        sa.Column("job_id", sa.Integer(), nullable=False),
        sa.Column("array_job_id", sa.Integer(), nullable=True),
        sa.Column("array_task_id", sa.Integer(), nullable=True),
        sa.Column("array_tasks", sa.Text(), nullable=True),
        sa.Column("het_job_id", sa.Integer(), nullable=True),
        sa.Column("het_offset", sa.Integer(), nullable=True),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("user", sa.String(length=64), nullable=False),
        sa.Column("uid", sa.BigInteger(), nullable=False),
        sa.Column("tenant", sa.String(length=64), nullable=False),
        sa.Column("job_class", sa.String(length=64), nullable=False),
        sa.Column("flavor", sa.String(length=64), nullable=False),
        sa.Column("partition", sa.Text(), nullable=False),
        sa.Column("qos", sa.String(length=64), nullable=False),
        sa.Column("state", sa.String(length=20), nullable=False),
        sa.Column("flags", sa.JSON(), nullable=False),
        sa.Column("settled", sa.Boolean(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("exit_code", sa.Integer(), nullable=True),
        sa.Column("exit_signal", sa.Integer(), nullable=True),
        sa.Column("submitted_at", UtcDateTime(), nullable=False),
        sa.Column("run_submitted_at", UtcDateTime(), nullable=True),
        sa.Column("started_at", UtcDateTime(), nullable=True),
        sa.Column("ended_at", UtcDateTime(), nullable=True),
        sa.Column("time_limit_min", sa.Integer(), nullable=True),
        sa.Column("nodes", sa.Text(), nullable=False),
        sa.Column("node_count", sa.Integer(), nullable=False),
        sa.Column("cpus", sa.Integer(), nullable=False),
        sa.Column("gpus", sa.Integer(), nullable=False),
        sa.Column("tres_requested", sa.JSON(), nullable=False),
        sa.Column("tres_allocated", sa.JSON(), nullable=False),
        sa.Column("door", sa.String(length=16), nullable=False),
        sa.Column("work_dir", sa.Text(), nullable=False),
        sa.Column("stdout", sa.Text(), nullable=False),
        sa.Column("stderr", sa.Text(), nullable=False),
        sa.Column("restarts", sa.Integer(), nullable=False),
        sa.Column("messages", sa.JSON(), nullable=False),
        sa.Column("admin_comment", sa.Text(), nullable=False),
        sa.Column("comment", sa.Text(), nullable=False),
        sa.Column("dependency", sa.Text(), nullable=False),
        sa.Column("priority", sa.BigInteger(), nullable=True),
        sa.Column("changed_at", UtcDateTime(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("ix_jobs_number", "jobs", ["cluster", "number", "task"], unique=False)
    op.create_index("ix_jobs_raw", "jobs", ["cluster", "job_id"], unique=False)
    op.create_index("ix_jobs_settled", "jobs", ["settled", "ended_at"], unique=False)
    op.create_index("ix_jobs_state", "jobs", ["state", "id"], unique=False)
    op.create_index("ix_jobs_tenant", "jobs", ["tenant", "id"], unique=False)
    op.create_index("ix_jobs_tenant_state", "jobs", ["tenant", "state", "id"], unique=False)
    op.create_index("ix_jobs_tenant_user", "jobs", ["tenant", "user", "id"], unique=False)
    op.create_index("ix_jobs_user", "jobs", ["user", "id"], unique=False)
