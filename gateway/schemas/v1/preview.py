"""What a script asks (lint) and what would become of it (test), as version 1 of the API shows them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from bridge.job import Minutes
from bridge.sbatch import Hint, Origin, ParsedScript, SiteOption
from gateway.price.estimate import Estimate
from gateway.schemas.v1.price import Money
from gateway.submit.preview import Expected, Previewed


class Said(BaseModel):
    """One option, after precedence."""

    option: str = Field(description="The long name.")
    value: str | None = Field(description="As it was written; null for an option without a value.")
    source: Literal["script", "environment", "argument"]
    text: str = Field(description="The directive or argument as written, or the variable's name.")
    line: int | None
    column: int | None


class Remark(BaseModel):
    """Something that the user may have meant otherwise."""

    message: str
    line: int | None


class Lint(BaseModel):
    """What a script asks."""

    components: list[list[Said]] = Field(description="One list a component; most jobs have one.")
    warnings: list[str] = Field(description="What sbatch itself warns of.")
    hints: list[Remark]


class SitesOwn(BaseModel):
    """One option of a SPANK plugin."""

    plugin: str
    option: str = Field(description="The long name.")
    argument: Literal["none", "required", "optional"]
    about: str


class SiteOptions(BaseModel):
    """What the site adds to sbatch's options."""

    items: list[SitesOwn]


class ExpectedJob(BaseModel):
    """One job, or one component of a heterogeneous job, as it would be."""

    model_config = ConfigDict(populate_by_name=True)

    name: str
    tenant: str = Field(description="Empty when the tenants' rules aren't known now.")
    job_class: str = Field(alias="class")
    flavor: str
    partition: str
    qos: str
    time_limit_min: Minutes | None
    gpus: int
    cpus: int
    nodes: str = Field(description="Where it would start.")
    estimated_start: datetime | None
    reason: str = Field(description="Why it would wait, in Slurm's words; empty when it would start.")
    preempts: list[int] = Field(description="Numbers of the jobs that would make room.")


class CostEstimate(BaseModel):
    """What it would cost by the tenant's price book, before what a guarantee covers."""

    per_hour: Money = Field(description="While all tasks and components run.")
    at_most: Money | None = Field(description="Up to the time limits; null when one has none.")
    currency: str


class JobTest(BaseModel):
    """The verdict on a submission that is not made."""

    verdict: Literal["would-start", "would-wait"]
    estimated_start: datetime | None = Field(description="Of the last component that would start.")
    reason: str
    components: list[ExpectedJob]
    cost: CostEstimate | None = Field(
        description="Null without a price. Memory counts when the script names it."
    )
    warnings: list[str]


def lint_of(parsed: ParsedScript, found: tuple[Hint, ...]) -> Lint:
    """Show what a script asks."""
    return Lint(
        components=[
            [_said(option, origin) for option, origin in sorted(origins.items())]
            for origins in parsed.origins_of
        ],
        warnings=list(parsed.warnings),
        hints=[Remark(message=hint.message, line=hint.line) for hint in found],
    )


def test_of(previewed: Previewed, cost: Estimate | None) -> JobTest:
    """Show the verdict, and what the job would cost."""
    jobs = [_job(expected) for expected in previewed.expected]
    starts = [job.estimated_start for job in jobs]
    reasons = [job.reason for job in jobs if job.reason]
    certain = [start for start in starts if start is not None] if None not in starts else []
    return JobTest(
        verdict="would-wait" if reasons or not certain else "would-start",
        estimated_start=max(certain, default=None),
        reason="; ".join(dict.fromkeys(reasons)),
        components=jobs,
        cost=None
        if cost is None
        else CostEstimate(per_hour=cost.per_hour, at_most=cost.at_most, currency=cost.currency),
        warnings=list(previewed.parsed.warnings),
    )


def _said(option: str, origin: Origin) -> Said:
    return Said(
        option=option,
        value=origin.value,
        source=origin.source,
        text=origin.text,
        line=origin.line,
        column=origin.column,
    )


def _job(expected: Expected) -> ExpectedJob:
    spec, decision, forecast = expected.spec, expected.decision, expected.forecast
    return ExpectedJob(
        name=spec.name,
        tenant=(decision.account if decision else spec.account) or "",
        job_class=decision.job_class if decision else "",
        flavor=decision.flavor if decision and decision.gpus else "",
        partition=forecast.partition or (decision.partition if decision else spec.partition) or "",
        qos=(decision.qos if decision else spec.qos) or "",
        time_limit_min=decision.time_limit_min if decision else spec.time_limit_min,
        gpus=decision.gpus if decision else 0,
        cpus=forecast.cpus,
        nodes=forecast.nodes,
        estimated_start=forecast.start_at,
        reason=forecast.waits,
        preempts=list(forecast.preempts),
    )


def site_options_of(options: Sequence[SiteOption]) -> SiteOptions:
    """Show the options that a site declared."""
    items = [
        SitesOwn(plugin=each.plugin, option=each.name, argument=each.argument.value, about=each.about)
        for each in options
    ]
    return SiteOptions(items=items)
