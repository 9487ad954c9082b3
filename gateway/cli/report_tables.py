"""How reports of usage and cost look in a terminal: tables that fit 80 columns and use 120. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Any, Final

from rich.table import Table

from gateway.cli.tables import GAP, WIDE, plain_table

NARROW_USAGE: Final = ("jobs", "gpu_seconds", "cpu_seconds", "node_seconds")
"""Numbers that a report shows on a terminal below `WIDE`; ``--json`` and ``--csv`` have all."""

USAGE_COLUMNS: Final = {
    "jobs": ("Jobs", 1),
    "gpu_seconds": ("GPU-seconds", 1),
    "cpu_seconds": ("CPU-seconds", 1),
    "node_seconds": ("Node-seconds", 1),
    "memory_mib_seconds": ("Memory GiB-s", 1024),
    "billing_seconds": ("Billing-s", 1),
}
"""Columns of numbers: JSON key -> title, and what the number is divided by."""


def usage_table(report: Mapping[str, Any], *, width: int, title: str = "") -> Table:
    """Return a usage report: the columns that it is grouped by, its numbers, and the total."""
    rows: list[Mapping[str, Any]] = list(report["rows"])
    groups = [key for key in (rows[0] if rows else {"tenant": ""}) if key not in USAGE_COLUMNS]
    shown = USAGE_COLUMNS if width >= WIDE else NARROW_USAGE
    numbers = [key for key in shown if not rows or key in rows[0]]
    numbers = _that_fit(groups, numbers, rows, width=width)
    table = plain_table(title)
    for key in groups:
        table.add_column(key.replace("_", " ").capitalize(), overflow="fold")
    for key in numbers:
        table.add_column(USAGE_COLUMNS[key][0], justify="right", no_wrap=True)
    for row in rows:
        table.add_row(*(str(row[key] or "-") for key in groups), *_numbers(row, numbers))
    total = report.get("total") or {}
    if rows and total:
        table.add_section()
        table.add_row("total", *[""] * (len(groups) - 1), *_numbers(total, numbers), style="bold")
    return table


def _that_fit(
    groups: Sequence[str], numbers: Sequence[str], rows: Sequence[Mapping[str, Any]], *, width: int
) -> list[str]:
    """Leave out the last columns of numbers, but never the first two, rather than fold names."""
    kept = list(numbers)
    for_names = (
        sum(max(len(key), *(len(str(row[key])) for row in rows)) + GAP for key in groups) if rows else 0
    )
    while len(kept) > 2 and for_names + sum(len(USAGE_COLUMNS[key][0]) + GAP for key in kept) - GAP > width:
        kept.pop()
    return kept


def _numbers(row: Mapping[str, Any], keys: Iterable[str]) -> list[str]:
    return [f"{int(row.get(key) or 0) // USAGE_COLUMNS[key][1]:,}" for key in keys]


def cost_table(bill: Mapping[str, Any], *, title: str = "") -> Table:
    """Return a bill: the columns that it is grouped by, GPU-hours, cost by the list and as billed."""
    groups: list[str] = list(bill["by"])
    table = plain_table(title)
    for key in groups:
        table.add_column(key.capitalize(), overflow="fold")
    for heading in ("GPU-hours", "Covered", "Reserved", "List", "Cost"):
        table.add_column(heading, justify="right", no_wrap=True)
    for row in bill["rows"]:
        table.add_row(*(str(row[key] or "-") for key in groups), *_cost(row))
    if groups:
        table.add_section()
        for total in bill["totals"]:
            table.add_row("total", *[""] * (len(groups) - 1), *_cost(total), style="bold")
    return table


def _cost(figures: Mapping[str, Any]) -> list[str]:
    seconds = ("gpu_seconds", "covered_gpu_seconds", "reserved_gpu_seconds")
    hours = [f"{figures[key] / 3600:,.2f}" if figures[key] else "-" for key in seconds]
    amounts = [f"{Decimal(figures[key]):,} {figures['currency']}" for key in ("list_cost", "cost")]
    return [*hours, *amounts]
