"""The scan of accounting: rows of slurmdbd -> the ledger and the mirror.

Each scan begins a margin before the end of the last complete one and goes up to now; once in a while it
goes back further, for rows that came late (slurmdbd was away). Rows are given to the sink in chunks and may
be given again: the sink keys them by (cluster, db_index). The cursor moves only after a whole scan.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime, timedelta
from functools import partial
from typing import Final, Protocol

import anyio.to_thread
import structlog

from bridge.errors import SluiceError, Unavailable
from bridge.job import AccountingRow
from bridge.slurm.port import Slurm
from gateway.track.flow import Tracker

CHUNK: Final = 1000
UNSETTLED: Final = 100
"""Rows without an end that are asked for after one scan."""

_log = structlog.get_logger(__name__)


class Sink(Protocol):
    """Where rows go: the ledger (`gateway.ledger.flow`)."""

    async def position(self, *, cluster: str) -> datetime | None:
        """Return the end of the last complete scan."""
        ...

    async def take(self, rows: Sequence[AccountingRow]) -> object:
        """Take rows, in any order and any number of times."""
        ...

    async def complete(self, *, cluster: str, as_of: datetime, live: frozenset[int] | None) -> object:
        """Note a complete scan up to `as_of`.

        `live` are the records that hold resources in a listing of slurmctld begun after the scan did, None
        when there was none.
        """
        ...

    async def unsettled(self, *, cluster: str) -> Sequence[int]:
        """Return numbers of rows without an end that the last complete scan did not show."""
        ...

    async def vanished(self, *, cluster: str, job_id: int) -> object:
        """Note that slurmdbd has no row of a number any more."""
        ...


class AccountingScan:
    """Runs scans; one at a time.

    Parameters
    ----------
    margin, deep, deep_every, history
        How far a scan goes back before the last one's end; how far a deep one does, and how often; how far
        the very first one does.
    """

    def __init__(
        self,
        *,
        slurm: Slurm,
        tracker: Tracker,
        sink: Sink,
        clock: Callable[[], datetime],
        margin: timedelta,
        deep: timedelta,
        deep_every: timedelta,
        history: timedelta,
    ) -> None:
        self._slurm = slurm
        self._tracker = tracker
        self._sink = sink
        self._clock = clock
        self._margin = margin
        self._deep = deep
        self._deep_every = deep_every
        self._history = history
        self._deep_at: datetime | None = None
        self.completed_at: datetime | None = None
        """End of the last complete scan of this process."""
        self.failure: SluiceError | None = None

    async def run(self, every_s: float) -> None:
        """Scan for ever."""
        while True:
            try:
                await self.once()
                self.failure = None
            except SluiceError as error:
                if self.failure is None:
                    _log.warning("accounting can't be scanned", reason=error.message)
                self.failure = error
                self._deep_at = None  # rows of the gap may come late: go back further next time
            except Exception:  # noqa: BLE001 - a loop that ends would stop the ledger for good
                _log.exception("a scan of accounting can't be taken in")
                self.failure = Unavailable("the scan failed inside; the log has the reason", part="ledger")
            await asyncio.sleep(every_s)

    async def once(self) -> None:
        """Scan once, whole.

        Raises
        ------
        SluiceError
            slurmdbd, slurmctld or the store did not answer; the cursor stays.
        """
        cluster = (await self._tracker.begin()).cluster
        now = self._clock()
        start = self._start(await self._sink.position(cluster=cluster), now)
        rows = await anyio.to_thread.run_sync(partial(self._slurm.accounting, start=start, end=now))
        while chunk := await anyio.to_thread.run_sync(_chunk, rows):
            await self._sink.take(chunk)
            await self._tracker.learn(chunk)
        await self._sink.complete(cluster=cluster, as_of=now, live=await self._live())
        self.completed_at = now
        await self._ask_for_unsettled(cluster)

    def _start(self, position: datetime | None, now: datetime) -> datetime:
        if position is None:
            self._deep_at = now
            return now - self._history
        if self._deep_at is None or now - self._deep_at >= self._deep_every:
            self._deep_at = now
            return position - max(self._deep, self._margin)
        return position - self._margin

    async def _live(self) -> frozenset[int] | None:
        try:
            await self._tracker.fresh()
        except Unavailable:
            return None
        return frozenset(
            job_id for job_id, status in self._tracker.statuses.items() if status.state.holds_resources
        )

    async def _ask_for_unsettled(self, cluster: str) -> None:
        for job_id in (await self._sink.unsettled(cluster=cluster))[:UNSETTLED]:
            rows = await anyio.to_thread.run_sync(self._slurm.accounting_of, job_id)
            if rows:
                await self._sink.take(rows)
            else:
                await self._sink.vanished(cluster=cluster, job_id=job_id)


def _chunk(rows: Iterator[AccountingRow]) -> list[AccountingRow]:
    return list(itertools.islice(rows, CHUNK))
