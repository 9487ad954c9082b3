"""Price books, tenants' terms, and the GPUs that a guarantee may cover."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

import sqlalchemy as sa
from sqlmodel import Session, col, select

from gateway.price.book import PriceBook
from gateway.price.coverage import Held
from gateway.price.terms import Terms
from gateway.store import running
from gateway.store.columns import upsert
from gateway.store.tables import ENTRIES, PAYERS
from gateway.store.tables.prices import PriceBookRow, TermsRow


@dataclass(frozen=True, slots=True, kw_only=True)
class BookVersion:
    """A version of a book; `book` None means that the book was removed."""

    version: int
    name: str
    book: PriceBook | None
    actor: str
    recorded_at: datetime


def books(session: Session) -> dict[str, BookVersion]:
    """Return the books in force, by name."""
    newest = select(sa.func.max(PriceBookRow.version)).group_by(col(PriceBookRow.name))
    rows = session.exec(
        select(PriceBookRow)
        .where(col(PriceBookRow.version).in_(newest), col(PriceBookRow.document).is_not(None))
        .order_by(col(PriceBookRow.name))
    )
    return {row.name: _version(row) for row in rows}


def all_books(session: Session) -> dict[str, PriceBook]:
    """Return the newest book of each name, removed or not: bills of the past need it."""
    newest = (
        select(sa.func.max(PriceBookRow.version))
        .where(col(PriceBookRow.document).is_not(None))
        .group_by(col(PriceBookRow.name))
    )
    rows = session.exec(select(PriceBookRow).where(col(PriceBookRow.version).in_(newest)))
    return {row.name: PriceBook.model_validate(row.document) for row in rows}


def history(session: Session, name: str) -> list[BookVersion]:
    """Return all versions of a book, newest first."""
    rows = session.exec(
        select(PriceBookRow).where(PriceBookRow.name == name).order_by(col(PriceBookRow.version).desc())
    )
    return [_version(row) for row in rows]


def add_book(session: Session, name: str, book: PriceBook | None, *, actor: str, now: datetime) -> bool:
    """Make `book` (None: no book) the one in force; False when it is already."""
    present = books(session).get(name)
    if (present.book if present else None) == book:
        return False
    document = None if book is None else book.model_dump(mode="json", by_alias=True)
    session.add(PriceBookRow(name=name, document=document, actor=actor, recorded_at=now))
    return True


def terms(session: Session, tenants: Iterable[str] | None = None) -> dict[str, list[Terms]]:
    """Return terms by tenant, oldest first; of all tenants when `tenants` is None."""
    query = select(TermsRow).order_by(col(TermsRow.tenant), col(TermsRow.since_s))
    if tenants is not None:
        query = query.where(col(TermsRow.tenant).in_(sorted(tenants)))
    found: dict[str, list[Terms]] = {}
    for row in session.exec(query):
        one = Terms(tenant=row.tenant, since_s=row.since_s, book=row.book, guarantees=row.guarantees)
        found.setdefault(row.tenant, []).append(one)
    return found


def add_terms(session: Session, fresh: Sequence[Terms]) -> None:
    """Write terms down; of two in one second the later holds."""
    rows = [
        {
            "tenant": each.tenant,
            "since_s": each.since_s,
            "book": each.book,
            "guarantees": dict(each.guarantees),
        }
        for each in fresh
    ]
    upsert(session, TermsRow, rows, keys=("tenant", "since_s"))


def paying_tenants(session: Session) -> frozenset[str]:
    """Return every tenant that the ledger or the terms know."""
    paid = session.execute(sa.select(PAYERS.c.tenant).distinct()).scalars()
    return frozenset(paid) | frozenset(session.exec(select(TermsRow.tenant).distinct()))


def held_gpus(
    session: Session, tenants: frozenset[str], *, start_s: int, end_s: int
) -> dict[tuple[str, str], list[Held]]:
    """Return what touched [start_s, end_s), by tenant and flavor; corrections and open runs are in it."""
    statement = (
        sa.select(
            *(PAYERS.c.tenant, PAYERS.c.flavor),
            *(ENTRIES.c.start_s, ENTRIES.c.end_s, PAYERS.c.job_class, ENTRIES.c.gpus),
        )
        .join(PAYERS, PAYERS.c.id == ENTRIES.c.payer_id)
        .where(
            PAYERS.c.tenant.in_(sorted(tenants)),
            *(ENTRIES.c.end_s > start_s, ENTRIES.c.start_s < end_s, ENTRIES.c.gpus != 0),
        )
    )
    found: dict[tuple[str, str], list[Held]] = {}
    for tenant, flavor, *rest in session.execute(statement):
        found.setdefault((tenant, flavor), []).append(Held(*rest))
    for run in running.of_tenants(session, tenants):
        for entry in run.entries():
            payer = entry.payer
            one = Held(entry.start_s, entry.end_s, payer.job_class, entry.rates.gpus)
            found.setdefault((payer.tenant, payer.flavor), []).append(one)
    return found


def _version(row: PriceBookRow) -> BookVersion:
    assert row.version is not None  # noqa: S101 - it was read
    return BookVersion(
        version=row.version,
        name=row.name,
        book=None if row.document is None else PriceBook.model_validate(row.document),
        actor=row.actor,
        recorded_at=row.recorded_at,
    )
