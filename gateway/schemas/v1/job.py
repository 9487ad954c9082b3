"""A job as version 1 of the API shows it, and a page of jobs."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field

from bridge.job import BaseState, Minutes
from gateway.price.estimate import Cost
from gateway.schemas.v1.price import Money
from gateway.track.record import JobRecord

_EXAMPLE: Final[dict[str, Any]] = {
    "id": "job_01JDZ6T4N8Q5W3R2X1Y0ZKABCD",
    "cluster": "sluice",
    "job_id": 1042,
    "array_job_id": None,
    "array_task_id": None,
    "array_tasks": None,
    "het_job_id": None,
    "het_offset": None,
    "name": "train",
    "tenant": "astro",
    "user": "ada",
    "class": "training",
    "flavor": "h100",
    "partition": "h100",
    "qos": "training",
    "state": "COMPLETED",
    "flags": [],
    "reason": "",
    "exit_code": 0,
    "signal": 0,
    "submitted_at": "2026-11-30T12:00:00Z",
    "started_at": "2026-11-30T12:00:02Z",
    "ended_at": "2026-11-30T12:41:07Z",
    "nodes": "gpu[1-2]",
    "gpus": 4,
    "door": "http",
    "work_dir": "/home/ada/run",
    "stdout": "/home/ada/run/slurm-1042.out",
    "stderr": "/home/ada/run/slurm-1042.out",
    "tres_allocated": {"cpu": 16, "mem": 65536, "node": 2, "gres/gpu": 4, "gres/gpu:h100": 4},
    "tres_requested": {"cpu": 16, "mem": 65536, "node": 2, "gres/gpu": 4, "gres/gpu:h100": 4},
    "time_limit_min": 60,
    "restarts": 0,
    "dependency": "",
    "comment": "",
    "messages": [],
}


class JobCost(BaseModel):
    """What a job's newest run has cost so far, by the price book alone: before the tenant's guarantee."""

    amount: Money
    currency: str


class Job(BaseModel):
    """One job, one whole array, one task of an array, or one component of a heterogeneous job."""

    model_config = ConfigDict(frozen=True, populate_by_name=True, json_schema_extra={"examples": [_EXAMPLE]})

    id: str = Field(description="Ours; the same after a requeue, sorted by time of submission.")
    cluster: str
    job_id: int = Field(description="Slurm's number of the record.")
    array_job_id: int | None = Field(description="Of an array and its tasks: the number that users see.")
    array_task_id: int | None
    array_tasks: str | None = Field(description="Of an array: the tasks that wait, as `0-3%2`.")
    het_job_id: int | None = Field(description="Of a heterogeneous job: its leader's number.")
    het_offset: int | None = Field(
        description="Which component this is; 0 is the leader, who has the script."
    )
    name: str
    tenant: str = Field(description="Slurm's account.")
    user: str
    job_class: str = Field(alias="class", description="Empty for a QOS that is not one of the classes.")
    flavor: str = Field(description="Kind of GPU; empty for a job without GPUs.")
    partition: str
    qos: str
    state: BaseState = Field(description="Slurm's base state; UNKNOWN is ours, and is no end.")
    flags: list[str] = Field(description="Slurm's flags on the state, such as COMPLETING.")
    reason: str
    exit_code: int | None
    signal: int | None
    submitted_at: datetime = Field(description="Of the first run.")
    started_at: datetime | None
    ended_at: datetime | None
    nodes: str
    gpus: int = Field(description="Allocated; asked for while it waits.")
    door: Literal["http", "sbatch"]
    work_dir: str
    stdout: str
    stderr: str
    tres_allocated: dict[str, int] = Field(description="Counts; `mem` in MiB.")
    tres_requested: dict[str, int]
    time_limit_min: Minutes | None
    restarts: int
    dependency: str
    comment: str
    messages: list[str] = Field(description="What the parser and Slurm said at the submission.")
    cost: JobCost | None = Field(
        default=None,
        description="Of the newest run, so far; only where one job is shown, and null without a price.",
    )


class JobPage(BaseModel):
    """Jobs, newest first."""

    items: list[Job]
    next_cursor: str | None = Field(description="Give it as `cursor` to get the next page; null at the end.")


def job_of(record: JobRecord, *, cost: Cost | None = None) -> Job:
    """Show a record of the mirror."""
    return Job(
        id=record.id,
        cluster=record.cluster,
        job_id=record.job_id,
        array_job_id=record.array_job_id,
        array_task_id=record.array_task_id,
        array_tasks=record.array_tasks,
        het_job_id=record.het_job_id,
        het_offset=record.het_offset,
        name=record.name,
        tenant=record.tenant,
        user=record.user,
        job_class=record.job_class,
        flavor=record.flavor,
        partition=record.partition,
        qos=record.qos,
        state=record.state.base,
        flags=sorted(record.state.flags),
        reason=record.reason,
        exit_code=record.exit.code if record.exit else None,
        signal=record.exit.signal if record.exit else None,
        submitted_at=record.submitted_at,
        started_at=record.started_at,
        ended_at=record.ended_at,
        nodes=record.nodes,
        gpus=record.gpus,
        door=record.door,
        work_dir=record.work_dir,
        stdout=record.stdout,
        stderr=record.stderr or record.stdout,
        tres_allocated=dict(record.tres_allocated),
        tres_requested=dict(record.tres_requested),
        time_limit_min=record.time_limit_min,
        restarts=record.restarts,
        dependency=record.dependency,
        comment=record.comment,
        messages=list(record.messages),
        cost=None if cost is None else JobCost(amount=cost.amount, currency=cost.currency),
    )
