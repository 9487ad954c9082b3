"""``/v1/jobs``: submit, list, look, cancel."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial
from typing import Annotated, Any, Final

import anyio.to_thread
import structlog
from fastapi import APIRouter, Header, Query, Request, Response
from fastapi.exceptions import RequestValidationError
from pydantic import ValidationError

from bridge.errors import Denied, InputError, NotFound, Unavailable
from bridge.job import BaseState
from gateway.auth import Caller, Principal
from gateway.compose import Parts
from gateway.schemas.v1.cursor import cursor_of, job_before
from gateway.schemas.v1.job import Job, JobPage, job_of
from gateway.schemas.v1.problem import problems
from gateway.schemas.v1.submit import SubmitJob
from gateway.store import intents, jobs
from gateway.store.jobs import Filter
from gateway.submit.intent import IntentState
from gateway.submit.map import Submission, from_json, from_raw
from gateway.track.arrays import waiting_task
from gateway.track.record import ID_PREFIX, JOB_ID, JobNumber, JobRecord

router = APIRouter(prefix="/v1/jobs", tags=["jobs"])
_log = structlog.get_logger(__name__)

RAW_TYPES: Final = ("text/x-shellscript", "application/x-sh", "text/plain", "application/octet-stream")
_NUMBER: Final = re.compile(r"^(?P<number>[1-9][0-9]{0,9})(_(?P<task>[0-9]{1,9}))?$")
_KEY: Final = re.compile(r"^[\x21-\x7e]{1,255}$")

_BODY: Final[dict[str, Any]] = {
    "requestBody": {
        "required": True,
        "content": {
            "application/json": {"schema": SubmitJob.model_json_schema(by_alias=True)},
            "text/x-shellscript": {
                "schema": {"type": "string", "format": "binary"},
                "example": "#!/bin/bash\n#SBATCH --gpus=h100:1\nnvidia-smi\n",
            },
        },
    }
}


@router.post(
    "",
    status_code=201,
    responses={
        200: {"model": Job, "description": "The job that the same Idempotency-Key made before"},
        **problems(401, 403, 409, 413, 422, 503),
    },
    openapi_extra=_BODY,
)
async def submit_job(
    request: Request,
    response: Response,
    caller: Caller,
    *,
    arg: Annotated[
        list[str], Query(description="Raw body: an option of sbatch, as `--time=10`; repeated.")
    ] = [],  # noqa: B006
    work_dir: Annotated[str | None, Query(description="Raw body: absolute; the home by default.")] = None,
    tenant: Annotated[str | None, Query(description="Raw body: the tenant.")] = None,
    job_class: Annotated[str | None, Query(alias="class", description="Raw body: the class.")] = None,
    name: Annotated[str | None, Query(description="Raw body: the job's name.")] = None,
    file_name: Annotated[str | None, Query(description="Raw body: the script's file name.")] = None,
    idempotency_key: Annotated[
        str | None, Header(description="The same key with the same request is the same job.")
    ] = None,
) -> Job:
    """Submit a batch script, as JSON or as the body itself, to run as the caller's Linux user."""
    if idempotency_key is not None and not _KEY.match(idempotency_key):
        raise InputError("Idempotency-Key takes 1 to 255 visible ASCII characters", header="Idempotency-Key")
    content_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    body = await request.body()
    if content_type in ("application/json", ""):
        submission = _json(body)
    elif content_type in RAW_TYPES:
        submission = from_raw(
            body,
            arguments=arg,
            work_dir=work_dir,
            tenant=tenant,
            job_class=job_class,
            name=name,
            file_name=file_name,
        )
    else:
        raise InputError(
            f"Content-Type {content_type} is not one of application/json, {', '.join(RAW_TYPES)}",
            header="Content-Type",
        )
    accepted = await _parts(request).submitter.submit(submission, user=caller.user, key=idempotency_key)
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
    """Show one job. `job` is our id, Slurm's number (the newest job that had it), or `123_4` for a task."""
    return job_of(await find(_parts(request), caller, job))


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
        found = await _by_number(parts, number)
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


def _json(body: bytes) -> Submission:
    try:
        return from_json(SubmitJob.model_validate_json(body))
    except ValidationError as error:
        raise RequestValidationError(error.errors(include_url=False, include_context=False)) from error


def _states(words: Sequence[str]) -> frozenset[BaseState]:
    names = [name.strip().upper() for word in words for name in word.split(",") if name.strip()]
    try:
        return frozenset(BaseState(name) for name in names)
    except ValueError as error:
        raise InputError(f"state takes {', '.join(sorted(BaseState))}; {error}", parameter="state") from error


def _parts(request: Request) -> Parts:
    parts: Parts = request.app.state.parts
    return parts
