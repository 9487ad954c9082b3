"""The ledger's rows: payers, entries, the sums of UTC days, and runs without end."""

from __future__ import annotations

from datetime import datetime
from typing import Final

import sqlalchemy as sa
from sqlmodel import Field, SQLModel

from gateway.store.columns import UtcDateTime


class PayerRow(SQLModel, table=True):
    """See `gateway.ledger.amounts.Payer`; a number stands for it in the other tables."""

    __tablename__ = "usage_payers"
    __table_args__ = (
        sa.UniqueConstraint("tenant", "user", "job_class", "flavor", "door", name="uq_usage_payers"),
    )

    id: int | None = Field(default=None, primary_key=True)
    tenant: str = Field(max_length=64)
    user: str = Field(max_length=64)
    job_class: str = Field(max_length=64)
    flavor: str = Field(sa_type=sa.Text)
    door: str = Field(max_length=16)


class EntryRow(SQLModel, table=True):
    """See `gateway.ledger.balance.Entry`; never updated, never deleted."""

    __tablename__ = "usage_entries"
    __table_args__ = (
        sa.UniqueConstraint(
            "cluster", "db_index", "revision", "reversal", "payer_id", name="uq_usage_entries"
        ),
        # Starts and ends within a span are what cuts a day at a border (`gateway.ledger.day`); both
        # columns, so that runs of no length are found in the index alone.
        sa.Index("ix_usage_entries_start", "start_s", "end_s"),
        sa.Index("ix_usage_entries_end", "end_s", "start_s"),
        sa.Index(
            "ix_usage_entries_suspended",
            "end_s",
            "start_s",
            sqlite_where=sa.text("suspended_s > 0"),
            postgresql_where=sa.text("suspended_s > 0"),
        ),
    )

    id: int | None = Field(
        default=None,
        sa_column=sa.Column(sa.BigInteger().with_variant(sa.Integer(), "sqlite"), primary_key=True),
    )
    cluster: str = Field(max_length=64)
    db_index: str = Field(max_length=20)
    """Text: above cluster id 2047 slurmdbd's number is beyond 63 bits."""
    revision: int
    reversal: bool
    payer_id: int = Field(foreign_key="usage_payers.id")
    start_s: int = Field(sa_type=sa.BigInteger)
    end_s: int = Field(sa_type=sa.BigInteger)
    suspended_s: int = Field(sa_type=sa.BigInteger)
    runs: int
    gpus: int = Field(sa_type=sa.BigInteger)
    cpus: int = Field(sa_type=sa.BigInteger)
    memory_mib: int = Field(sa_type=sa.BigInteger)
    nodes: int = Field(sa_type=sa.BigInteger)
    billing: int = Field(sa_type=sa.BigInteger)
    job_id: int = Field(sa_type=sa.BigInteger)
    name: str = Field(sa_type=sa.Text)
    state: str = Field(max_length=20)
    recorded_at: datetime = Field(sa_type=UtcDateTime)


class DayRow(SQLModel, table=True):
    """See `gateway.ledger.day.Day`; the sum of what the entries add, changed with them."""

    __tablename__ = "usage_days"

    day: int = Field(primary_key=True)
    """Days since 1970; first in the key: a report reads a range of days."""
    payer_id: int = Field(primary_key=True, foreign_key="usage_payers.id")
    alive: int = Field(sa_type=sa.BigInteger)
    held_gpus: int = Field(sa_type=sa.BigInteger)
    held_cpus: int = Field(sa_type=sa.BigInteger)
    held_memory_mib: int = Field(sa_type=sa.BigInteger)
    held_nodes: int = Field(sa_type=sa.BigInteger)
    held_billing: int = Field(sa_type=sa.BigInteger)
    started: int = Field(sa_type=sa.BigInteger)
    gpu_s: int = Field(sa_type=sa.BigInteger)
    cpu_s: int = Field(sa_type=sa.BigInteger)
    memory_mib_s: int = Field(sa_type=sa.BigInteger)
    node_s: int = Field(sa_type=sa.BigInteger)
    billing_s: int = Field(sa_type=sa.BigInteger)


class RunningRow(SQLModel, table=True):
    """A line of a run without end (`gateway.ledger.running`); replaced by entries when the end comes."""

    __tablename__ = "usage_running"

    cluster: str = Field(primary_key=True, max_length=64)
    db_index: str = Field(primary_key=True, max_length=20)
    payer_id: int = Field(primary_key=True, foreign_key="usage_payers.id")
    start_s: int = Field(sa_type=sa.BigInteger)
    suspended_s: int = Field(sa_type=sa.BigInteger)
    runs: int
    gpus: int = Field(sa_type=sa.BigInteger)
    cpus: int = Field(sa_type=sa.BigInteger)
    memory_mib: int = Field(sa_type=sa.BigInteger)
    nodes: int = Field(sa_type=sa.BigInteger)
    billing: int = Field(sa_type=sa.BigInteger)
    job_id: int = Field(sa_type=sa.BigInteger)
    name: str = Field(sa_type=sa.Text)
    state: str = Field(max_length=20)
    confirmed_s: int | None = Field(default=None, sa_type=sa.BigInteger)
    seen: bool
    """Whether a row of it came since the last complete scan."""
    missing: bool
    """Whether the last complete scan did not show it."""


def _table(row: type[SQLModel]) -> sa.Table:
    table: sa.Table = SQLModel.metadata.tables[str(row.__tablename__)]
    return table


PAYERS: Final = _table(PayerRow)
ENTRIES: Final = _table(EntryRow)
DAYS: Final = _table(DayRow)
RUNNING: Final = _table(RunningRow)
"""The tables themselves, for statements on columns: reports read tuples, not objects."""
