"""``/v1/jobs``: submit, list, look, cancel."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial
from typing import Annotated, Final

import anyio.to_thread
import structlog
from fastapi import APIRouter, Header, Query, Request, Response

from bridge.errors import Denied, InputError, NotFound, Unavailable
from bridge.job import BaseState
from bridge.units import gpu_count
from gateway.auth import Caller, Principal
from gateway.compose import Parts
from gateway.ledger.amounts import Payer, Rates
from gateway.price.estimate import Cost, Holding
from gateway.routes.recording import record as noted
from gateway.routes.submission import BODY, Asked
from gateway.schemas.v1.cursor import cursor_of, job_before
from gateway.schemas.v1.job import Job, JobPage, job_of
from gateway.schemas.v1.problem import problems
from gateway.store import intents, jobs
from gateway.store.jobs import Filter
from gateway.submit.intent import IntentState
from gateway.track.arrays import waiting_task
from gateway.track.record import ID_PREFIX, JOB_ID, JobNumber, JobRecord

router = APIRouter(prefix="/v1/jobs", tags=["jobs"])
_log = structlog.get_logger(__name__)

_NUMBER: Final = re.compile(
    r"^(?P<number>[1-9][0-9]{0,9})(?:_(?P<task>[0-9]{1,9})|\+(?P<component>[0-9]{1,3}))?$"
)
_KEY: Final = re.compile(r"^[\x21-\x7e]{1,255}$")


@router.post(
    "",
    status_code=201,
    responses={
        200: {"model": Job, "description": "The job that the same Idempotency-Key made before"},
        **problems(401, 403, 409, 413, 422, 503),
    },
    openapi_extra=BODY,
)
async def submit_job(
    request: Request,
    response: Response,
    caller: Caller,
    submission: Asked,
    *,
    idempotency_key: Annotated[
        str | None, Header(description="The same key with the same request is the same job.")
    ] = None,
) -> Job:
    """Submit a batch script, as JSON or as the body itself, to run as the caller's Linux user."""
    if idempotency_key is not None and not _KEY.match(idempotency_key):
        raise InputError("Idempotency-Key takes 1 to 255 visible ASCII characters", header="Idempotency-Key")
    accepted = await _parts(request).submitter.submit(
        submission, user=caller.user, key=idempotency_key, caller=caller
    )
    response.status_code = 201 if accepted.created else 200
    response.headers["Location"] = f"/v1/jobs/{accepted.job.id}"
    return job_of(accepted.job)


@router.get("", responses=problems(401, 422, 503))
async def list_jobs(
    request: Request,
    caller: Caller,
    *,
    tenant: Annotated[str | None, Query(description="Only this tenant's.")] = None,
    user: Annotated[str | None, Query(description="Only this user's.")] = None,
    state: Annotated[list[str], Query(description="Only these base states; repeated or with commas.")] = [],  # noqa: B006
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
    cursor: Annotated[str | None, Query(description="`next_cursor` of the page before.")] = None,
) -> JobPage:
    """List the jobs of the caller's tenants and the caller's own, newest first; all for an administrator."""
    wanted = Filter(tenant=tenant, user=user, states=_states(state))
    query = partial(
        jobs.page,
        visible=caller.visible,
        wanted=wanted,
        limit=limit + 1,
        before=job_before(cursor) if cursor else None,
    )
    found = await _parts(request).store.read(query)
    more = len(found) > limit
    return JobPage(
        items=[job_of(record) for record in found[:limit]],
        next_cursor=cursor_of(found[limit - 1].id) if more else None,
    )


@router.get("/{job}", responses=problems(401, 404, 422, 503))
async def get_job(request: Request, caller: Caller, job: str) -> Job:
    """Show one job.

    `job` is our id, Slurm's number (the newest job that had it), `123_4` for a task of an array, or `123+1`
    for a component of a heterogeneous job.
    """
    parts = _parts(request)
    record = await find(parts, caller, job)
    return job_of(record, cost=_cost(parts, record))


@router.delete("/{job}", status_code=202, responses=problems(401, 403, 404, 422, 503))
async def cancel_job(request: Request, caller: Caller, job: str) -> Job:
    """Cancel a job, a whole array or one task; one that has ended stays as it is."""
    parts = _parts(request)
    record = await find(parts, caller, job)
    if not caller.may_cancel(record):
        raise Denied(
            f"job {record.slurm_number} is {record.user}'s; its owner or a manager of tenant {record.tenant} "
            "may cancel it"
        )
    if record.settled:
        return job_of(record)
    number = record.slurm_number
    newest = await _by_number(parts, number)
    if newest and newest[0].id != record.id:
        # slurmctld lost it (a crash before its state was saved) and gave the number to another job.
        return job_of(record)
    await noted(
        parts,
        caller,
        "job.cancel",
        record.id,
        tenant=record.tenant,
        before={"state": record.state.base.value, "user": record.user, "job_id": record.job_id},
        after={"state": BaseState.CANCELLED.value},
    )
    cancel = partial(parts.slurm.cancel, number.number, user=record.user, array_task_id=number.task)
    try:
        await anyio.to_thread.run_sync(cancel)
    except NotFound:
        # It left slurmctld, maybe this moment: the mirror will say how it ended.
        _log.info("job to cancel is not in slurmctld", job_id=record.job_id)
    else:
        _log.info("job cancelled", job=record.id, job_id=record.job_id, owner=record.user, actor=caller.user)
    try:
        await parts.tracker.fresh()
    except Unavailable as error:
        _log.info("no fresh listing after a cancel", reason=error.message)
    try:
        return job_of(await find(parts, caller, job))
    except NotFound:
        await parts.tracker.note_cancelled(record)
        return job_of(await find(parts, caller, record.id))


async def find(parts: Parts, caller: Principal, name: str) -> JobRecord:
    """Return the job that `name` means for the caller.

    Raises
    ------
    NotFound
        There is none, or it is none of the caller's business: the same sentence for both.
    """
    found: Sequence[JobRecord] = ()
    if JOB_ID.match(name):
        record = await parts.store.read(partial(jobs.get, job_id=name))
        found = [record] if record else []
    elif match := _NUMBER.match(name):
        task = match["task"]
        number = JobNumber(int(match["number"]), int(task) if task is not None else None)
        if match["component"] is None:
            found = await _by_number(parts, number)
        else:
            wanted = partial(
                jobs.by_component,
                cluster=parts.cluster_name(),
                number=number.number,
                offset=int(match["component"]),
            )
            found = await parts.store.read(wanted)
    for record in found:
        if caller.sees(record):
            return record
    if JOB_ID.match(name):
        await _tell_of_the_submission(parts, caller, name)
    raise NotFound(
        f"there is no job {name!r} that you can see; GET /v1/jobs lists yours, and a job that was submitted "
        "by sbatch shows up within seconds"
    )


async def _tell_of_the_submission(parts: Parts, caller: Principal, name: str) -> None:
    """Raise `NotFound` with what became of the caller's own submission that is no job, or not yet."""
    intent = await parts.store.read(partial(intents.get, intent_id=name.removeprefix(ID_PREFIX)))
    if intent is None or intent.user != caller.user:
        return
    if intent.open:
        raise NotFound(
            f"{name} is not a job yet: Slurm has not said whether it took the submission; ask again soon",
            submission=intent.state.value,
        )
    if intent.state is IntentState.FAILED:
        reason = str((intent.error or {}).get("message", "the reason was not kept"))
        raise NotFound(
            f"{name} did not become a job ({reason}); submit it again", submission=intent.state.value
        )


async def _by_number(parts: Parts, number: JobNumber) -> Sequence[JobRecord]:
    cluster = parts.cluster_name()
    found = await parts.store.read(partial(jobs.by_number, cluster=cluster, number=number))
    if number.task is None:
        return found
    arrays = await parts.store.read(partial(jobs.by_number, cluster=cluster, number=JobNumber(number.number)))
    # The newest use of the number may be an array whose task still waits, without a row of its own.
    if arrays and (task := waiting_task(arrays[0], number.task)) is not None:
        return [task, *found]
    return found


def _cost(parts: Parts, record: JobRecord) -> Cost | None:
    """Return what the newest run has cost so far; an array's tasks have costs of their own."""
    if record.started_at is None or not record.tres_allocated or record.is_array:
        return None
    tres = record.tres_allocated
    holding = Holding(
        payer=Payer(record.tenant, record.user, record.job_class, record.flavor, record.door),
        rates=Rates(gpus=gpu_count(tres), cpus=tres.get("cpu", 0), memory_mib=tres.get("mem", 0)),
        time_limit=None,
    )
    return parts.prices.cost_so_far(holding, start=record.started_at, end=record.ended_at)


def _states(words: Sequence[str]) -> frozenset[BaseState]:
    names = [name.strip().upper() for word in words for name in word.split(",") if name.strip()]
    try:
        return frozenset(BaseState(name) for name in names)
    except ValueError as error:
        raise InputError(f"state takes {', '.join(sorted(BaseState))}; {error}", parameter="state") from error


def _parts(request: Request) -> Parts:
    parts: Parts = request.app.state.parts
    return parts
