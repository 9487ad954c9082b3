"""Reading the ledger for a bill: usage by day, GPUs that guarantees may cover, books, terms; one snapshot."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime

from sqlmodel import Session

from bridge.errors import NotFound
from gateway.ledger.amounts import NO_USAGE, Usage
from gateway.ledger.period import Period, buckets
from gateway.ledger.report import Query, Report
from gateway.price.bill import MAKE_ONE, Bill, Column, Line, Unpriced, grouped
from gateway.price.book import PriceBook
from gateway.price.coverage import Held
from gateway.price.segment import BY_DAY, Lines, Usages, lines_of, usages_of
from gateway.price.terms import Segment, Terms, segments
from gateway.store import prices, usage


def bill(
    session: Session,
    *,
    period: Period,
    by: tuple[Column, ...],
    tenants: frozenset[str] | None,
    own: tuple[str, frozenset[str]],
) -> Bill:
    """Write a bill, as of one moment of the store."""
    books = prices.all_books(session)
    if not books:
        raise NotFound(f"there is no price book, so that nothing has a cost; {MAKE_ONE}")
    user, theirs = own
    known = prices.paying_tenants(session) if tenants is None else tenants | theirs
    terms = prices.terms(session, known)
    lines: list[Line] = []
    unpriced: dict[Unpriced, Usage] = {}
    provisional_gpu_s, as_of = 0, None
    for segment in segments(terms, known, start_s=period.start_s, end_s=period.end_s):
        report, found = _segment(session, segment, books.get(segment.book), terms, period)
        lines += found.lines
        for key, value in found.unpriced.items():
            unpriced[key] = unpriced.get(key, NO_USAGE) + value
        provisional_gpu_s += report.provisional.gpu_s
        as_of = report.as_of
    lines = [line for line in lines if line.payer.tenant not in theirs or line.payer.user == user]
    rows, totals = grouped(lines, by)
    return Bill(
        period=period,
        by=by,
        rows=rows,
        totals=totals,
        unpriced={key: value for key, value in unpriced.items() if key.tenant not in theirs},
        as_of=as_of,
        provisional_gpu_s=provisional_gpu_s,
    )


def _segment(
    session: Session,
    segment: Segment,
    book: PriceBook | None,
    terms: Mapping[str, list[Terms]],
    period: Period,
) -> tuple[Report, Lines]:
    zone = book.zone if book else period.zone
    start, end = (datetime.fromtimestamp(moment_s, UTC) for moment_s in (segment.start_s, segment.end_s))
    span = Period(start, end, zone)
    report = usage.report(session, Query(span, BY_DAY, segment.tenants))
    usages = usages_of(report.rows)
    if book is None:
        return report, Lines(lines=(), unpriced=_without_book(segment.book, usages))
    own = {name: history for name, history in terms.items() if name in segment.tenants}
    return report, lines_of(
        book,
        usages,
        days=buckets(span, "day"),
        held=_held(session, book, segment, own),
        terms=own,
        until_s=int(report.as_of.timestamp()) if report.as_of else 0,
    )


def _held(
    session: Session, book: PriceBook, segment: Segment, terms: Mapping[str, list[Terms]]
) -> dict[tuple[str, str], list[Held]]:
    """Read what guarantees may cover; nothing when none of them costs anything."""
    flavors = {price.flavor for price in book.reserved}
    guaranteed = {
        name for name, history in terms.items() if any(flavors & set(each.guarantees) for each in history)
    }
    if not guaranteed:
        return {}
    return prices.held_gpus(session, frozenset(guaranteed), start_s=segment.start_s, end_s=segment.end_s)


def _without_book(name: str, usages: Usages) -> dict[Unpriced, Usage]:
    """Return all of the usage as unpriced: the document names a book that isn't there."""
    found: dict[Unpriced, Usage] = {}
    for by_payer in usages.values():
        for payer, used in by_payer.items():
            key = Unpriced(payer.tenant, name, payer.flavor, payer.job_class)
            found[key] = found.get(key, NO_USAGE) + used
    return found
