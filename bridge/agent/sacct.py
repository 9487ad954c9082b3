"""What ``sacct -X -D -p`` prints -> `AccountingRow`.

Pure. In: pieces of sacct's output, whatever they are cut at. Out: rows, in sacct's order. The delimiter
is made for each call and unguessable, so that nothing that a user writes into a job (names, comments and
paths may hold any character, line ends too) can be taken for a border.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from typing import Final

from bridge.job import UNLIMITED, AccountingRow, ExitStatus, Minutes
from bridge.slurm.states import from_accounting
from bridge.units import from_epoch, tres_counts

FIELDS: Final = (
    "Cluster",
    "DBIndex",
    "JobIDRaw",
    "JobID",
    "JobName",
    "User",
    "UID",
    "Account",
    "Partition",
    "QOS",
    "State",
    "ExitCode",
    "Submit",
    "Eligible",
    "Start",
    "End",
    "Suspended",
    "TimelimitRaw",
    "NodeList",
    "ReqTRES",
    "AllocTRES",
    "WorkDir",
    "StdOut",
    "StdErr",
    "AdminComment",
    "Comment",
)
_JOB_ID: Final = re.compile(r"(\d+)(?:_(?:(\d+)|\[(.*)\])|\+(\d+))?$")
_DURATION: Final = re.compile(r"(?:(\d+)-)?(?:(\d+):)?(\d+):(\d+)(?:\.\d+)?$")
_NO_NODES: Final = "None assigned"


def arguments(delimiter: str) -> list[str]:
    """Return sacct's arguments that this module's reading relies on."""
    return [
        *("--allusers", "--allocations", "--duplicates", "--parsable", "--noconvert", "--expand-patterns"),
        f"--delimiter={delimiter}",
        "--noheader",
        f"--format={','.join(FIELDS)}",
    ]


def moment(at: datetime) -> str:
    """Write a moment as sacct reads it with TZ=UTC (whole seconds)."""
    return at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S")


def rows(pieces: Iterable[str], delimiter: str) -> Iterator[AccountingRow]:
    """Yield rows from the pieces of sacct's output.

    Raises
    ------
    ValueError
        The output ends within a row, or a field isn't what sacct writes.
    """
    held = ""
    cells: list[str] = []
    for piece in pieces:
        *whole, held = (held + piece).split(delimiter)
        for cell in whole:
            # --parsable ends each row with a delimiter: a row's first cell begins after its line end.
            cells.append(cell if cells else cell.removeprefix("\n"))
            if len(cells) == len(FIELDS):
                yield _row(dict(zip(FIELDS, cells, strict=True)))
                cells = []
    if cells or held.strip("\n"):
        raise ValueError("sacct's output ends within a row")


def _row(cell: dict[str, str]) -> AccountingRow:
    job_id, array_job_id, task, tasks, het_job_id, het_offset = _numbers(cell["JobID"], cell["JobIDRaw"])
    nodes = cell["NodeList"]
    return AccountingRow(
        cluster=cell["Cluster"],
        db_index=cell["DBIndex"],
        job_id=job_id,
        array_job_id=array_job_id,
        array_task_id=task,
        array_tasks=tasks,
        het_job_id=het_job_id,
        het_offset=het_offset,
        name=cell["JobName"],
        user=cell["User"],
        uid=int(cell["UID"] or -1),
        account=cell["Account"],
        partition=cell["Partition"],
        qos=cell["QOS"],
        state=from_accounting(cell["State"]),
        exit=_exit(cell["ExitCode"]),
        submitted_at=_time(cell["Submit"]),
        eligible_at=_time(cell["Eligible"]),
        started_at=_time(cell["Start"]) if nodes and nodes != _NO_NODES else None,
        ended_at=_time(cell["End"]),
        suspended_s=_seconds(cell["Suspended"]),
        time_limit_min=_minutes(cell["TimelimitRaw"]),
        nodes="" if nodes == _NO_NODES else nodes,
        tres_requested=tres_counts(cell["ReqTRES"]),
        tres_allocated=tres_counts(cell["AllocTRES"]),
        work_dir=cell["WorkDir"],
        stdout=cell["StdOut"],
        stderr=cell["StdErr"] or cell["StdOut"],
        admin_comment=cell["AdminComment"],
        comment=cell["Comment"],
    )


def _numbers(shown: str, raw: str) -> tuple[int, int | None, int | None, str | None, int | None, int | None]:
    """Read JobID and JobIDRaw: number, array, task, waiting tasks, het job, het offset."""
    match = _JOB_ID.match(shown)
    if match is None:
        raise ValueError(f"sacct gave the job id {shown!r}")
    first, task, tasks, offset = match.groups()
    number = int(raw.partition("_")[0].partition("+")[0])
    if offset is not None:
        return number, None, None, None, int(first), int(offset)
    if task is not None:
        return number, int(first), int(task), None, None, None
    if tasks is not None:
        return number, int(first), None, tasks, None, None
    return number, None, None, None, None, None


def _time(text: str) -> datetime | None:
    """Read an epoch (SLURM_TIME_FORMAT=%s); Slurm's ``Unknown`` and ``None`` are None."""
    return from_epoch(int(text)) if text.isdigit() else None


def _exit(text: str) -> ExitStatus:
    code, _, signal = text.partition(":")
    return ExitStatus(int(code), int(signal or 0))


def _seconds(text: str) -> int:
    match = _DURATION.match(text)
    if match is None:
        return 0
    days, hours, minutes, seconds = (int(part or 0) for part in match.groups())
    return ((days * 24 + hours) * 60 + minutes) * 60 + seconds


def _minutes(text: str) -> Minutes | None:
    if text == UNLIMITED:
        return UNLIMITED
    return int(text) if text.isdigit() else None
