"""What a user is told of a job that is taken: a used-up budget that warns, a maintenance that it runs into.

Pure; budgets that block refuse here. The second copy of these rules is in ``slurm-conf/job_submit``.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from bridge.job import UNLIMITED, Minutes
from bridge.policy.refused import Refused
from bridge.policy.request import Request
from bridge.policy.shape import least_nodes
from bridge.policy.table import PolicyTable, TenantRules, UsedUp, Window


def budget_notes(table: PolicyTable, tenant: TenantRules, now: datetime) -> Iterator[str]:
    """Yield what is told of used-up budgets, the tenant's and those above it; one that blocks refuses."""
    for name in (tenant.name, *tenant.ancestors):
        used_up = table.tenants[name].used_up
        if used_up is None or now >= used_up.until:
            continue
        words = _budget(name, used_up)
        if used_up.blocks:
            raise Refused("budget.exhausted", f"{words}; wait until then, or have it raised")
        yield f"{words}; it only warns, the job is taken"


def _budget(name: str, used_up: UsedUp) -> str:
    return (
        f"tenant {name} has used up its budget of {used_up.budget}, which is renewed on"
        f" {used_up.until:%Y-%m-%d}"
    )


def maintenance_note(
    table: PolicyTable, request: Request, *, partition: str, limit: Minutes, now: datetime
) -> str | None:
    """Say which maintenance a job waits for, when it does in each of its partitions."""
    told = None
    for name in filter(None, partition.split(",")):
        window = _in_the_way(table.maintenance.get(name, ()), least_nodes(request), limit, now)
        if window is None:
            return None
        told = told or _maintenance(name, window, limit, now)
    return told


def _in_the_way(windows: tuple[Window, ...], nodes: int, limit: Minutes, now: datetime) -> Window | None:
    for window in windows:
        ahead_s = (window.starts_at - now).total_seconds()
        reaches = limit == UNLIMITED or ahead_s < int(limit) * 60
        if reaches and now < window.ends_at and nodes > window.nodes_left:
            return window
    return None


def _maintenance(partition: str, window: Window, limit: Minutes, now: datetime) -> str:
    words = (
        f"partition {partition} is in maintenance from {window.starts_at:%Y-%m-%dT%H:%MZ} to"
        f" {window.ends_at:%Y-%m-%dT%H:%MZ} (reservation {window.name})"
    )
    minutes = int((window.starts_at - now).total_seconds()) // 60
    if minutes < 1:
        return f"{words}; the job waits until it is over"
    asked = "a job without a time limit" if limit == UNLIMITED else f"a time limit of {limit} minutes"
    return (
        f"{words}, and {asked} reaches into it: the job waits until it is over; with --time={minutes} or less"
        " it can run before"
    )
