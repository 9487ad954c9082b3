"""The lines of one segment of a bill: tenants with one book, over days of that book's zone.

Pure. What flows in: usage by day and payer, the GPUs that were held, the guarantees over time. What flows
out: lines, and the usage that no price is for.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date

from gateway.ledger.amounts import NO_USAGE, Payer, Usage
from gateway.ledger.period import Bucket
from gateway.ledger.report import Dimension, Row
from gateway.price.bill import Line, Unpriced, allotted, reserved_line, used_line
from gateway.price.book import PriceBook
from gateway.price.coverage import Held, Step, covered
from gateway.price.terms import Terms, guarantee_steps

BY_DAY: tuple[Dimension, ...] = ("tenant", "user", "class", "flavor", "door", "day")
"""The columns of a usage report that a bill is made of."""


@dataclass(frozen=True, slots=True)
class _Guarantee:
    """A tenant's guarantee of one flavor over time."""

    tenant: str
    flavor: str
    steps: Sequence[Step]


Usages = Mapping[date, Mapping[Payer, Usage]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Lines:
    """What a segment adds to a bill."""

    lines: tuple[Line, ...]
    unpriced: Mapping[Unpriced, Usage] = field(default_factory=dict)


def usages_of(rows: Iterable[Row]) -> dict[date, dict[Payer, Usage]]:
    """Read the rows of a report by `BY_DAY`."""
    found: dict[date, dict[Payer, Usage]] = {}
    for row in rows:
        *names, day = row.keys
        found.setdefault(date.fromisoformat(day), {})[Payer(*names)] = row.usage
    return found


def lines_of(
    book: PriceBook,
    usages: Usages,
    *,
    days: Sequence[Bucket],
    held: Mapping[tuple[str, str], Sequence[Held]],
    terms: Mapping[str, Sequence[Terms]],
    until_s: int,
) -> Lines:
    """Return the lines of a segment.

    Parameters
    ----------
    days
        Of the book's zone, cut to the segment, ascending and without gaps.
    held
        By tenant and flavor.
    terms
        By tenant, oldest first.
    until_s
        Guarantees are charged up to this moment: as far as accounting has been read.
    """
    lines: list[Line] = []
    unpriced: dict[Unpriced, Usage] = {}
    coverage: dict[tuple[date, str, str, str], int] = {}
    for tenant, history in terms.items():
        for flavor in sorted({flavor for each in history for flavor in each.guarantees}):
            guarantee = _Guarantee(tenant, flavor, guarantee_steps(history, flavor))
            lines += _reserved(book, guarantee, days, until_s)
            coverage |= _coverage(book, guarantee, days, held.get((tenant, flavor), ()))
    for day, by_payer in usages.items():
        for payer, (usage, covered_gpu_s) in _with_coverage(day, by_payer, coverage).items():
            line = used_line(book, day=day, payer=payer, usage=usage, covered_gpu_s=covered_gpu_s)
            if isinstance(line, Line):
                lines.append(line)
            else:
                unpriced[line] = unpriced.get(line, NO_USAGE) + usage
    return Lines(lines=tuple(lines), unpriced=unpriced)


def _reserved(book: PriceBook, guarantee: _Guarantee, days: Sequence[Bucket], until_s: int) -> Iterable[Line]:
    for day in days:
        guaranteed_gpu_s = _integral(guarantee.steps, day.start_s, min(day.end_s, until_s))
        line = reserved_line(
            book,
            day=date.fromisoformat(day.label),
            tenant=guarantee.tenant,
            flavor=guarantee.flavor,
            guaranteed_gpu_s=guaranteed_gpu_s,
        )
        if line is not None:
            yield line


def _integral(steps: Sequence[Step], lo_s: int, hi_s: int) -> int:
    """Return guaranteed GPU-seconds in [lo_s, hi_s)."""
    total = 0
    ends = [*(step.since_s for step in steps[1:]), hi_s]
    for step, end_s in zip(steps, ends, strict=True):
        total += step.gpus * max(0, min(end_s, hi_s) - max(step.since_s, lo_s))
    return total


def _coverage(
    book: PriceBook, guarantee: _Guarantee, days: Sequence[Bucket], held: Sequence[Held]
) -> dict[tuple[date, str, str, str], int]:
    """Return covered GPU-seconds by day, tenant, flavor and class, of days on which guarantees cost."""
    if not held or not days:
        return {}
    borders_s = [*(day.start_s for day in days), days[-1].end_s]
    found = {}
    for (number, job_class), gpu_s in covered(held, guarantee.steps, borders_s=borders_s).items():
        day = date.fromisoformat(days[number].label)
        if book.reserved_price(day, guarantee.flavor) is not None:
            found[day, guarantee.tenant, guarantee.flavor, job_class] = gpu_s
    return found


def _with_coverage(
    day: date, by_payer: Mapping[Payer, Usage], coverage: Mapping[tuple[date, str, str, str], int]
) -> dict[Payer, tuple[Usage, int]]:
    """Give each payer its part of what the guarantee covers."""
    weights: dict[tuple[str, str, str], dict[Payer, int]] = {}
    for payer, usage in by_payer.items():
        if usage.gpu_s > 0:
            weights.setdefault((payer.tenant, payer.flavor, payer.job_class), {})[payer] = usage.gpu_s
    parts: dict[Payer, int] = {}
    for (tenant, flavor, job_class), used in weights.items():
        parts |= allotted(coverage.get((day, tenant, flavor, job_class), 0), used)
    return {payer: (usage, parts.get(payer, 0)) for payer, usage in by_payer.items()}
