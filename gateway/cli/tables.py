"""How jobs and tenants look in a terminal: tables that fit 80 columns and use 120.

Pure: values in, rich renderables out; `now` and the width are arguments.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, time
from typing import Any, Final, Literal
from zoneinfo import ZoneInfo

from rich import box
from rich.table import Table
from rich.text import Text

from gateway.cli.answers import Job

WIDE: Final = 110
"""Columns from which the second rank of facts is shown too."""

STATE_STYLES: Final = {
    "COMPLETED": "green",
    "RUNNING": "bold cyan",
    "PENDING": "yellow",
    "SUSPENDED": "yellow",
    "CANCELLED": "magenta",
    "REFUSED": "magenta",
}
"""Any other state is an end that nobody wished for: red."""

SHRINKING: Final = ("Name", "Tenant", "User", "Nodes or reason")
"""Columns of the jobs' table whose text is cut, down to `SHORTEST`, when the terminal is narrow."""

SHORTEST: Final = 4
GAP: Final = 2
JUSTIFY: Final[Mapping[str, Literal["right"]]] = {"Exit": "right", "GPUs": "right", "Time": "right"}


def plain_table(title: str = "") -> Table:
    """Return a table in the one style of the CLI."""
    return Table(
        title=title or None,
        title_justify="left",
        title_style="bold",
        box=box.SIMPLE_HEAD,
        pad_edge=False,
        padding=(0, GAP - 1, 0, 0),  # the box adds one column itself
        show_edge=False,
        header_style="bold",
    )


def jobs_table(jobs: Sequence[Job], *, now: datetime, width: int) -> Table:
    """Return the table of ``sluice jobs``: one line a job, at most `width` columns."""
    titles = ["Job", "Name", "Tenant", "User", "State", "Exit", "GPUs", "Time", "Door"]
    rows = [_job_cells(job, now) for job in jobs]
    if width >= WIDE:
        titles += ["Class", "Nodes or reason"]
        rows = [[*row, job.job_class, job.nodes or reason(job)] for row, job in zip(rows, jobs, strict=True)]
    return fitted_table(titles, rows, width=width)


def fitted_table(titles: Sequence[str], rows: Sequence[Sequence[str | Text]], *, width: int) -> Table:
    """Return a table of jobs that is at most `width` columns wide, one line a row."""
    table = plain_table()
    gap = GAP
    if sum(_widths(titles, rows)) + GAP * (len(titles) - 1) > width:  # closer, before any name is cut
        gap = GAP - 1
        table.padding = (0, 0, 0, 0)
    for title, limit in zip(titles, _fit(titles, rows, width=width, gap=gap), strict=True):
        table.add_column(title, justify=JUSTIFY.get(title, "left"), no_wrap=True, max_width=limit)
    for row in rows:
        table.add_row(*row)
    return table


def _widths(titles: Sequence[str], rows: Sequence[Sequence[str | Text]]) -> list[int]:
    return [max(len(title), *(len(str(row[at])) for row in rows), 0) for at, title in enumerate(titles)]


def _job_cells(job: Job, now: datetime) -> list[str | Text]:
    who = [job.number, job.name, job.tenant, job.user]
    return [*who, state_text(job), job.exit, str(job.gpus or "-"), run_time(job, now=now), job.door]


def _fit(titles: Sequence[str], rows: Sequence[Sequence[str | Text]], *, width: int, gap: int) -> list[int]:
    """Return each column's width: whole where possible, the names of `SHRINKING` cut where not."""
    widths = _widths(titles, rows)
    names = [at for at, title in enumerate(titles) if title in SHRINKING]
    while sum(widths) + gap * (len(widths) - 1) > width:
        longest = max(names, key=lambda at: widths[at])
        if widths[longest] <= SHORTEST:
            break
        widths[longest] -= 1
    return widths


def job_facts(job: Job, *, now: datetime) -> Table:
    """Return all that is worth reading about one job, a fact a line."""
    raw = job.raw
    facts: dict[str, str | Text] = {
        "Job": f"{job.number}  ({job.id})",
        "Array": _array(job),
        "Name": job.name,
        "Tenant": f"{job.tenant}, user {job.user}, class {job.job_class or '-'}, by {job.door or '-'}",
        "State": state_text(job),
        "Reason": reason(job),
        "Exit": job.exit,
        "GPUs": f"{job.gpus} {raw.get('flavor') or ''}".strip() if job.gpus else "",
        "Nodes": job.nodes,
        "Submitted": moment(job.submitted_at),
        "Started": moment(job.started_at),
        "Ended": moment(job.ended_at),
        "Time": run_time(job, now=now),
        "Folder": str(raw.get("work_dir") or ""),
        "Output": str(raw.get("stdout") or ""),
        "Errors": str(raw.get("stderr") or "") if raw.get("stderr") != raw.get("stdout") else "",
        "Cost": f"{raw['cost']['amount']} {raw['cost']['currency']}" if raw.get("cost") else "",
        "Messages": "\n".join(job.messages),
    }
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    for name, fact in facts.items():
        if fact:
            table.add_row(name, fact)
    return table


def _array(job: Job) -> str:
    """Say whether it is an array or a task of one."""
    array, task, waiting = (job.raw.get(key) for key in ("array_job_id", "array_task_id", "array_tasks"))
    if array is None:
        return ""
    if task is not None:
        return f"task {task} of {array}"
    tasks = f"tasks {waiting} wait; " if waiting else ""
    return f"a whole array: {tasks}./sluice job {array}_TASK shows one task"


def together(jobs: Sequence[Job]) -> list[Job]:
    """Put the tasks of an array, and the components of a job, in their order where the first of them is."""
    groups: dict[object, list[Job]] = {}
    for job in jobs:
        whole = job.raw.get("array_job_id") or job.raw.get("het_job_id") or job.id
        groups.setdefault(whole, []).append(job)
    return [job for group in groups.values() for job in sorted(group, key=_place)]


def _place(job: Job) -> tuple[int, int]:
    task, component = job.raw.get("array_task_id"), job.raw.get("het_offset")
    return (-1 if task is None else int(task), int(component or 0))


def tenants_table(tenants: Sequence[Mapping[str, Any]], *, width: int) -> Table:
    """Return the table of ``sluice tenants``."""
    table = plain_table()
    for title in ("Tenant", "Weight", "Members", "GPUs (guaranteed/limit)", "Classes", "State"):
        table.add_column(title, overflow="fold", justify="right" if title == "Weight" else "left")
    if width < WIDE:  # the classes are what a reader misses least
        table.columns.pop(4)
    for tenant in tenants:
        cells = [
            str(tenant["name"]),
            str(tenant.get("weight", "")),
            " ".join(_member(member) for member in tenant.get("members") or ()),
            ", ".join(_grant(flavor, grant) for flavor, grant in (tenant.get("flavors") or {}).items()),
            " ".join((tenant.get("classes") or {}).get("allowed") or ()),
            _applied(tenant.get("state")),
        ]
        table.add_row(*(cells if width >= WIDE else cells[:4] + cells[5:]))
    return table


def _member(member: object) -> str:
    return str(member.get("user", "")) if isinstance(member, Mapping) else str(member)


def _grant(flavor: str, grant: object) -> str:
    if not isinstance(grant, Mapping):
        return f"{flavor} {grant}"
    return f"{flavor} {grant.get('guarantee', 0)}/{grant.get('limit', '-')}"


def _applied(state: object) -> str:
    if not isinstance(state, Mapping):
        return str(state or "")
    return "in force" if state.get("applied") else str(state.get("message") or "not in force")


def state_text(job: Job) -> Text:
    """Return the state in its colour; COMPLETING, as squeue says it, while the epilog runs."""
    flags = job.raw.get("flags") or ()
    return Text(
        "COMPLETING" if "COMPLETING" in flags else job.state, style=STATE_STYLES.get(job.state, "red")
    )


def reason(job: Job) -> str:
    """Return why a job waits or ended so; empty when Slurm gives none."""
    return "" if job.reason in ("", "None") else job.reason


def run_time(job: Job, *, now: datetime) -> str:
    """Return how long the job ran, or runs since: ``12s``, ``3m05s``, ``2h03m``, ``4d02h``."""
    if not job.started_at:
        return "-"
    begun = datetime.fromisoformat(job.started_at)
    end = datetime.fromisoformat(job.ended_at) if job.ended_at else now
    return duration(max(0, int((end - begun).total_seconds())))


def duration(seconds: int) -> str:
    """Return whole seconds in the two largest units."""
    minutes, hours, days = seconds // 60, seconds // 3600, seconds // 86400
    if days:
        return f"{days}d{hours % 24:02}h"
    if hours:
        return f"{hours}h{minutes % 60:02}m"
    return f"{minutes}m{seconds % 60:02}s" if minutes else f"{seconds}s"


def moment(text: str, zone: str = "UTC") -> str:
    """Return a time of the API as ``2026-11-30 12:00:05 UTC``, midnight in the zone as the day alone."""
    if not text:
        return ""
    when = datetime.fromisoformat(text).astimezone(ZoneInfo(zone))
    return when.strftime("%Y-%m-%d" if when.time() == time() else "%Y-%m-%d %H:%M:%S %Z")
