"""Brings a database to the schema of this version, by alembic."""

from __future__ import annotations

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import sqlalchemy as sa
from alembic import command
from alembic.config import Config
from sqlalchemy.exc import DBAPIError

from bridge.errors import Unavailable
from gateway.store.engine import BUSY_S, sqlite_file

_SCRIPTS = Path(__file__).parent / "migrations"


def migrate(url: str) -> None:
    """Apply the migrations that are missing; does nothing when there are none.

    Safe to call from several processes: the second waits for the first.

    Raises
    ------
    Unavailable
        The database can't be reached or written.
    """
    with _alone(sqlite_file(url)):
        try:
            engine = _plain_engine(url)
            with engine.begin() as connection:
                config = Config()
                config.set_main_option("script_location", str(_SCRIPTS))
                config.attributes["connection"] = connection
                command.upgrade(config, "head")
            engine.dispose()
        except DBAPIError as error:
            raise Unavailable(
                f"the gateway's store can't be prepared ({error.orig}); look at its disk or server",
                part="store",
            ) from error


def _plain_engine(url: str) -> sa.Engine:
    if sqlite_file(url) is None:
        return sa.create_engine(url, poolclass=sa.pool.NullPool)
    return sa.create_engine(url, poolclass=sa.pool.NullPool, connect_args={"timeout": BUSY_S})


@contextmanager
def _alone(database: Path | None) -> Iterator[None]:
    if database is None:
        yield  # PostgreSQL: the migration's own transaction holds an advisory lock (migrations/env.py)
        return
    try:
        database.parent.mkdir(parents=True, exist_ok=True)
        handle = database.with_name(database.name + ".migrate").open("a", encoding="utf-8")
    except OSError as error:
        raise Unavailable(
            f"{database.parent} can't be written ({error.strerror}); give the gateway's user that folder",
            part="store",
        ) from error
    with handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
