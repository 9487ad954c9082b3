import asyncio
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import pytest
import sqlalchemy as sa
from sqlmodel import Session

from bridge.errors import Conflict, InputError, NotFound, Unavailable
from gateway.store import keys
from gateway.store.engine import Store
from gateway.store.keys import ApiKey
from gateway.store.lock import ProcessLock
from gateway.store.schema import migrate

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)


@pytest.fixture
def url(tmp_path: Path) -> str:
    url = f"sqlite:///{tmp_path}/gateway.db"
    migrate(url)
    return url


def key(number: int) -> ApiKey:
    return ApiKey(
        id=f"k{number}", user="ada", label="", scopes=("read",), secret_sha256="0" * 64, created_at=NOW
    )


def test_many_writes_share_transactions_and_all_are_kept(url: str) -> None:
    async def burst() -> int:
        store = Store.open(url)
        commits = 0

        @sa.event.listens_for(store._writes, "commit")
        def _count(_connection: sa.Connection) -> None:
            nonlocal commits
            commits += 1

        await asyncio.gather(*(store.write(partial(keys.add, key=key(n))) for n in range(200)))
        found = await store.read(keys.listing)
        store.close()
        assert len(found) == 200
        return commits

    assert asyncio.run(burst()) < 50


def test_a_change_that_raises_undoes_only_itself(url: str) -> None:
    def broken(session: Session) -> None:
        keys.add(session, key(1))
        raise NotFound("gone")

    async def mixed() -> list[object]:
        store = Store.open(url)
        results = await asyncio.gather(
            store.write(broken), store.write(lambda s: keys.add(s, key(2))), return_exceptions=True
        )
        names = [k.id for k in await store.read(keys.listing)]
        store.close()
        return [*results, names]

    first, second, names = asyncio.run(mixed())
    assert isinstance(first, NotFound)
    assert second is None
    assert names == ["k2"]


def test_a_database_that_takes_nothing_is_unavailable_and_heals(url: str) -> None:
    def full(session: Session) -> None:
        raise sa.exc.OperationalError("INSERT", {}, Exception("database or disk is full"))

    async def go() -> None:
        store = Store.open(url)
        with pytest.raises(Unavailable, match="disk is full"):
            await store.write(full)
        await store.write(lambda s: keys.add(s, key(3)))
        assert [k.id for k in await store.read(keys.listing)] == ["k3"]
        store.close()

    asyncio.run(go())


def test_times_come_back_in_utc_and_naive_ones_are_refused(url: str) -> None:
    store = Store.open(url)
    store.write_now(lambda s: keys.add(s, key(1)))
    found = store.read_now(lambda s: keys.get(s, "k1"))
    assert found is not None
    assert found.created_at == NOW
    with pytest.raises(sa.exc.StatementError, match="no time zone"):
        store.write_now(
            lambda s: keys.add(
                s,
                ApiKey(
                    id="k",
                    user="a",
                    label="",
                    scopes=("read",),
                    secret_sha256="",
                    created_at=datetime(2026, 1, 1),
                ),
            )
        )
    store.close()


def test_migrating_twice_changes_nothing(url: str) -> None:
    migrate(url)


def test_the_migrations_make_exactly_the_tables_of_the_models(url: str) -> None:
    from alembic.autogenerate import compare_metadata
    from alembic.migration import MigrationContext
    from sqlmodel import SQLModel

    engine = sa.create_engine(url, poolclass=sa.pool.NullPool)
    with engine.connect() as connection:
        assert compare_metadata(MigrationContext.configure(connection), SQLModel.metadata) == []


def test_a_second_process_is_refused_with_a_sentence(tmp_path: Path) -> None:
    lock = ProcessLock(tmp_path / "gateway.db")
    with pytest.raises(Conflict, match="another gateway"):
        ProcessLock(tmp_path / "gateway.db")
    lock.release()
    ProcessLock(tmp_path / "gateway.db").release()


def test_other_databases_are_refused_by_name() -> None:
    with pytest.raises(InputError, match="mysql"):
        Store.open("mysql://host/x")
