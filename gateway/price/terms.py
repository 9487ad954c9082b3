"""A tenant's terms over time: its price book and its guarantees, and the spans of a bill that follow.

Pure. Terms begin when the gateway first saw them in the tenant's document, and hold until the next ones.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from bridge.policy.tenant import Tenant
from gateway.price.book import DEFAULT_BOOK
from gateway.price.coverage import Step


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """What held for a tenant from `since_s` on (seconds since 1970)."""

    tenant: str
    since_s: int
    book: str = DEFAULT_BOOK
    guarantees: Mapping[str, int] = field(default_factory=dict)
    """GPUs by flavor; those without are left out."""

    def same_as(self, other: Terms) -> bool:
        """Whether nothing but the time differs."""
        return (self.tenant, self.book, dict(self.guarantees)) == (
            other.tenant,
            other.book,
            dict(other.guarantees),
        )


@dataclass(frozen=True, slots=True)
class Segment:
    """[start_s, end_s) of a bill, in which these tenants have one book."""

    book: str
    start_s: int
    end_s: int
    tenants: frozenset[str]


def terms_of(tenant: Tenant, *, now_s: int) -> Terms:
    """Return what a document says."""
    guarantees = {flavor: grant.guarantee for flavor, grant in tenant.flavors.items() if grant.guarantee}
    return Terms(
        tenant=tenant.name,
        since_s=now_s,
        book=tenant.price_book or DEFAULT_BOOK,
        guarantees=dict(sorted(guarantees.items())),
    )


def changed_terms(
    known: Mapping[str, Terms], documents: Iterable[Tenant], *, now_s: int
) -> tuple[Terms, ...]:
    """Return the terms to write down: of new tenants, of changed ones, and of removed ones (no guarantee).

    Parameters
    ----------
    known
        The newest terms of each tenant.
    """
    wanted = {document.name: terms_of(document, now_s=now_s) for document in documents}
    for name, terms in known.items():
        if name not in wanted and terms.guarantees:
            wanted[name] = Terms(tenant=name, since_s=now_s, book=terms.book)
    return tuple(
        terms for name, terms in sorted(wanted.items()) if name not in known or not known[name].same_as(terms)
    )


def segments(
    terms: Mapping[str, Sequence[Terms]], tenants: Iterable[str], *, start_s: int, end_s: int
) -> tuple[Segment, ...]:
    """Cut a period where a tenant's book changes; tenants with the same cuts share their segments.

    Before a tenant's first terms its first book holds, for usage that is older than the gateway; a tenant
    without any terms (an account of the site's own) has the default book.
    """
    shared: dict[tuple[str, int, int], set[str]] = {}
    for tenant in tenants:
        for book, lo_s, hi_s in _of_one(terms.get(tenant, ()), start_s, end_s):
            shared.setdefault((book, lo_s, hi_s), set()).add(tenant)
    return tuple(
        Segment(book, lo_s, hi_s, frozenset(names)) for (book, lo_s, hi_s), names in sorted(shared.items())
    )


def guarantee_steps(terms: Iterable[Terms], flavor: str) -> tuple[Step, ...]:
    """Return a tenant's guarantee of a flavor over time."""
    return tuple(Step(each.since_s, each.guarantees.get(flavor, 0)) for each in terms)


def _of_one(history: Sequence[Terms], start_s: int, end_s: int) -> list[tuple[str, int, int]]:
    if not history:
        return [(DEFAULT_BOOK, start_s, end_s)]
    found: list[tuple[str, int, int]] = []
    inside = [each for each in history if start_s < each.since_s < end_s]
    before = [each for each in history if each.since_s <= start_s]
    book, lo_s = (before or history)[-1 if before else 0].book, start_s
    for each in inside:
        if each.book != book:
            found.append((book, lo_s, each.since_s))
            book, lo_s = each.book, each.since_s
    return [*found, (book, lo_s, end_s)]
