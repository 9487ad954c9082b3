"""Job records straight from libslurm: what pyslurm doesn't give, or gives slowly.

Runs only in the native child (the binding `_sluice_libslurm` exists only in the agent's image, compiled
by `libslurm_build.py`). In: libslurm's records. Out: `JobStatus`. Slurm's numbers go out as `CallFailed`.
"""

from __future__ import annotations

import os
import pwd
import sys
from datetime import datetime
from functools import lru_cache
from typing import Any, Final

from bridge.job import UNLIMITED, BaseState, ExitStatus, JobState, JobStatus, Minutes
from bridge.slurm.port import Forecast
from bridge.slurm.states import from_number
from bridge.units import INFINITE, NO_VAL, from_epoch, tres_counts

# libslurm's plugins look for its symbols among the global ones.
sys.setdlopenflags(sys.getdlopenflags() | os.RTLD_GLOBAL)
from _sluice_libslurm import ffi, lib  # noqa: E402

_PATH_BYTES: Final = 4096
_PREEMPTED: Final = 1024
"""Preempted jobs that are read of a forecast, at most."""
_NO_CHANGE: Final = 1900
"""SLURM_NO_CHANGE_IN_DATA: nothing happened in slurmctld since the given moment."""


class CallFailed(Exception):
    """A call of libslurm ended with Slurm's number `errno`."""

    def __init__(self, errno: int) -> None:
        self.errno = errno
        self.words = ffi.string(lib.sluice_strerror(errno)).decode(errors="replace")
        super().__init__(self.words)


def init() -> None:
    """Read slurm.conf; libslurm calls exit() when it can't."""
    lib.slurm_init(ffi.NULL)


def ping() -> None:
    """Ask slurmctld for a sign of life; raises `CallFailed`."""
    _check(lib.sluice_ping())


def jobs(since: int) -> tuple[int, list[JobStatus] | None]:
    """Return slurmctld's time of the listing and all records; None when nothing changed after `since`."""
    answer = ffi.new("job_info_msg_t **")
    errno = lib.sluice_load_jobs(since, answer)
    if errno == _NO_CHANGE:
        return since, None
    _check(errno)
    return _read(answer[0])


def job(number: int) -> list[JobStatus]:
    """Return the records of one job, all tasks of an array; raises `CallFailed` 2017 for none."""
    answer = ffi.new("job_info_msg_t **")
    _check(lib.sluice_load_job(number, answer))
    return _read(answer[0])[1]


def would_run(**fields: str | bytes | int | None) -> Forecast:
    """Ask slurmctld to judge a job that is not made; raises `CallFailed` with its refusal.

    `fields` are slurm.h's names of job_desc_msg_t. What job_submit.lua says is written to stderr.
    """
    description = ffi.new("job_desc_msg_t *")
    lib.slurm_init_job_desc_msg(description)
    kept = []
    for name, value in fields.items():
        if isinstance(value, str | bytes):
            kept.append(ffi.new("char[]", value if isinstance(value, bytes) else value.encode()))
            setattr(description, name, kept[-1])
        elif value is not None:
            setattr(description, name, value)
    answer = ffi.new("will_run_response_msg_t **")
    _check(lib.sluice_would_run(description, answer))
    return _forecast(answer[0])


def _forecast(answer: Any) -> Forecast:  # noqa: ANN401 - a C structure
    if answer == ffi.NULL:
        return Forecast()
    try:
        jobs = ffi.new("uint32_t[]", _PREEMPTED)
        count = lib.sluice_preempted(answer, jobs, _PREEMPTED)
        return Forecast(
            start_at=from_epoch(answer.start_time),
            nodes=_text(answer.node_list),
            partition=_text(answer.part_name),
            cpus=answer.proc_cnt,
            preempts=tuple(jobs[at] for at in range(count)),
        )
    finally:
        lib.sluice_free_answer(answer)


def _check(errno: int) -> None:
    if errno:
        raise CallFailed(errno)


def _read(listing: Any) -> tuple[int, list[JobStatus]]:  # noqa: ANN401 - a C structure
    try:
        records = listing.job_array
        return listing.last_update, [_status(records + at) for at in range(listing.record_count)]
    finally:
        lib.slurm_free_job_info_msg(listing)


def _status(job: Any) -> JobStatus:  # noqa: ANN401 - a C structure
    state = from_number(job.job_state)
    nodes = _text(job.nodes)
    ended = state.base not in (BaseState.PENDING, BaseState.RUNNING, BaseState.SUSPENDED)
    out, err = _paths(job)
    return JobStatus(
        job_id=lib.sluice_job_number(job),
        array_job_id=job.array_job_id or None,
        array_task_id=None if job.array_task_id == NO_VAL else job.array_task_id,
        array_tasks=_text(job.array_task_str) or None,
        het_job_id=job.het_job_id or None,
        het_offset=job.het_job_offset if job.het_job_id else None,
        name=_text(job.name),
        user=_text(job.user_name) or _user(job.user_id),
        uid=job.user_id,
        account=_text(job.account),
        partition=_text(job.partition),
        qos=_text(job.qos),
        state=state,
        reason=_text(job.state_desc) or _text(lib.sluice_reason(job)),
        exit=ExitStatus(job.exit_code >> 8 & 0xFF, job.exit_code & 0x7F) if ended else None,
        submitted_at=_moment(job.submit_time),
        started_at=from_epoch(job.start_time) if nodes else None,
        ended_at=from_epoch(job.end_time) if ended else None,
        time_limit_min=_minutes(job.time_limit),
        restarts=job.restart_cnt,
        nodes=nodes,
        node_count=job.num_nodes,
        cpus=job.num_cpus,
        tres_requested=tres_counts(_text(job.tres_req_str)),
        tres_allocated=tres_counts(_text(job.tres_alloc_str)) if _allocated(state, nodes) else {},
        work_dir=_text(job.work_dir),
        stdout=out,
        stderr=err,
        admin_comment=_text(job.admin_comment),
        comment=_text(job.comment),
        dependency=_text(job.dependency),
        priority=None if job.priority == NO_VAL else job.priority,
    )


def _allocated(state: JobState, nodes: str) -> bool:
    # A record that is pending after a requeue can keep the TRES of its last run.
    return bool(nodes) and state.base is not BaseState.PENDING


def _paths(job: Any) -> tuple[str, str]:  # noqa: ANN401 - a C structure
    if not job.batch_flag:
        return "", ""
    out, err = ffi.new("char[]", _PATH_BYTES), ffi.new("char[]", _PATH_BYTES)
    lib.sluice_paths(job, out, err, _PATH_BYTES)
    return _text(out), _text(err) or _text(out)


def _minutes(value: int) -> Minutes | None:
    if value == NO_VAL:
        return None
    return UNLIMITED if value == INFINITE else value


def _moment(seconds: int) -> datetime:
    found = from_epoch(seconds)
    if found is None:
        raise ValueError("slurmctld gave a job without a submit time")
    return found


def _text(chars: Any) -> str:  # noqa: ANN401 - a C string
    return "" if chars == ffi.NULL else ffi.string(chars).decode(errors="replace")


@lru_cache(maxsize=65536)
def _user(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)
