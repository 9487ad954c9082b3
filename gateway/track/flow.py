"""The mirror's loop: one listing of slurmctld for everybody -> the store.

What flows in: `Slurm.jobs()`, one full load every 1 to 5 s (sooner when somebody waits for a fresh one).
What flows out: rows of jobs that changed, in the store before `fresh` returns. A job that slurmctld no
longer lists is asked for in accounting, and is UNKNOWN until accounting says how it ended. The scan of
accounting is `gateway.track.accounting`'s.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import Final

import anyio.to_thread
import structlog

from bridge.errors import SluiceError, Unavailable
from bridge.job import FINISHED, AccountingRow, BaseState, JobState, JobStatus
from bridge.slurm.port import Slurm
from gateway.metrics import Metrics
from gateway.store import jobs
from gateway.store.engine import Store
from gateway.track import history
from gateway.track.mirror import KEPT, Mirror
from gateway.track.record import JobRecord

_log = structlog.get_logger(__name__)

STEP: Final = 500
"""Records that are compared before other requests get a turn."""
LOOKUPS: Final = 50
"""Jobs asked for in accounting after one listing."""
SHORTEST_S: Final = 0.1
"""Between two listings, however many wait."""


class Tracker:
    """Keeps the mirror of one cluster."""

    def __init__(
        self,
        *,
        store: Store,
        slurm: Slurm,
        metrics: Metrics,
        clock: Callable[[], datetime],
        poll_min_s: float,
        poll_max_s: float,
    ) -> None:
        self.store = store
        self.slurm = slurm
        self.metrics = metrics
        self.clock = clock
        self.failure: SluiceError | None = None
        """Why the last listing failed; None when it worked."""
        self.listed_at: datetime | None = None
        """When the last whole listing began."""
        self._mirror: Mirror | None = None
        self._poll_s = (poll_min_s, poll_max_s)
        self._wake = asyncio.Event()
        self._due = float("inf")
        self._waiting: list[asyncio.Future[None]] = []
        self._polling = asyncio.Lock()

    async def run(self) -> None:
        """Poll for ever: fast while jobs change, slower while nothing does."""
        shortest, longest = self._poll_s
        pause = shortest
        while True:
            changed = await self._poll_for_waiters()
            pause = shortest if changed else min(longest, pause * 1.5)
            await asyncio.sleep(min(SHORTEST_S, shortest))
            await self._rest(pause)

    async def fresh(self) -> None:
        """Wait until a listing that begins after this call is in the store.

        Raises
        ------
        Unavailable
            slurmctld, or the store, did not answer that listing.
        """
        waiter = asyncio.get_running_loop().create_future()
        self._waiting.append(waiter)
        self._wake.set()
        await waiter

    @property
    def mirror(self) -> Mirror:
        """The mirror in memory.

        Raises
        ------
        Unavailable
            Slurm has never answered this process.
        """
        if self._mirror is None:
            raise Unavailable("slurmctld has not answered this gateway yet", part="slurmctld")
        return self._mirror

    @property
    def statuses(self) -> Mapping[int, JobStatus]:
        """The last listing, by Slurm's number of the record; empty before the first."""
        return {} if self._mirror is None else self._mirror.statuses

    def record(self, job_id: str) -> JobRecord | None:
        """Return a job of the live part of the mirror."""
        return None if self._mirror is None else self._mirror.index.records.get(job_id)

    def counts_by_state(self) -> Mapping[str, int]:
        """Return how many unsettled jobs each base state has; states without jobs count 0."""
        found = {} if self._mirror is None else self._mirror.index.counts_by_state()
        return {state.value: found.get(state.value, 0) for state in BaseState if state not in FINISHED}

    def note_submitted(self, record: JobRecord) -> JobRecord:
        """Take a job that Slurm just accepted; returns what the mirror has of it now."""
        self._due = min(self._due, asyncio.get_running_loop().time() + self._poll_s[0])
        self._wake.set()
        return self.mirror.note_submitted(record)

    async def note_cancelled(self, task: JobRecord) -> None:
        """Keep a task that was cancelled while it waited in its array.

        Slurm takes it out of the array's list and forgets it: no record, no accounting row (seen on
        26.05.5). Without this its user would be told that it never was.
        """
        now = self.clock()
        self.mirror.note(
            replace(task, state=JobState(BaseState.CANCELLED), reason="", ended_at=now, changed_at=now)
        )
        await self._save(self.mirror)

    async def poll(self) -> int:
        """List once and store what changed; returns how many jobs did.

        Raises
        ------
        Unavailable
            slurmctld or the store did not answer.
        """
        async with self._polling:
            mirror = await self.begin()
            begun, clock = self.clock(), time.monotonic()
            statuses = await anyio.to_thread.run_sync(self.slurm.jobs)
            changed = await self._take(mirror, statuses)
            changed += await self._ask_for_missed(mirror, begun)
            await self._save(mirror)
            mirror.sweep()
            self.listed_at = begun
            self.metrics.poll_seconds.observe(time.monotonic() - clock)
            return changed

    async def learn(self, rows: Sequence[AccountingRow]) -> None:
        """Take accounting rows of jobs that the mirror may not know (they ended while nobody looked)."""
        if self.listed_at is None:
            await self.poll()
        mirror = self.mirror
        unknown = [row for row in rows if mirror.index.match_row(row) is None]
        if not unknown:
            return
        numbers = {row.array_job_id or row.job_id for row in unknown}
        stored = await self.store.read(partial(jobs.by_numbers, cluster=mirror.cluster, numbers=numbers))
        ended = history.ended_jobs(unknown, stored, now=self.clock())
        mirror.recall(stored)
        for record in ended:
            mirror.note(record)
        await self._save(mirror)

    async def begin(self) -> Mirror:
        """Return the mirror; the first time, ask which cluster it is and load what the store has live."""
        if self._mirror is None:
            cluster = await anyio.to_thread.run_sync(self.slurm.cluster)
            mirror = Mirror(cluster.name, self.clock)
            since = self.clock() - KEPT
            live = await self.store.read(partial(jobs.live, cluster=cluster.name, ended_since=since))
            arrays = {record.job_id for record in live if record.is_array and not record.settled}
            tasks = await self.store.read(partial(jobs.by_numbers, cluster=cluster.name, numbers=arrays))
            mirror.recall([*live, *tasks])
            self._mirror = mirror
        return self._mirror

    async def _rest(self, pause_s: float) -> None:
        loop = asyncio.get_running_loop()
        end = loop.time() + pause_s
        while not self._waiting and (left := min(end, self._due) - loop.time()) > 0:
            self._wake.clear()
            try:
                async with asyncio.timeout(left):
                    await self._wake.wait()
            except TimeoutError:
                return

    async def _poll_for_waiters(self) -> int:
        waiters, self._waiting = self._waiting, []
        self._due = float("inf")
        changed = 0
        try:
            changed = await self.poll()
        except SluiceError as error:
            if self.failure is None:
                _log.warning("slurmctld can't be listed", reason=error.message)
            self.failure = error
        except Exception:  # noqa: BLE001 - a loop that ends would freeze the mirror for good
            _log.exception("a listing can't be taken in")
            self.failure = Unavailable("the mirror failed inside; its log has the reason", part="mirror")
        else:
            self.failure = None
        _answer(waiters, self.failure)
        return changed

    async def _take(self, mirror: Mirror, statuses: Sequence[JobStatus]) -> int:
        changed = 0
        for start in range(0, len(statuses), STEP):
            part = statuses[start : start + STEP]
            if numbers := mirror.strangers(part):
                mirror.recall(
                    await self.store.read(partial(jobs.by_numbers, cluster=mirror.cluster, numbers=numbers))
                )
            changed += mirror.see(part)
            await asyncio.sleep(0)
        mirror.end_listing(statuses)
        return changed

    async def _ask_for_missed(self, mirror: Mirror, begun: datetime) -> int:
        answers: dict[int, Sequence[AccountingRow]] = {}
        changed = 0
        for record in mirror.missed(begun)[:LOOKUPS]:
            number = record.slurm_number.number
            if number not in answers:
                try:
                    answers[number] = await anyio.to_thread.run_sync(self.slurm.accounting_of, number)
                except SluiceError as error:
                    _log.info("accounting can't be asked", job_id=number, reason=error.message)
                    answers[number] = ()
            changed += mirror.told(record, answers[number])
        return changed

    async def _save(self, mirror: Mirror) -> None:
        batch = list(mirror.unsaved.values())
        if batch:
            await self.store.write(partial(jobs.put, records=batch))
            mirror.saved(batch)


def _answer(waiters: Sequence[asyncio.Future[None]], error: SluiceError | None) -> None:
    for waiter in waiters:
        if waiter.done():
            continue
        if error is None:
            waiter.set_result(None)
        elif isinstance(error, Unavailable):
            waiter.set_exception(error)
        else:
            waiter.set_exception(Unavailable(error.message, part="slurmctld"))
