"""Prices' I/O: books in, bills out, and the tenants' terms written down as they change.

What flows in: price books of administrators, tenant documents, the ledger. What flows out: `Bill`, and the
book that holds for a tenant now. What doesn't belong here: how a line is computed (the pure files).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from functools import partial

import structlog

from bridge.errors import Conflict, NotFound, SluiceError
from bridge.policy.tenant import Tenant
from gateway.directory import Directory
from gateway.ledger.period import Period
from gateway.price.bill import MAKE_ONE, Bill, Column
from gateway.price.book import DEFAULT_BOOK, PriceBook
from gateway.price.estimate import Cost, Estimate, Holding, cost_of_run, estimate
from gateway.price.terms import changed_terms
from gateway.store import bills, prices
from gateway.store.engine import Store
from gateway.store.prices import BookVersion

_log = structlog.get_logger(__name__)


class Prices:
    """Keeps books and terms, and writes bills.

    Parameters
    ----------
    clock
        Says when terms were seen and books came in.
    """

    def __init__(self, *, store: Store, directory: Directory, clock: Callable[[], datetime]) -> None:
        self._store = store
        self._directory = directory
        self._clock = clock
        self._books: Mapping[str, PriceBook] = {}
        self._noted: tuple[Tenant, ...] | None = None
        """The documents whose terms are written down; read from the store only when they change."""

    async def books(self) -> Mapping[str, BookVersion]:
        """Return the books in force, by name."""
        found = await self._store.read(prices.books)
        self._books = {name: each.book for name, each in found.items() if each.book is not None}
        return found

    def book_of(self, tenant: str) -> PriceBook | None:
        """Return the book that holds for a tenant now, as last read; None when there is none."""
        named = {each.name: each.price_book for each in self._directory.now.documents.tenants}
        return self._books.get(named.get(tenant) or DEFAULT_BOOK)

    async def history(self, name: str) -> list[BookVersion]:
        """Return all versions of a book, newest first; raises `NotFound` when there never was one."""
        found = await self._store.read(partial(prices.history, name=name))
        if not found:
            raise NotFound(f"there is no price book {name!r}; {MAKE_ONE}")
        return found

    async def put(self, book: PriceBook, *, actor: str) -> bool:
        """Make a book the one in force under its name; False when it was already."""
        change = partial(prices.add_book, name=book.name, book=book, actor=actor, now=self._clock())
        changed = await self._store.write(change)
        await self.books()
        return changed

    async def remove(self, name: str, *, actor: str) -> None:
        """Take a book out of force; its versions stay.

        Raises
        ------
        NotFound
            There is no such book.
        Conflict
            A tenant's document names it.
        """
        if name not in await self.books():
            raise NotFound(f"there is no price book {name!r}; GET /v1/prices lists them")
        users = [
            each.name
            for each in self._directory.now.documents.tenants
            if (each.price_book or DEFAULT_BOOK) == name
        ]
        if users:
            raise Conflict(
                f"price book {name!r} is that of tenant {users[0]}; give it another `price_book` first",
                tenants=users,
            )
        await self._store.write(
            partial(prices.add_book, name=name, book=None, actor=actor, now=self._clock())
        )
        await self.books()

    def estimate(self, holdings: Sequence[Holding]) -> Estimate | None:
        """Return what a job would cost by the book of its tenant as it is now; None without a price."""
        book = self.book_of(holdings[0].payer.tenant) if holdings else None
        return estimate(book, holdings, day=self._clock().astimezone(book.zone).date()) if book else None

    def cost_so_far(self, holding: Holding, *, start: datetime, end: datetime | None) -> Cost | None:
        """Return what a run has cost; `end` None: it goes on. None without a price."""
        book = self.book_of(holding.payer.tenant)
        return cost_of_run(book, holding, start=start, end=end or self._clock()) if book else None

    async def bill(
        self,
        period: Period,
        *,
        by: tuple[Column, ...],
        tenants: frozenset[str] | None,
        own: tuple[str, frozenset[str]] = ("", frozenset()),
    ) -> Bill:
        """Write the bill of a period.

        Parameters
        ----------
        tenants
            Whose; None for all.
        own
            A user, and tenants of which only this user's lines are shown: without guarantees, which are
            no user's.

        Raises
        ------
        NotFound
            There is no price book at all.
        InputError
            The period has too many days.
        """
        return await self._store.read(partial(bills.bill, period=period, by=by, tenants=tenants, own=own))

    async def note_terms(self) -> None:
        """Write down what tenants' documents say, where it changed."""
        now = self._directory.now
        if now.taken_at is None or now.documents.tenants == self._noted:
            return
        known = {name: history[-1] for name, history in (await self._store.read(prices.terms)).items()}
        fresh = changed_terms(known, now.documents.tenants, now_s=int(self._clock().timestamp()))
        if fresh:
            await self._store.write(partial(prices.add_terms, fresh=fresh))
        self._noted = now.documents.tenants

    async def run(self, every_s: float) -> None:
        """Keep terms and books fresh for ever."""
        while True:
            try:
                await self.note_terms()
                await self.books()
            except SluiceError as error:
                _log.warning("terms and prices can't be kept", reason=error.message)
            except Exception:  # noqa: BLE001 - a loop that ends would freeze prices for good
                _log.exception("terms and prices can't be kept")
            await asyncio.sleep(every_s)
