"""kill -9 at every step of a submission: the rows of the table in `gateway.submit.flow`."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgpack
import pytest
import sqlalchemy as sa

from bridge.errors import Conflict, KeyReused, OutcomeUnknown, SlurmRefused, Unavailable
from bridge.job import JobSpec
from bridge.slurm.fake import FakeSlurm
from bridge.slurm.port import Submitted
from gateway.store import intents, jobs
from gateway.track.record import JobNumber
from tests.component.gateway.rig import Clock, Died, Gateway, fake_slurm, gateway
from tests.support.database import database

Patch = Callable[[Gateway], None]


class Instead:
    """The same object, but for some methods."""

    def __init__(self, real: object, **methods: Callable[..., Any]) -> None:
        self._real = real
        self.__dict__.update(methods)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)


class Scene:
    """A store, a Slurm and a clock that outlive gateways."""

    def __init__(self, folder: Path) -> None:
        self.url = database(folder)
        self.clock = Clock()
        self.slurm: FakeSlurm = fake_slurm(self.clock)

    def jobs(self) -> list[str]:
        return [job.spec.admin_comment or "" for job in self.slurm.records]


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    return Scene(tmp_path)


def dies_at_write(number: int, *, before: bool) -> Patch:
    """Die at the n-th write of the store from now on, before or after it is committed."""

    def patch(process: Gateway) -> None:
        count, write = 0, process.store.write

        async def dying(change: Any) -> Any:
            nonlocal count
            count += 1
            if count == number and before:
                raise Died
            result = await write(change)
            if count == number:
                raise Died
            return result

        process.submitter.store = Instead(process.store, write=dying)  # type: ignore[assignment]

    return patch


def dies_in_slurm(*, before: bool) -> Patch:
    def patch(process: Gateway) -> None:
        def dying(spec: JobSpec, *, user: str) -> Submitted:
            if not before:
                process.slurm.submit(spec, user=user)
            raise Died

        process.submitter.slurm = Instead(process.slurm, submit=dying)

    return patch


CRASH_POINTS: dict[str, tuple[Patch, int]] = {
    "before the intent is committed": (dies_at_write(1, before=True), 0),
    "after the intent, before Slurm is asked (store)": (dies_at_write(1, before=False), 1),
    "after the intent, before Slurm is asked": (dies_in_slurm(before=True), 1),
    "after Slurm took it, before its answer": (dies_in_slurm(before=False), 1),
    "after Slurm's answer, before the outcome is committed": (dies_at_write(2, before=True), 1),
    "after the outcome is committed, before the answer": (dies_at_write(2, before=False), 1),
}


@pytest.mark.parametrize("point", CRASH_POINTS)
def test_a_crash_loses_no_accepted_job_and_makes_none_twice(scene: Scene, point: str) -> None:
    patch, expected = CRASH_POINTS[point]

    async def story() -> None:
        async with gateway(scene.url, scene.slurm, scene.clock) as process:
            patch(process)
            with pytest.raises(Died):
                await process.submit(key="k1")
        async with gateway(scene.url, scene.slurm, scene.clock) as process:
            await process.settled()
            assert len(scene.jobs()) == expected
            await process.settled()
            await process.tracker.fresh()
            assert len(scene.jobs()) == expected
            job_id = await process.submit(key="k1")
            assert len(scene.jobs()) == 1
            assert await process.submit(key="k1") == job_id
            stored = await process.store.read(lambda s: jobs.get(s, job_id))
            assert stored is not None
            assert stored.admin_comment == scene.jobs()[0]
            assert scene.jobs() == [f"sluice:http:{job_id.removeprefix('job_')}"]

    asyncio.run(story())


@pytest.mark.parametrize("before", [True, False])
def test_a_crash_while_a_replay_submits_is_replayed_too(scene: Scene, before: bool) -> None:
    async def story() -> None:
        for patch in (dies_in_slurm(before=True), dies_in_slurm(before=before)):
            async with gateway(scene.url, scene.slurm, scene.clock) as process:
                patch(process)
                with pytest.raises(Died):
                    await (
                        process.settled()
                        if await process.store.read(intents.still_open)
                        else process.submit()
                    )
        async with gateway(scene.url, scene.slurm, scene.clock) as process:
            await process.settled()
            assert len(scene.jobs()) == 1

    asyncio.run(story())


def test_a_submission_that_the_agent_still_works_on_is_not_sent_again(scene: Scene) -> None:
    async def story() -> None:
        late: list[Callable[[], Submitted]] = []

        def patch(process: Gateway) -> None:
            def dying(spec: JobSpec, *, user: str) -> Submitted:
                late.append(lambda: scene.slurm.submit(spec, user=user))
                raise Died

            process.submitter.slurm = Instead(process.slurm, submit=dying)

        async with gateway(scene.url, scene.slurm, scene.clock) as process:
            patch(process)
            with pytest.raises(Died):
                await process.submit(key="k1")
        async with gateway(scene.url, scene.slurm, scene.clock, settle_s=3600) as process:
            for _ in range(5):
                assert await process.replay.once() == 1
            with pytest.raises(Conflict):
                await process.submit(key="k1")
            late[0]()
            await process.settled()
            assert len(scene.jobs()) == 1
            await process.submit(key="k1")
            assert len(scene.jobs()) == 1

    asyncio.run(story())


def test_a_job_that_ran_and_left_slurmctld_is_found_in_accounting(scene: Scene) -> None:
    async def story() -> None:
        async with gateway(scene.url, scene.slurm, scene.clock) as process:
            dies_in_slurm(before=False)(process)
            with pytest.raises(Died):
                await process.submit()
        number = scene.slurm.records[0].job_id
        scene.slurm.start(number)
        scene.slurm.finish(number, exit=7)
        scene.slurm.purge(number)
        async with gateway(scene.url, scene.slurm, scene.clock) as process:
            await process.settled()
            assert len(scene.jobs()) == 1
            found = await process.store.read(lambda s: jobs.by_number(s, "sluice", JobNumber(number)))
            assert [(job.state.base, job.exit and job.exit.code) for job in found] == [("FAILED", 7)]

    asyncio.run(story())


def test_nothing_is_concluded_while_slurmctld_or_accounting_is_away(scene: Scene) -> None:
    async def story() -> None:
        async with gateway(scene.url, scene.slurm, scene.clock) as process:
            dies_in_slurm(before=True)(process)
            with pytest.raises(Died):
                await process.submit()
        async with gateway(scene.url, scene.slurm, scene.clock) as process:
            for part in ("slurmctld", "slurmdbd"):
                scene.slurm.down = {part}
                with pytest.raises(Unavailable):
                    for _ in range(100):
                        await process.replay.once()
                        await asyncio.sleep(0.01)
                assert scene.jobs() == []
            scene.slurm.down = set()
            await process.settled()
            assert len(scene.jobs()) == 1

    asyncio.run(story())


def test_a_lost_answer_is_found_and_answered_as_usual(scene: Scene) -> None:
    async def story() -> None:
        async with gateway(scene.url, scene.slurm, scene.clock, resolve_s=5) as process:
            scene.slurm.fail_next("submit", OutcomeUnknown("no answer within 10 s"), after=True)
            await process.submit()
            assert len(scene.jobs()) == 1
            assert await process.replay.once() == 0

    asyncio.run(story())


def test_a_client_that_was_told_unknown_gets_no_job_behind_its_back(scene: Scene) -> None:
    async def story() -> None:
        async with gateway(scene.url, scene.slurm, scene.clock) as process:
            scene.slurm.fail_next("submit", OutcomeUnknown("no answer"), after=False)
            with pytest.raises(OutcomeUnknown) as told:
                await process.submit(key="k1")
            job_id = told.value.details["id"]
            with pytest.raises(Conflict):
                await process.submit(key="k1")
            await process.settled()
            assert scene.jobs() == []
            assert await process.submit(key="k1") != job_id
            assert len(scene.jobs()) == 1

    asyncio.run(story())


def test_a_client_that_was_told_unknown_finds_the_job_when_slurm_has_it_after_all(scene: Scene) -> None:
    async def story() -> None:
        async with gateway(scene.url, scene.slurm, scene.clock) as process:
            scene.slurm.fail_next("jobs", Unavailable("paused"), times=1000)
            scene.slurm.fail_next("submit", OutcomeUnknown("no answer"), after=True)
            with pytest.raises(OutcomeUnknown) as told:
                await process.submit(key="k1")
            scene.slurm._faults.clear()
            await process.settled()
            assert await process.submit(key="k1") == told.value.details["id"]
            assert len(scene.jobs()) == 1

    asyncio.run(story())


@pytest.mark.parametrize(
    "error", [Unavailable("slurmctld does not answer", part="slurmctld"), SlurmRefused("no", errno=2050)]
)
def test_a_submission_that_surely_failed_is_closed_and_frees_its_key(scene: Scene, error: Exception) -> None:
    async def story() -> None:
        async with gateway(scene.url, scene.slurm, scene.clock) as process:
            scene.slurm.fail_next("submit", error)  # type: ignore[arg-type]
            with pytest.raises(type(error)):
                await process.submit(key="k1")
            assert await process.replay.once() == 0
            assert scene.jobs() == []
            await process.submit(key="k1")
            assert len(scene.jobs()) == 1

    asyncio.run(story())


def second_write_fails(process: Gateway) -> None:
    write, count = process.store.write, 0

    async def second_fails(change: Any) -> Any:
        nonlocal count
        count += 1
        if count == 2:
            raise Unavailable("disk full", part="store")
        return await write(change)

    process.store.write = second_fails  # type: ignore[method-assign]


def test_a_failure_that_the_store_could_not_take_is_not_replayed(scene: Scene) -> None:
    async def story() -> None:
        async with gateway(scene.url, scene.slurm, scene.clock) as process:
            second_write_fails(process)
            scene.slurm.fail_next("submit", Unavailable("slurmctld is away", part="slurmctld"))
            with pytest.raises(Unavailable, match="slurmctld is away"):
                await process.submit()
            await process.settled()
            assert scene.jobs() == []

    asyncio.run(story())


def test_an_outcome_that_the_store_could_not_take_is_written_later(scene: Scene) -> None:
    async def story() -> None:
        async with gateway(scene.url, scene.slurm, scene.clock) as process:
            second_write_fails(process)
            with pytest.raises(OutcomeUnknown, match="disk full"):
                await process.submit(key="k1")
            await process.settled()
            await process.submit(key="k1")
            assert len(scene.jobs()) == 1

    asyncio.run(story())


def test_requests_with_one_key_at_the_same_time_make_one_job(scene: Scene) -> None:
    async def story() -> None:
        async with gateway(scene.url, scene.slurm, scene.clock) as process:
            results = await asyncio.gather(
                *(process.submit(key="k") for _ in range(20)), return_exceptions=True
            )
            ids = {result for result in results if isinstance(result, str)}
            assert len(ids) == 1
            assert all(isinstance(result, str | Conflict) for result in results)
            assert len(scene.jobs()) == 1

    asyncio.run(story())


def test_a_key_with_another_request_is_refused_and_another_user_may_use_it(scene: Scene) -> None:
    async def story() -> None:
        async with gateway(scene.url, scene.slurm, scene.clock) as process:
            first = await process.submit(key="k")
            with pytest.raises(KeyReused):
                await process.submit(key="k", arguments=("--time=1",))
            assert await process.submit(user="bela", key="k") != first
            assert len(scene.jobs()) == 2

    asyncio.run(story())


def test_a_client_that_vanishes_leaves_a_whole_submission(scene: Scene) -> None:
    async def story() -> None:
        async with gateway(scene.url, scene.slurm, scene.clock) as process:
            request = asyncio.create_task(process.submit(key="k"))
            await asyncio.sleep(0)
            request.cancel()
            await asyncio.gather(request, return_exceptions=True)
            await process.submitter.drain()
            assert len(scene.jobs()) == 1
            assert await process.replay.once() == 0

    asyncio.run(story())


def test_an_intent_that_this_version_can_not_read_stops_no_other(scene: Scene) -> None:
    async def story() -> None:
        for _ in range(2):
            async with gateway(scene.url, scene.slurm, scene.clock) as process:
                dies_in_slurm(before=True)(process)
                with pytest.raises(Died):
                    await process.submit()
        async with gateway(scene.url, scene.slurm, scene.clock) as process:
            first, _second = await process.store.read(intents.still_open)
            garbled = sa.text("UPDATE intents SET spec = :spec WHERE id = :id")
            values = {"spec": msgpack.packb({"no such field": 1}), "id": first.id}
            await process.store.write(lambda session: session.connection().execute(garbled, values).rowcount)
            await process.settled()
            assert len(scene.jobs()) == 1
            closed = await process.store.read(lambda session: intents.get(session, first.id))
            assert closed is not None
            assert closed.error is not None
            assert closed.error["code"] == "unsupported"

    asyncio.run(story())
