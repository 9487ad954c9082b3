"""Arrays: which tasks wait, and what an array's tasks add up to. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Final

from bridge.job import BaseState, ExitStatus, JobState
from bridge.units import gpu_count
from gateway.track.record import JobNumber, JobRecord, id_of
from gateway.track.transition import unless_equal

_SPAN: Final = re.compile(r"^(?P<first>\d+)(-(?P<last>\d+)(:(?P<step>\d+))?)?$")
_WORST_FIRST: Final = (
    BaseState.UNKNOWN,
    BaseState.NODE_FAIL,
    BaseState.BOOT_FAIL,
    BaseState.OUT_OF_MEMORY,
    BaseState.FAILED,
    BaseState.TIMEOUT,
    BaseState.DEADLINE,
    BaseState.PREEMPTED,
    BaseState.CANCELLED,
    BaseState.COMPLETED,
)
"""Of the states of an array's tasks, once none waits or runs, the one that the array shows."""


def waits(array_tasks: str, task: int) -> bool:
    """Say whether a task is among those that wait, as slurmctld writes them (``0-3,8,10-20:2%4``)."""
    for span in array_tasks.partition("%")[0].split(","):
        match = _SPAN.match(span)
        if match is None:
            return True  # slurmctld shortens long lists with "..."
        first, step = int(match["first"]), int(match["step"] or 1)
        last = int(match["last"] or first)
        if first <= task <= last and (task - first) % step == 0:
            return True
    return False


def task_count(array: str) -> int:
    """Return how many tasks ``--array`` asks for (``0-3,8,10-20:2%4`` has 11)."""
    tasks: set[int] = set()
    for span in array.partition("%")[0].split(","):
        if match := _SPAN.match(span):
            first, step = int(match["first"]), int(match["step"] or 1)
            tasks.update(range(first, int(match["last"] or first) + 1, max(1, step)))
    return len(tasks)


def waiting_task(array: JobRecord, task: int) -> JobRecord | None:
    """Return a task of an array that has no record of its own yet; None when the array has no such task.

    It gets the id that it will have.
    """
    if not array.is_array or array.array_tasks is None or not waits(array.array_tasks, task):
        return None
    number = JobNumber(array.slurm_number.number, task)
    return replace(
        array,
        id=id_of(array.cluster, number, array.submitted_at),
        array_task_id=task,
        array_tasks=None,
        state=JobState(BaseState.PENDING),
        started_at=None,
        exit=None,
        gpus=gpu_count(array.tres_requested) or array.gpus,  # the array's own are those of all that run
        stdout="",
        stderr="",
        messages=(),
    )


def sum_up(
    array: JobRecord, tasks: Sequence[JobRecord], *, remainder: JobState | None, now: datetime
) -> JobRecord:
    """Return an array's record with the state, times and exit that its tasks add up to.

    `tasks` are those that have records of their own; `remainder` is the state of slurmctld's record of the
    tasks that wait, None when there is none (any more).
    """
    if not tasks:
        return array
    waits = remainder is not None and not remainder.finished
    state = _array_state([*(task.state for task in tasks), *([remainder] if remainder else [])])
    over = state.finished
    record = replace(
        array,
        state=state,
        array_tasks=array.array_tasks if waits else None,
        reason=array.reason if state.base is BaseState.PENDING else "",
        exit=_worst_exit(task.exit for task in tasks) if over else None,
        started_at=min((task.started_at for task in tasks if task.started_at), default=None),
        ended_at=max((task.ended_at for task in tasks if task.ended_at), default=None) if over else None,
        gpus=sum(task.gpus for task in tasks if task.state.holds_resources) or array.gpus,
        changed_at=now,
    )
    return unless_equal(array, record)


def _array_state(states: Sequence[JobState]) -> JobState:
    if any(state.holds_resources for state in states):
        return JobState(BaseState.RUNNING)
    if any(not state.finished and state.base is not BaseState.UNKNOWN for state in states):
        return JobState(BaseState.PENDING)
    bases = {state.base for state in states}
    return JobState(next(base for base in _WORST_FIRST if base in bases))


def _worst_exit(exits: Iterable[ExitStatus | None]) -> ExitStatus | None:
    known = [status for status in exits if status is not None]
    return max(known, key=lambda status: (status.code, status.signal), default=None)
