"""Pages of the store: whole, in order, and only what may be seen."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial

import pytest
import sqlalchemy as sa
from hypothesis import given, settings
from hypothesis import strategies as st

from bridge.job import BaseState, JobState
from gateway.store import jobs
from gateway.store.engine import Store
from gateway.store.jobs import Filter, Visible
from gateway.store.tables import JobRow
from gateway.track.record import JobNumber, JobRecord, id_of
from tests.support.database import database
from tests.support.effort import examples

T0 = datetime(2026, 11, 30, 12, tzinfo=UTC)


def job(number: int, *, tenant: str, user: str, state: BaseState) -> JobRecord:
    return JobRecord(
        id=id_of("c", JobNumber(number), T0),
        cluster="c",
        job_id=number,
        name="n",
        user=user,
        uid=1,
        tenant=tenant,
        state=JobState(state),
        submitted_at=T0,
        changed_at=T0,
    )


JOBS = st.lists(
    st.tuples(
        st.sampled_from(["a", "b", "c"]),
        st.sampled_from(["ada", "bela"]),
        st.sampled_from([BaseState.PENDING, BaseState.RUNNING]),
    ),
    max_size=30,
)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    store = Store.open(database(tmp_path_factory.mktemp("pages")))
    yield store
    store.close()


@settings(max_examples=examples(20))
@given(
    made=JOBS,
    late=JOBS,
    visible=st.sampled_from(
        [
            Visible(user="ada", tenants=frozenset({"a", "b"})),
            Visible(user="ada", tenants=frozenset({"b"})),
            Visible(user="ada"),
            Visible(user="root", everything=True),
        ]
    ),
    tenant=st.sampled_from([None, "a", "c"]),
    user=st.sampled_from([None, "ada", "bela"]),
    states=st.sampled_from([frozenset[BaseState](), frozenset({BaseState.RUNNING})]),
    limit=st.integers(1, 7),
)
def test_pages_together_are_what_a_plain_filter_gives(
    store: Store,
    made: list[tuple[str, str, BaseState]],
    late: list[tuple[str, str, BaseState]],
    visible: Visible,
    tenant: str | None,
    user: str | None,
    states: frozenset[BaseState],
    limit: int,
) -> None:
    records = [job(n, tenant=t, user=u, state=s) for n, (t, u, s) in enumerate(made)]

    def shown(record: JobRecord) -> bool:
        seen = visible.everything or record.tenant in visible.tenants or record.user == visible.user
        return (
            seen
            and tenant in (None, record.tenant)
            and user in (None, record.user)
            and (not states or record.state.base in states)
        )

    expected = sorted((record.id for record in records if shown(record)), reverse=True)
    store.write_now(lambda session: session.execute(sa.delete(JobRow)))
    store.write_now(partial(jobs.put, records=records))
    found: list[str] = []
    before = None
    wanted = Filter(tenant=tenant, user=user, states=states)
    while page := store.read_now(
        partial(jobs.page, visible=visible, wanted=wanted, limit=limit, before=before)
    ):
        found += [record.id for record in page]
        before = found[-1]
        if late:  # newer jobs come in meanwhile: they belong before the first page
            t, u, s = late.pop()
            newest = replace(
                job(10_000 + len(late), tenant=t, user=u, state=s), id=f"job_7ZZZ{len(late):022d}"
            )
            store.write_now(partial(jobs.put, records=[newest]))
    assert found == expected


def test_records_come_back_as_they_were(store: Store) -> None:
    store.write_now(lambda session: session.execute(sa.delete(JobRow)))
    record = replace(
        job(1, tenant="a", user="ada", state=BaseState.RUNNING),
        state=JobState(BaseState.COMPLETED, frozenset({"COMPLETING"})),
        time_limit_min="UNLIMITED",
        tres_allocated={"gres/gpu": 2},
        messages=("a", "b"),
        started_at=T0,
        array_job_id=1,
        array_task_id=0,
    )
    store.write_now(partial(jobs.put, records=[record]))
    assert store.read_now(partial(jobs.get, job_id=record.id)) == record
    assert store.read_now(partial(jobs.by_number, cluster="c", number=JobNumber(1, 0))) == [record]
    assert store.read_now(partial(jobs.by_number, cluster="c", number=JobNumber(1))) == [record]
