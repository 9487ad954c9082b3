"""The store: one writer with group commit, many readers, on SQLite or PostgreSQL.

What flows in: functions of a session, from `gateway.store`'s own modules. What flows out: their results.
All SQL of the gateway runs through `Store.write` and `Store.read`; failures of the database leave it as
`Unavailable`.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, TypeVar

import anyio.to_thread
import sqlalchemy as sa
from anyio import CapacityLimiter
from sqlalchemy.exc import DBAPIError
from sqlmodel import Session

from bridge.errors import InputError
from gateway.store.writer import Writer, store_failure

T = TypeVar("T")

READERS: Final = 8
"""Reads at the same time; more wait."""
BUSY_S: Final = 15.0
"""How long SQLite waits for the write lock of another process (``python -m gateway.keys``)."""


class Store:
    """Reads and writes; made by `Store.open`, closed by `close`."""

    def __init__(self, url: str) -> None:
        self.url = url
        self._writes = _engine(url, read_only=False)
        self._reads = _engine(url, read_only=True)
        self._writer = Writer(self._writes)
        self._limiter: CapacityLimiter | None = None

    @classmethod
    def open(cls, url: str) -> Store:
        """Open the database at an SQLAlchemy `url`, whose schema is there already.

        Raises
        ------
        InputError
            The URL is not one of SQLite's or PostgreSQL's.
        """
        return cls(url)

    async def write(self, change: Callable[[Session], T]) -> T:
        """Run a change in the writer's thread; returns once it is durable.

        `change` does SQL only. An exception in it undoes this change alone and is raised here.

        Raises
        ------
        Unavailable
            The database took nothing.
        """
        result: T = await asyncio.wrap_future(self._writer.put(change))
        return result

    async def read(self, query: Callable[[Session], T]) -> T:
        """Run a query in a thread; it sees everything that was committed before."""
        if self._limiter is None:
            self._limiter = CapacityLimiter(READERS)
        return await anyio.to_thread.run_sync(self._query, query, limiter=self._limiter)

    def read_now(self, query: Callable[[Session], T]) -> T:
        """Run a query in the calling thread, for start-up and commands."""
        result: T = self._query(query)
        return result

    def write_now(self, change: Callable[[Session], T]) -> T:
        """Run a change and wait for it in the calling thread, for commands."""
        result: T = self._writer.put(change).result()
        return result

    def free_mib(self) -> int | None:
        """Return how much the disk of an SQLite file has left for it; None for other databases."""
        database = sqlite_file(self.url)
        if database is None:
            return None
        disk = os.statvfs(database.parent)
        return disk.f_bavail * disk.f_frsize // 2**20

    def close(self) -> None:
        """Commit what is queued and close all connections."""
        self._writer.close()
        self._writes.dispose()
        self._reads.dispose()

    def _query(self, query: Callable[[Session], Any]) -> Any:  # noqa: ANN401 - typed by its callers
        try:
            with Session(self._reads, expire_on_commit=False) as session:
                return query(session)
        except DBAPIError as error:
            raise store_failure(error) from error


def sqlite_file(url: str) -> Path | None:
    """Return the file of an SQLite URL, None for other databases."""
    parsed = sa.make_url(url)
    if parsed.get_backend_name() != "sqlite" or not parsed.database:
        return None
    return Path(parsed.database)


def _engine(url: str, *, read_only: bool) -> sa.Engine:
    backend = sa.make_url(url).get_backend_name()
    if backend == "postgresql":
        return sa.create_engine(url, pool_size=READERS if read_only else 2, pool_pre_ping=True)
    if backend != "sqlite":
        raise InputError(f"database.url names {backend!r}; give an sqlite:/// or a postgresql+psycopg:// URL")
    engine = sa.create_engine(
        url,
        poolclass=sa.pool.QueuePool,
        pool_size=READERS if read_only else 1,
        max_overflow=0,
        connect_args={"check_same_thread": False, "timeout": BUSY_S, "isolation_level": None},
    )
    _prepare_sqlite(engine, read_only=read_only)
    return engine


def _prepare_sqlite(engine: sa.Engine, *, read_only: bool) -> None:
    """Make WAL, fsync at commit and real transactions; the sqlite3 module's own BEGIN is switched off.

    (Its implicit transactions break savepoints: SQLAlchemy's page on pysqlite, "Serializable isolation /
    Savepoints / Transactional DDL".)
    """

    @sa.event.listens_for(engine, "connect")
    def _pragmas(connection: Any, _record: object) -> None:  # noqa: ANN401 - the driver's own type
        cursor = connection.cursor()
        if read_only:
            cursor.execute("PRAGMA query_only=ON")
        else:
            cursor.execute("PRAGMA journal_mode=WAL")
            cursor.execute("PRAGMA synchronous=FULL")
            cursor.execute("PRAGMA foreign_keys=ON")
        cursor.execute("PRAGMA cache_size=-16384")
        cursor.close()

    @sa.event.listens_for(engine, "begin")
    def _begin(connection: sa.Connection) -> None:
        # IMMEDIATE: the write lock is taken at once, so that a change never fails half-way for it.
        connection.exec_driver_sql("BEGIN" if read_only else "BEGIN IMMEDIATE")
