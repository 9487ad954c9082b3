"""The mirror's rows; one a job, array or array task."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Final

import sqlalchemy as sa
from sqlmodel import Field, SQLModel

from gateway.store.columns import UtcDateTime

UNLIMITED_MIN: Final = -1
"""`time_limit_min` of a job without limit."""
NO_TASK: Final = -1
"""`task` of a row that is no array task."""


class JobRow(SQLModel, table=True):
    """See `gateway.track.record.JobRecord`."""

    __tablename__ = "jobs"
    # Each index ends in the id, so that a page is one walk of an index, whatever the filter.
    __table_args__ = (
        sa.Index("ix_jobs_number", "cluster", "number", "task"),
        sa.Index("ix_jobs_raw", "cluster", "job_id"),
        sa.Index("ix_jobs_tenant", "tenant", "id"),
        sa.Index("ix_jobs_tenant_state", "tenant", "state", "id"),
        sa.Index("ix_jobs_tenant_user", "tenant", "user", "id"),
        sa.Index("ix_jobs_user", "user", "id"),
        sa.Index("ix_jobs_state", "state", "id"),
        sa.Index("ix_jobs_settled", "settled", "ended_at"),
    )

    id: str = Field(primary_key=True, max_length=30)
    cluster: str = Field(max_length=64)
    number: int
    task: int = NO_TASK
    job_id: int
    array_job_id: int | None = None
    array_task_id: int | None = None
    array_tasks: str | None = Field(default=None, sa_type=sa.Text)
    het_job_id: int | None = None
    het_offset: int | None = None
    name: str = Field(sa_type=sa.Text)
    user: str = Field(max_length=64)
    uid: int = Field(sa_type=sa.BigInteger)
    tenant: str = Field(max_length=64)
    job_class: str = Field(max_length=64)
    flavor: str = Field(max_length=64)
    partition: str = Field(sa_type=sa.Text)
    qos: str = Field(max_length=64)
    state: str = Field(max_length=20)
    flags: list[str] = Field(sa_type=sa.JSON)
    settled: bool
    reason: str = Field(sa_type=sa.Text)
    exit_code: int | None = None
    exit_signal: int | None = None
    submitted_at: datetime = Field(sa_type=UtcDateTime)
    run_submitted_at: datetime | None = Field(default=None, sa_type=UtcDateTime)
    started_at: datetime | None = Field(default=None, sa_type=UtcDateTime)
    ended_at: datetime | None = Field(default=None, sa_type=UtcDateTime)
    time_limit_min: int | None = None
    nodes: str = Field(sa_type=sa.Text)
    node_count: int
    cpus: int
    gpus: int
    tres_requested: dict[str, Any] = Field(sa_type=sa.JSON)
    tres_allocated: dict[str, Any] = Field(sa_type=sa.JSON)
    door: str = Field(max_length=16)
    work_dir: str = Field(sa_type=sa.Text)
    stdout: str = Field(sa_type=sa.Text)
    stderr: str = Field(sa_type=sa.Text)
    restarts: int
    messages: list[str] = Field(sa_type=sa.JSON)
    admin_comment: str = Field(sa_type=sa.Text)
    comment: str = Field(sa_type=sa.Text)
    dependency: str = Field(sa_type=sa.Text)
    priority: int | None = Field(default=None, sa_type=sa.BigInteger)
    changed_at: datetime = Field(sa_type=UtcDateTime)
