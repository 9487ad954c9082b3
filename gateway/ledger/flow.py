"""The ledger's I/O: rows of accounting in, reports out.

What flows in: accounting rows in any order and any number of times (`take`), the end of each whole scan with
what slurmctld holds (`complete`). What flows out: reports. Each chunk of rows is one transaction, and the
cursor moves only after all of them, so that a crash anywhere costs a second reading and nothing else.
What doesn't belong here: when and what to scan (`gateway.track.accounting`), and every rule (pure files).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from functools import partial
from typing import Final

import structlog

from bridge.job import AccountingRow
from gateway.ledger.charge import RunKey, charge_of
from gateway.ledger.report import Query, Report
from gateway.store import cursors, entries, running, usage
from gateway.store.engine import Store

CHUNK: Final = 1000
"""Rows of one transaction: the one writer is never kept from submissions for long."""

_log = structlog.get_logger(__name__)


class Ledger:
    """Takes rows and gives reports.

    Parameters
    ----------
    store
        Where entries are kept.
    clock
        Says when an entry came in.
    """

    def __init__(self, *, store: Store, clock: Callable[[], datetime] = lambda: datetime.now(UTC)) -> None:
        self._store = store
        self._clock = clock

    async def position(self, *, cluster: str) -> datetime | None:
        """Return the end of the last complete scan of a cluster, None before the first."""
        return await self._store.read(partial(cursors.position, cluster=cluster, name=cursors.ACCOUNTING))

    async def take(self, rows: Sequence[AccountingRow]) -> int:
        """Take rows in; returns the number of entries written, 0 when all was known already.

        Raises
        ------
        Unavailable
            The store took nothing of the present chunk; give the rows again.
        """
        written = 0
        for start in range(0, len(rows), CHUNK):
            some = rows[start : start + CHUNK]
            charges = {RunKey(row.cluster, row.db_index): charge_of(row) for row in some}
            written += await self._store.write(partial(entries.take, charges=charges, now=self._clock()))
        return written

    async def complete(self, *, cluster: str, as_of: datetime, live: frozenset[int] | None) -> None:
        """Note that every row up to `as_of` was taken in.

        Parameters
        ----------
        live
            Job numbers that hold resources in a listing of slurmctld begun after the scan did; None when
            slurmctld did not answer. Runs without end are charged up to the last time they were in it.
        """
        await self._store.write(partial(entries.complete, cluster=cluster, as_of=as_of, live=live))

    async def unsettled(self, *, cluster: str) -> tuple[int, ...]:
        """Return job numbers of runs without end that the last whole scan did not show.

        Their rows were repaired into the past (``sacctmgr show runawayjobs``) or purged: ask for them by
        number.
        """
        return await self._store.read(partial(running.unsettled, cluster=cluster))

    async def vanished(self, *, cluster: str, job_id: int) -> None:
        """Note that slurmdbd has no row of a number any more: what had no end there is not charged."""
        _log.warning(
            "a run without end is gone from slurmdbd; it is not charged", cluster=cluster, job_id=job_id
        )
        await self._store.write(partial(running.remove, cluster=cluster, job_id=job_id))

    async def report(self, query: Query) -> Report:
        """Return a report of billed usage.

        Raises
        ------
        InputError
            The period has too many days.
        Unavailable
            The store did not answer.
        """
        # Added up in the reader's thread: a year of days is work that the event loop must not wait for.
        return await self._store.read(partial(usage.report, query=query))
