"""Alembic's entry: runs the migrations on the connection that `gateway.store.schema` gives."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import context
from sqlmodel import SQLModel

import gateway.store.tables  # noqa: F401 - registers every table

ADVISORY_LOCK = 0x53_4C_55_49
"""PostgreSQL: one migration at a time."""

connection: sa.Connection = context.config.attributes["connection"]
if connection.dialect.name == "postgresql":
    connection.execute(sa.text("SELECT pg_advisory_xact_lock(:key)"), {"key": ADVISORY_LOCK})
context.configure(
    connection=connection, target_metadata=SQLModel.metadata, render_as_batch=True, compare_type=True
)
with context.begin_transaction():
    context.run_migrations()
