"""The scan of accounting: what it reads, in which order it tells the sink, when the cursor moves."""

import asyncio
from collections.abc import Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from bridge.errors import Unavailable
from bridge.job import AccountingRow, JobSpec
from gateway.store import jobs
from gateway.track.accounting import AccountingScan
from tests.component.gateway.rig import SCRIPT, Clock, Gateway, fake_slurm, gateway
from tests.support.database import database

SPEC = JobSpec(script=SCRIPT, work_dir="/home/ada", environment={}, tres_per_job="gres/gpu:h100:1")


class Sink:
    """Keeps what it is told."""

    def __init__(self) -> None:
        self.at: datetime | None = None
        self.rows: list[AccountingRow] = []
        self.live: frozenset[int] | None = None
        self.open: tuple[int, ...] = ()
        self.gone: list[int] = []

    async def position(self, *, cluster: str) -> datetime | None:
        assert cluster == "sluice"
        return self.at

    async def take(self, rows: Sequence[AccountingRow]) -> None:
        self.rows += rows

    async def complete(self, *, cluster: str, as_of: datetime, live: frozenset[int] | None) -> None:
        assert cluster == "sluice"
        self.at, self.live = as_of, live

    async def unsettled(self, *, cluster: str) -> tuple[int, ...]:
        assert cluster == "sluice"
        return self.open

    async def vanished(self, *, cluster: str, job_id: int) -> None:
        assert cluster == "sluice"
        self.gone.append(job_id)


def scan_of(process: Gateway, clock: Clock, sink: Sink) -> AccountingScan:
    return AccountingScan(
        slurm=process.slurm,
        tracker=process.tracker,
        sink=sink,
        clock=clock,
        margin=timedelta(minutes=10),
        deep=timedelta(days=1),
        deep_every=timedelta(hours=1),
        history=timedelta(days=35),
    )


def test_windows_overlap_and_sometimes_go_far_back(tmp_path: Path) -> None:
    clock, windows = Clock(), []
    slurm = fake_slurm(clock)

    def noted(*, start: datetime, end: datetime) -> Any:
        windows.append((start, end))
        return iter(())

    slurm.accounting = noted  # type: ignore[method-assign]

    async def story() -> None:
        async with gateway(database(tmp_path), slurm, clock) as process:
            sink = Sink()
            scan = scan_of(process, clock, sink)
            for step in (0, 1, 90):
                clock.forward(minutes=step)
                await scan.once()
            lengths = [round((end - start) / timedelta(minutes=1)) for start, end in windows]
            assert lengths == [35 * 24 * 60, 11, 24 * 60 + 90]
            assert sink.at == windows[-1][1]

    asyncio.run(story())


def test_the_cursor_stays_when_a_scan_breaks(tmp_path: Path) -> None:
    clock = Clock()
    slurm = fake_slurm(clock)

    async def story() -> None:
        async with gateway(database(tmp_path), slurm, clock) as process:
            sink = Sink()
            scan = scan_of(process, clock, sink)
            slurm.down = {"slurmdbd"}
            with pytest.raises(Unavailable):
                await scan.once()
            assert sink.at is None

    asyncio.run(story())


def test_rows_reach_the_sink_with_what_is_live(tmp_path: Path) -> None:
    clock = Clock()
    slurm = fake_slurm(clock)

    async def story() -> None:
        async with gateway(database(tmp_path), slurm, clock) as process:
            sink = Sink()
            running, pending = (slurm.submit(SPEC, user="ada").job_id for _ in range(2))
            slurm.start(running)
            await scan_of(process, clock, sink).once()
            assert {row.job_id for row in sink.rows} == {running, pending}
            assert sink.live == frozenset({running})
            slurm.down = {"slurmctld"}
            await scan_of(process, clock, sink).once()
            assert sink.live is None

    asyncio.run(story())


def test_open_rows_are_asked_for_and_vanished_ones_reported(tmp_path: Path) -> None:
    clock = Clock()
    slurm = fake_slurm(clock)

    async def story() -> None:
        async with gateway(database(tmp_path), slurm, clock) as process:
            sink = Sink()
            number = slurm.submit(SPEC, user="ada").job_id
            sink.open = (number, 9999)
            await scan_of(process, clock, sink).once()
            assert [row.job_id for row in sink.rows].count(number) == 2
            assert sink.gone == [9999]

    asyncio.run(story())


def test_jobs_that_ended_while_nobody_looked_are_in_the_mirror(tmp_path: Path) -> None:
    clock = Clock()
    slurm = fake_slurm(clock)
    number = slurm.submit(SPEC, user="ada").job_id
    slurm.start(number)
    slurm.finish(number, exit=3)
    slurm.purge(number)

    async def story() -> None:
        async with gateway(database(tmp_path), slurm, clock) as process:
            sink = Sink()
            for _ in range(2):
                await scan_of(process, clock, sink).once()
            found = await process.store.read(lambda s: jobs.by_numbers(s, "sluice", [number]))
            assert [(job.state.base, job.exit and job.exit.code, job.door) for job in found] == [
                ("FAILED", 3, "sbatch")
            ]

    asyncio.run(story())
