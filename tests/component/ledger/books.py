"""A ledger over a real SQLite file, asked as from synchronous code."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from bridge.job import AccountingRow
from gateway.ledger.flow import Ledger
from gateway.ledger.period import period_of, zone_of
from gateway.ledger.report import Query, Report, by_of
from gateway.store.engine import Store
from tests.support.database import database
from tests.unit.ledger.rows import at

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)


@dataclass(frozen=True)
class Books:
    """A ledger, called as from synchronous code."""

    store: Store
    ledger: Ledger

    def take(self, *rows: AccountingRow) -> int:
        return asyncio.run(self.ledger.take(rows))

    def complete(self, as_of: str, *live: int, known: bool = True) -> None:
        asyncio.run(
            self.ledger.complete(cluster="sluice", as_of=at(as_of), live=frozenset(live) if known else None)
        )

    def report(
        self,
        start: str = "2026-11-01",
        end: str = "2026-12-01",
        *,
        by: str = "tenant",
        zone: str = "UTC",
        tenants: frozenset[str] | None = None,
    ) -> Report:
        period = period_of(start, end, zone_of(zone), now=NOW)
        return asyncio.run(self.ledger.report(Query(period, by_of(by), tenants)))

    def figures(self, start: str = "2026-11-01", end: str = "2026-12-01", **how: str) -> dict[str, int]:
        return {"/".join(row.keys): row.usage.gpu_s for row in self.report(start, end, **how).rows}  # type: ignore[arg-type]


@contextmanager
def opened(folder: Path) -> Iterator[Books]:
    """Books in a file of their own in `folder`."""
    store = Store.open(database(folder))
    yield Books(store, Ledger(store=store, clock=lambda: NOW))
    store.close()
