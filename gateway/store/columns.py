"""Column types and the upsert that all tables share; portable between SQLite and PostgreSQL."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite
from sqlmodel import Session, SQLModel

MAX_VARIABLES = 30_000
"""Bound parameters of one statement; SQLite allows 32,766, PostgreSQL 65,535."""


class UtcDateTime(sa.TypeDecorator[datetime]):
    """An aware UTC datetime; a naive one is refused when it is written.

    SQLite keeps no zone, so that it is put back on reading.
    """

    impl = sa.DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: sa.Dialect) -> datetime | None:
        """Turn any aware time into UTC."""
        del dialect
        if value is None:
            return None
        if value.tzinfo is None:
            raise ValueError(f"{value!r} has no time zone")
        return value.astimezone(UTC)

    def process_result_value(self, value: datetime | None, dialect: sa.Dialect) -> datetime | None:
        """Give an aware UTC time."""
        del dialect
        if value is None or value.tzinfo is not None:
            return value
        return value.replace(tzinfo=UTC)


def upsert(
    session: Session, table: type[SQLModel], rows: Sequence[Mapping[str, Any]], *, keys: Sequence[str]
) -> None:
    """Insert rows; where `keys` (a unique constraint) exist already, overwrite the other columns given.

    All rows name the same columns. A key twice in `rows` is an error in PostgreSQL: give it once.
    """
    if not rows:
        return
    columns = list(rows[0])
    insert = postgresql.insert if session.get_bind().dialect.name == "postgresql" else sqlite.insert
    statement = insert(sa.inspect(table).local_table)
    changed = {name: statement.excluded[name] for name in columns if name not in keys}
    if changed:
        statement = statement.on_conflict_do_update(index_elements=list(keys), set_=changed)
    else:
        statement = statement.on_conflict_do_nothing(index_elements=list(keys))
    # One statement for all rows, compiled once; a statement with all their values would be compiled anew.
    session.execute(statement, [dict(row) for row in rows])
