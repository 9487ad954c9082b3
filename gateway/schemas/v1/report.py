"""Usage reports as version 1 of the API shows them, as JSON and as CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Final, Literal

from pydantic import BaseModel, ConfigDict, Field

from gateway.ledger.amounts import Usage
from gateway.ledger.report import Dimension, Report
from gateway.ledger.running import Running

_FORMULA: Final = ("=", "+", "-", "@", "\t", "\r")
"""What a spreadsheet takes for the begin of a formula (OWASP, CSV injection)."""


class PeriodView(BaseModel):
    """Half-open: `from` is in it, `to` is not."""

    model_config = ConfigDict(populate_by_name=True)

    start: datetime = Field(alias="from")
    end: datetime = Field(alias="to")
    timezone: str


class UsageView(BaseModel):
    """AllocTRES times seconds; whole numbers."""

    jobs: int = Field(
        description="Runs that held resources in the period; a requeued or resized job has one for each run."
    )
    gpu_seconds: int
    cpu_seconds: int = Field(description="Without the seconds in which a run was suspended.")
    memory_mib_seconds: int
    node_seconds: int
    billing_seconds: int = Field(description="Slurm's billing TRES, as it was fixed when the run began.")


class UsageColumns(BaseModel):
    """What a report can be grouped by; only the columns asked for are there."""

    model_config = ConfigDict(populate_by_name=True)

    tenant: str | None = None
    user: str | None = None
    job_class: str | None = Field(
        default=None, alias="class", description="Empty for a QOS of the site's own."
    )
    flavor: str | None = Field(default=None, description="Kind of GPU; empty for runs without GPUs.")
    door: str | None = None
    day: str | None = Field(default=None, description="YYYY-MM-DD in the report's timezone.")
    month: str | None = Field(default=None, description="YYYY-MM in the report's timezone.")


class UsageRow(UsageView, UsageColumns):
    """One line: its columns, then the figures."""


class RunawayView(BaseModel):
    """A run that has no end in slurmdbd and that slurmctld doesn't know."""

    cluster: str
    job_id: int
    tenant: str
    user: str
    name: str
    gpus: int
    started_at: datetime
    charged_until: datetime = Field(description="When slurmctld last had it; not charged beyond.")


class ProvisionalView(BaseModel):
    """The part of the total that belongs to runs without end and will still change."""

    jobs: int
    gpu_seconds: int


class UsageReport(BaseModel):
    """Billed usage of a period."""

    period: PeriodView
    view: Literal["billed"] = Field(
        description="The ledger's, from accounting; what slurmctld enforces is decayed and differs."
    )
    by: list[Dimension]
    rows: list[UsageRow]
    total: UsageView = Field(description="Each run once, also where several rows show it.")
    as_of: datetime | None = Field(
        description="Accounting has been read whole up to then; null before the first time."
    )
    provisional: ProvisionalView
    runaways: list[RunawayView]


def report_view(report: Report) -> UsageReport:
    """Show a report."""
    period = report.query.period
    return UsageReport(
        period=PeriodView(start=period.start, end=period.end, timezone=str(period.zone)),
        view="billed",
        by=list(report.query.by),
        rows=[
            UsageRow(**dict(zip(report.query.by, row.keys, strict=True)), **_figures(row.usage))
            for row in report.rows
        ],
        total=UsageView(**_figures(report.total)),
        as_of=report.as_of,
        provisional=ProvisionalView(jobs=report.provisional.runs, gpu_seconds=report.provisional.gpu_s),
        runaways=[_runaway(run) for run in report.runaways],
    )


def report_csv(report: Report) -> str:
    """Write the rows as CSV, grouping columns first."""
    header = (*report.query.by, *UsageView.model_fields)
    return csv_text(header, ((row.keys, _figures(row.usage).values()) for row in report.rows))


def csv_text(header: Iterable[str], rows: Iterable[tuple[Iterable[str], Iterable[object]]]) -> str:
    """Write a table as CSV (RFC 4180); keys that look like formulas are quoted, figures are ours."""
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\r\n")
    writer.writerow(header)
    for keys, figures in rows:
        writer.writerow([*(_harmless(key) for key in keys), *figures])
    return text.getvalue()


def _figures(usage: Usage) -> dict[str, int]:
    return {
        "jobs": usage.runs,
        "gpu_seconds": usage.gpu_s,
        "cpu_seconds": usage.cpu_s,
        "memory_mib_seconds": usage.memory_mib_s,
        "node_seconds": usage.node_s,
        "billing_seconds": usage.billing_s,
    }


def _harmless(text: str) -> str:
    """Keep a spreadsheet from taking a text for a formula."""
    return f"'{text}" if text.startswith(_FORMULA) else text


def _runaway(run: Running) -> RunawayView:
    charge = run.charge
    return RunawayView(
        cluster=charge.key.cluster,
        job_id=charge.job_id,
        tenant=charge.lines[0].payer.tenant,
        user=charge.lines[0].payer.user,
        name=charge.name,
        gpus=sum(line.rates.gpus for line in charge.lines),
        started_at=datetime.fromtimestamp(charge.start_s, UTC),
        charged_until=datetime.fromtimestamp(run.until_s, UTC),
    )
