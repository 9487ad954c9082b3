"""The pure steps of the mirror."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from bridge.job import AccountingRow, BaseState, ExitStatus, JobState, JobStatus
from gateway.track import arrays, history, transition
from gateway.track.arrays import waits
from gateway.track.index import Index
from gateway.track.mirror import Mirror
from gateway.track.record import JobNumber, JobRecord, id_of

T0 = datetime(2026, 11, 30, 12, tzinfo=UTC)


def status(**changes: object) -> JobStatus:
    base = JobStatus(
        job_id=7,
        name="n",
        user="ada",
        uid=20000,
        account="astro",
        partition="h100",
        qos="training",
        state=JobState(BaseState.PENDING),
        submitted_at=T0,
    )
    return replace(base, **changes)  # type: ignore[arg-type]


def row(**changes: object) -> AccountingRow:
    base = AccountingRow(
        cluster="c",
        db_index="1",
        job_id=7,
        name="n",
        user="ada",
        uid=20000,
        account="astro",
        partition="h100",
        qos="training",
        state=JobState(BaseState.COMPLETED),
        exit=ExitStatus(0),
        submitted_at=T0,
        eligible_at=T0,
        started_at=T0,
        ended_at=T0 + timedelta(minutes=1),
    )
    return replace(base, **changes)  # type: ignore[arg-type]


def seen(*shown: JobStatus, mirror: Mirror | None = None) -> Mirror:
    mirror = mirror or Mirror("c", lambda: T0)
    mirror.see(shown)
    mirror.end_listing(shown)
    return mirror


def state(base: BaseState, *flags: str) -> JobState:
    return JobState(base, frozenset(flags))


def test_what_did_not_change_is_the_very_same_record() -> None:
    first = transition.observe(None, status(), cluster="c", now=T0)
    assert transition.observe(first, status(), cluster="c", now=T0 + timedelta(days=1)) is first


def test_ids_are_made_from_identity_alone() -> None:
    one = transition.observe(None, status(), cluster="c", now=T0)
    assert one.id == transition.observe(None, status(), cluster="c", now=T0 + timedelta(1)).id
    assert one.id == transition.observe_accounting(None, row(), submitted_at=T0, now=T0).id
    others = {
        id_of("d", JobNumber(7), T0),
        id_of("c", JobNumber(8), T0),
        id_of("c", JobNumber(7, 0), T0),
        id_of("c", JobNumber(7), T0 + timedelta(seconds=1)),
    }
    assert len(others | {one.id}) == 5


@given(st.lists(st.integers(0, 10**9), min_size=2, max_size=20, unique=True))
def test_ids_sort_by_submission(seconds: list[int]) -> None:
    times = [T0 + timedelta(seconds=s) for s in seconds]
    ids = [id_of("c", JobNumber(1), at) for at in sorted(times)]
    assert ids == sorted(ids)


def test_a_requeue_continues_and_a_recycled_number_does_not() -> None:
    record = transition.observe(None, status(), cluster="c", now=T0)
    later = T0 + timedelta(hours=1)
    assert transition.continues(record, status(submitted_at=later, restarts=1))
    assert not transition.continues(record, status(submitted_at=later, restarts=0))
    assert not transition.continues(record, status(submitted_at=later, restarts=1, uid=20001))


def test_array_tasks_do_not_take_the_arrays_id() -> None:
    comment = "sluice:http:01JDZ6T4N8Q5W3R2X1Y0ZKABCD"
    mirror = seen(
        status(array_job_id=7, array_tasks="1-3", admin_comment=comment),
        status(
            job_id=8, array_job_id=7, array_task_id=0, state=state(BaseState.RUNNING), admin_comment=comment
        ),
    )
    array, task = mirror.index.by_number(JobNumber(7)), mirror.index.by_number(JobNumber(7, 0))
    assert array is not None
    assert task is not None
    assert array.id == "job_01JDZ6T4N8Q5W3R2X1Y0ZKABCD"
    assert task.id != array.id
    assert array.state.base is BaseState.RUNNING


def test_the_last_task_takes_the_arrays_record_and_the_array_goes_on() -> None:
    mirror = seen(status(array_job_id=7, array_tasks="0-1"))
    array = mirror.index.by_number(JobNumber(7))
    assert array is not None
    running = state(BaseState.RUNNING)
    tasks = (
        status(job_id=8, array_job_id=7, array_task_id=0, state=running),
        status(job_id=7, array_job_id=7, array_task_id=1, state=running),
    )
    seen(*tasks, mirror=mirror)
    assert mirror.missed(T0 + timedelta(hours=1)) == []
    now = mirror.index.records[array.id]
    assert (now.state.base, now.array_tasks) == (BaseState.RUNNING, None)
    ended = [
        replace(task, state=state(BaseState.COMPLETED), exit=ExitStatus(0), ended_at=T0) for task in tasks
    ]
    seen(*ended, mirror=mirror)
    assert mirror.index.records[array.id].settled


def test_an_array_whose_waiting_record_was_never_seen_is_made() -> None:
    mirror = seen(status(job_id=8, array_job_id=7, array_task_id=3, state=state(BaseState.RUNNING)))
    array = mirror.index.by_number(JobNumber(7))
    assert array is not None
    assert (array.is_array, array.state.base) == (True, BaseState.RUNNING)


def test_a_cancelled_remainder_is_not_forgotten() -> None:
    mirror = seen(
        status(array_job_id=7, array_tasks="1-3", state=state(BaseState.CANCELLED), ended_at=T0),
        status(job_id=8, array_job_id=7, array_task_id=0, state=state(BaseState.COMPLETED), ended_at=T0),
    )
    array = mirror.index.by_number(JobNumber(7))
    assert array is not None
    assert array.state.base is BaseState.CANCELLED


def test_absent_is_unknown_until_accounting_says_more() -> None:
    mirror = seen(status(state=state(BaseState.RUNNING)))
    seen(mirror=mirror)
    (missed,) = mirror.missed(T0 + timedelta(seconds=1))
    assert mirror.told(missed, [])
    assert mirror.index.records[missed.id].state.base is BaseState.UNKNOWN
    assert mirror.missed(T0 + timedelta(seconds=2)) == [], "it is not asked for at every listing"
    (again,) = mirror.missed(T0 + timedelta(minutes=1))
    assert mirror.told(again, [row(state=state(BaseState.RUNNING), ended_at=None)]) is False
    assert mirror.told(again, [row(state=state(BaseState.FAILED), exit=ExitStatus(7))])
    assert mirror.index.records[missed.id].exit == ExitStatus(7)


def test_accounting_of_another_use_of_the_number_is_no_end() -> None:
    record = transition.observe(None, status(state=state(BaseState.RUNNING)), cluster="c", now=T0)
    old = row(submitted_at=T0 - timedelta(days=9))
    new = row(submitted_at=T0 + timedelta(days=9))
    assert history.end_of(record, [old, new], now=T0) is None


def test_runs_of_one_job_are_one_record() -> None:
    runs = [
        row(db_index="1", state=state(BaseState.PREEMPTED)),
        row(db_index="2", submitted_at=T0 + timedelta(minutes=2), state=state(BaseState.COMPLETED)),
    ]
    (record,) = history.ended_jobs(runs, [], now=T0)
    assert (record.submitted_at, record.run_submitted_at) == (T0, T0 + timedelta(minutes=2))
    assert record.state.base is BaseState.COMPLETED
    assert history.ended_jobs(runs, [record], now=T0) == []


def test_waiting_tasks_are_read_as_slurm_writes_them() -> None:
    assert all(waits("0-3,8,10-20:5%4", task) for task in (0, 3, 8, 10, 15, 20))
    assert not any(waits("0-3,8,10-20:5%4", task) for task in (4, 9, 11, 25))
    assert waits("1,3,5,...", 999)


def test_a_waiting_task_has_its_own_gpus_while_others_run() -> None:
    array = transition.observe(
        None, status(array_job_id=7, array_tasks="2-9", tres_requested={"gres/gpu": 1}), cluster="c", now=T0
    )
    waiting = arrays.waiting_task(replace(array, gpus=2), 5)
    assert waiting is not None
    assert waiting.gpus == 1


STATES = st.sampled_from([*BaseState])


@given(st.lists(STATES, min_size=1, max_size=6), st.one_of(st.none(), STATES))
def test_an_array_is_over_exactly_when_everything_of_it_is(
    bases: list[BaseState], rest: BaseState | None
) -> None:
    array = transition.observe(None, status(array_job_id=7, array_tasks="0-9"), cluster="c", now=T0)
    tasks: list[JobRecord] = [
        transition.observe(
            None,
            status(job_id=8 + n, array_job_id=7, array_task_id=n, state=state(base)),
            cluster="c",
            now=T0,
        )
        for n, base in enumerate(bases)
    ]
    remainder = state(rest) if rest else None
    summed = arrays.sum_up(array, tasks, remainder=remainder, now=T0)
    parts = [*(task.state for task in tasks), *([remainder] if remainder else [])]
    assert summed.state.finished == all(part.finished for part in parts)
    assert summed.id == array.id


@given(st.data())
def test_any_sequence_of_listings_keeps_ids_and_misses_nothing(data: st.DataObject) -> None:
    mirror, ids = Mirror("c", lambda: T0), dict[int, str]()
    for _ in range(data.draw(st.integers(1, 5))):
        shown = [
            status(job_id=number, state=state(data.draw(STATES.filter(lambda s: s is not BaseState.UNKNOWN))))
            for number in data.draw(st.sets(st.integers(1, 5)))
        ]
        seen(*shown, mirror=mirror)
        for job in shown:
            record = mirror.index.by_number(JobNumber(job.job_id))
            assert record is not None
            assert record.state == job.state
            assert ids.setdefault(job.job_id, record.id) == record.id
        missed = {record.job_id for record in mirror.missed(T0 + timedelta(hours=1))}
        listed = {job.job_id for job in shown}
        unsettled = {mirror.index.records[job_id].job_id for job_id in mirror.index.unsettled}
        assert missed == unsettled - listed


def test_forgetting_keeps_what_goes_on() -> None:
    index = Index()
    done = transition.observe(
        None, status(state=state(BaseState.COMPLETED), ended_at=T0), cluster="c", now=T0
    )
    live = transition.observe(None, status(job_id=8), cluster="c", now=T0)
    index.put(done)
    index.put(live)
    index.forget_settled(before=T0 + timedelta(hours=1), keep=())
    assert set(index.records) == {live.id}
    assert index.by_number(JobNumber(7)) is None
