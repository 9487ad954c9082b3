"""Accounting rows for the ledger's tests: only what a test says differs from a plain run."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from bridge.job import AccountingRow, BaseState, ExitStatus, JobState
from bridge.units import tres_counts

TRES = "cpu=8,mem=16384M,node=1,billing=208,gres/gpu=2,gres/gpu:h100=2"


def at(text: str) -> datetime:
    """``11-03 10:00`` of 2026 in UTC, seconds optional."""
    form = "%Y-%m-%d %H:%M:%S" if text.count(":") == 2 else "%Y-%m-%d %H:%M"
    return datetime.strptime(f"2026-{text}", form).replace(tzinfo=UTC)


def seconds(text: str) -> int:
    return int(at(text).timestamp())


def run(
    start: str | None = "11-03 10:00",
    end: str | None = "11-03 11:00",
    *,
    tres: str = TRES,
    state: BaseState = BaseState.COMPLETED,
    flags: tuple[str, ...] = (),
    index: int = 1,
    **fields: Any,
) -> AccountingRow:
    row = AccountingRow(
        cluster="sluice",
        db_index=str(index),
        job_id=100 + index,
        name="train",
        user="ada",
        uid=20000,
        account="astro",
        partition="h100",
        qos="training",
        state=JobState(state, frozenset(flags)),
        exit=ExitStatus(0),
        submitted_at=at("11-01 00:00"),
        eligible_at=at("11-01 00:00"),
        started_at=at(start) if start else None,
        ended_at=at(end) if end else None,
        tres_allocated=tres_counts(tres),
    )
    return replace(row, **fields)
