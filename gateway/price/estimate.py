"""What a job would cost, and what a run has cost so far. Pure; before what a guarantee covers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

from bridge.job_spec import JobSpec
from bridge.policy.request import Decision
from gateway.ledger.amounts import Payer, Rates, used
from gateway.ledger.period import Period, buckets
from gateway.price.bill import Line, used_line
from gateway.price.book import PriceBook
from gateway.price.money import NO_MONEY
from gateway.track.arrays import task_count


@dataclass(frozen=True, slots=True)
class Cost:
    """An amount in the currency's own digits."""

    amount: Decimal
    currency: str


@dataclass(frozen=True, slots=True)
class Estimate:
    """What a job would cost."""

    per_hour: Decimal
    """While all of it runs."""
    at_most: Decimal | None
    """When it runs up to its time limit; None without one."""
    currency: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Holding:
    """What one job, or each task of an array, would hold."""

    payer: Payer
    rates: Rates
    time_limit: timedelta | None
    tasks: int = 1


def holding_of(spec: JobSpec, decision: Decision, *, cpus: int, user: str) -> Holding:
    """Return what a job that was decided would hold; `cpus` as slurmctld forecast them.

    Memory is what the script names; what Slurm would fill in (DefMemPerCPU and its kin) is not known here.
    """
    cpus = cpus or spec.cpus_min or 1
    limit_min = decision.time_limit_min
    return Holding(
        payer=Payer(
            tenant=decision.account,
            user=user,
            job_class=decision.job_class,
            flavor=decision.flavor if decision.gpus else "",
            door="http",
        ),
        rates=Rates(gpus=decision.gpus, cpus=cpus, memory_mib=_memory_mib(spec, cpus, decision.gpus)),
        time_limit=None if isinstance(limit_min, str) else timedelta(minutes=limit_min),
        tasks=task_count(spec.array) if spec.array else 1,
    )


def _memory_mib(spec: JobSpec, cpus: int, gpus: int) -> int:
    if spec.memory_per_cpu_mib:
        return spec.memory_per_cpu_mib * cpus
    if spec.memory_per_tres:
        return int(spec.memory_per_tres.rpartition(":")[2]) * gpus
    return (spec.memory_per_node_mib or 0) * (spec.nodes_min or 1)


def estimate(book: PriceBook, holdings: Sequence[Holding], *, day: date) -> Estimate | None:
    """Return what holdings would cost together by the prices of `day`; None when one has no price."""
    hours = [_cost(book, each, day, 3600) for each in holdings]
    wholes = [
        None if each.time_limit is None else _cost(book, each, day, int(each.time_limit.total_seconds()))
        for each in holdings
    ]
    if not holdings or any(hour is None for hour in hours):
        return None
    limited = [each for each in wholes if each is not None]
    return Estimate(
        per_hour=_sum(each for each in hours if each is not None),
        at_most=_sum(limited) if len(limited) == len(wholes) else None,
        currency=book.currency,
    )


def cost_of_run(book: PriceBook, holding: Holding, *, start: datetime, end: datetime) -> Cost | None:
    """Return what a run cost from its start up to `end`; None when a day of it has no price."""
    # Ledger seconds are whole ones.
    span = Period(_whole(start), max(_whole(start) + timedelta(seconds=1), _whole(end)), book.zone)
    total = NO_MONEY
    for bucket in buckets(span, "day") if end > start else []:
        usage = used(holding.rates, bucket.end_s - bucket.start_s)
        line = used_line(book, day=date.fromisoformat(bucket.label), payer=holding.payer, usage=usage)
        if not isinstance(line, Line):
            return None
        total += line.cost
    return Cost(total, book.currency)


def _cost(book: PriceBook, holding: Holding, day: date, seconds: int) -> Decimal | None:
    line = used_line(book, day=day, payer=holding.payer, usage=used(holding.rates, seconds * holding.tasks))
    return line.cost if isinstance(line, Line) else None


def _sum(amounts: Iterable[Decimal]) -> Decimal:
    return sum(amounts, NO_MONEY)


def _whole(moment: datetime) -> datetime:
    return moment.astimezone(UTC).replace(microsecond=0)
