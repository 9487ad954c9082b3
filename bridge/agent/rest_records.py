"""slurmrestd's records of jobs, nodes and partitions -> the port's dataclasses.

Pure. For an agent without libslurm (Slurm older than 25.11), and for what it doesn't hold. Read with
care: numbers are ``{"set", "infinite", "number"}`` or plain by version, an absent field is "not known".
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from bridge.job import UNLIMITED, BaseState, ExitStatus, JobStatus, Minutes
from bridge.slurm.port import NodeStatus, PartitionStatus
from bridge.slurm.states import from_words
from bridge.units import INFINITE, NO_VAL, from_epoch, tres_counts

Body = Mapping[str, Any]
_GRES: Final = re.compile(r"gpu:([^:(),]+):(\d+)")


def job_status(body: Body) -> JobStatus:
    """Read one job record."""
    state = from_words(_words(body["job_state"]))
    ended = state.base not in (BaseState.PENDING, BaseState.RUNNING, BaseState.SUSPENDED)
    nodes = str(body.get("nodes") or "")
    array_job_id = _number(body.get("array_job_id")) or None
    het_job_id = _number(body.get("het_job_id")) or None
    stdout = str(body.get("stdout_expanded") or body.get("standard_output") or "")
    return JobStatus(
        job_id=int(body["job_id"]),
        array_job_id=array_job_id,
        array_task_id=_number(body.get("array_task_id")) if array_job_id else None,
        array_tasks=str(body.get("array_task_string") or "") or None,
        het_job_id=het_job_id,
        het_offset=_number(body.get("het_job_offset")) if het_job_id else None,
        name=str(body.get("name") or ""),
        user=str(body.get("user_name") or body["user_id"]),
        uid=int(body["user_id"]),
        account=str(body.get("account") or ""),
        partition=str(body.get("partition") or ""),
        qos=str(body.get("qos") or ""),
        state=state,
        reason=str(body.get("state_description") or body.get("state_reason") or ""),
        exit=_exit(body.get("exit_code") or {}) if ended else None,
        submitted_at=_submitted(body),
        started_at=_time(body.get("start_time")) if nodes else None,
        ended_at=_time(body.get("end_time")) if ended else None,
        time_limit_min=_minutes(body.get("time_limit")),
        restarts=_number(body.get("restart_cnt")) or 0,
        nodes=nodes,
        node_count=_number(body.get("node_count")) or 0,
        cpus=_number(body.get("cpus")) or 0,
        tres_requested=tres_counts(str(body.get("tres_req_str") or "")),
        tres_allocated=tres_counts(str(body.get("tres_alloc_str") or ""))
        if nodes and state.base is not BaseState.PENDING
        else {},
        work_dir=str(body.get("current_working_directory") or ""),
        stdout=stdout,
        stderr=str(body.get("stderr_expanded") or body.get("standard_error") or stdout),
        admin_comment=str(body.get("admin_comment") or ""),
        comment=str(body.get("comment") or ""),
        dependency=str(body.get("dependency") or ""),
        priority=_number(body.get("priority")),
    )


def node_status(body: Body) -> NodeStatus:
    """Read one node."""
    return NodeStatus(
        name=str(body["name"]),
        state=frozenset(_words(body["state"])),
        reason=str(body.get("reason") or ""),
        cpus=int(body.get("cpus") or 0),
        memory_mib=int(body.get("real_memory") or 0),
        gpus=_gpus(str(body.get("gres") or "")),
        gpus_used=_gpus(str(body.get("gres_used") or "")),
        partitions=tuple(body.get("partitions") or ()),
    )


def partition_status(body: Body) -> PartitionStatus:
    """Read one partition."""
    accounts = str((body.get("accounts") or {}).get("allowed") or "")
    state = (body.get("partition") or {}).get("state") or []
    return PartitionStatus(
        name=str(body["name"]),
        up="UP" in _words(state),
        nodes=str((body.get("nodes") or {}).get("configured") or ""),
        allow_accounts=frozenset(filter(None, accounts.split(","))) - {"ALL"},
    )


def _words(value: str | Sequence[str]) -> list[str]:
    return [value] if isinstance(value, str) else list(value)


def _number(value: object) -> int | None:
    if isinstance(value, Mapping):
        return int(value["number"]) if value.get("set") and not value.get("infinite") else None
    if isinstance(value, int) and value not in (NO_VAL, INFINITE):
        return value
    return None


def _time(value: object) -> datetime | None:
    return from_epoch(_number(value))


def _submitted(body: Body) -> datetime:
    found = _time(body["submit_time"])
    if found is None:
        raise ValueError("slurmrestd gave a job without a submit time")
    return found


def _minutes(value: object) -> Minutes | None:
    if isinstance(value, Mapping) and value.get("infinite"):
        return UNLIMITED
    return _number(value)


def _exit(value: Mapping[str, Any]) -> ExitStatus:
    signal = value.get("signal") or {}
    return ExitStatus(_number(value.get("return_code")) or 0, _number(signal.get("id")) or 0)


def _gpus(text: str) -> dict[str, int]:
    counts: dict[str, int] = {}
    for kind, count in _GRES.findall(text):
        counts[kind] = counts.get(kind, 0) + int(count)
    return counts
