"""One accounting row -> what it is charged, or nothing. Pure; the rules are in docs/reference/accounting.md.

Billed is AllocTRES (never ReqTRES) times End - Start (never Elapsed: it leaves out suspended time, in
which GPUs stay allocated). A row is one run: requeues, resizes, array tasks and het components are rows of
their own in slurmdbd, so nothing is counted twice and nothing is lost.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from bridge.job import AccountingRow, BaseState
from bridge.units import gpu_count, to_epoch
from bridge.wellknown import ADMIN_COMMENT_PREFIX
from gateway.ledger.amounts import Payer, Rates
from gateway.track.record import class_of

DOORS: Final = frozenset({"http", "pod", "facade"})
"""Doors that write themselves into admin_comment; whatever else came in by sbatch, srun or salloc."""

_DOOR: Final = re.compile(rf"^{ADMIN_COMMENT_PREFIX}([a-z]+):")
_TYPED: Final = "gres/gpu:"
_OVER: Final = frozenset({"REQUEUED", "RESIZING"})


@dataclass(frozen=True, slots=True)
class RunKey:
    """slurmdbd's own identity of a row; job numbers are recycled and SLUIDs are shared by resized rows."""

    cluster: str
    db_index: str


@dataclass(frozen=True, slots=True)
class Line:
    """The part of a run that one payer pays. A run with two kinds of GPU has two lines."""

    payer: Payer
    runs: int
    """1 on the run's main line, 0 on the others, so that a run is counted once."""
    rates: Rates


@dataclass(frozen=True, slots=True, kw_only=True)
class Charge:
    """The present truth about one run; `end_s` None while it has no end in accounting."""

    key: RunKey
    job_id: int
    name: str
    state: str
    start_s: int
    end_s: int | None
    suspended_s: int
    lines: tuple[Line, ...]


def charge_of(row: AccountingRow) -> Charge | None:
    """Return what a row is charged, None when it never held anything.

    None for: a row that has no start (pending, or cancelled before it started), a pending row that kept
    the TRES of the run before its requeue, a row without allocated TRES.
    """
    if row.started_at is None or not row.tres_allocated or _waits(row):
        return None
    start_s = _epoch(row.started_at)
    # A clock set back can put the end before the start: nothing was held for a negative time.
    end_s = None if row.ended_at is None else max(start_s, _epoch(row.ended_at))
    most = None if end_s is None else end_s - start_s
    return Charge(
        key=RunKey(row.cluster, row.db_index),
        job_id=row.job_id,
        name=row.name,
        state=row.state.base.value,
        start_s=start_s,
        end_s=end_s,
        suspended_s=max(0, row.suspended_s if most is None else min(row.suspended_s, most)),
        lines=_lines(row),
    )


def door_of(admin_comment: str) -> str:
    """Return the door that a job came in by; admin_comment can be written by administrators alone."""
    match = _DOOR.match(admin_comment)
    return match[1] if match and match[1] in DOORS else "sbatch"


def gpus_by_flavor(tres: Mapping[str, int], partition: str) -> dict[str, int]:
    """Return GPUs by kind, most first: the typed TRES, and the untyped rest under the partition's name.

    A partition is one flavor (design, section 4), so the rest of a site that doesn't list each type in
    AccountingStorageTRES still has a name.
    """
    counts = {name.removeprefix(_TYPED): n for name, n in tres.items() if name.startswith(_TYPED) and n > 0}
    untyped = gpu_count(tres) - sum(counts.values())
    if untyped > 0:
        counts[partition] = counts.get(partition, 0) + untyped
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))


def _waits(row: AccountingRow) -> bool:
    return row.ended_at is None and row.state.base is BaseState.PENDING and not row.state.flags & _OVER


def _lines(row: AccountingRow) -> tuple[Line, ...]:
    tres = row.tres_allocated
    gpus = gpus_by_flavor(tres, row.partition) or {"": 0}
    lines = []
    for number, (flavor, count) in enumerate(gpus.items()):
        rates = Rates(gpus=count)
        if number == 0:
            rates = Rates(
                gpus=count,
                cpus=tres.get("cpu", 0),
                memory_mib=tres.get("mem", 0),
                nodes=tres.get("node", 0),
                billing=tres.get("billing", 0),
            )
        lines.append(Line(_payer(row, flavor), runs=1 if number == 0 else 0, rates=rates))
    return tuple(lines)


def _payer(row: AccountingRow, flavor: str) -> Payer:
    return Payer(
        tenant=row.account,
        user=row.user,
        job_class=class_of(row.qos),
        flavor=flavor,
        door=door_of(row.admin_comment),
    )


def _epoch(moment: datetime) -> int:
    seconds = to_epoch(moment)
    assert seconds is not None  # noqa: S101 - to_epoch gives None for None alone
    return seconds
