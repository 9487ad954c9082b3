"""A batch script as a request: JSON, or the script as the body with its options in the query.

One dependency for all routes that take a script, so that they all mean the same by it.
"""

from __future__ import annotations

from typing import Annotated, Any, Final

from fastapi import Depends, Query, Request
from fastapi.exceptions import RequestValidationError
from pydantic import ValidationError

from bridge.errors import InputError
from gateway.schemas.v1.submit import SubmitJob
from gateway.submit.map import Submission, from_json, from_raw

RAW_TYPES: Final = ("text/x-shellscript", "application/x-sh", "text/plain", "application/octet-stream")

BODY: Final[dict[str, Any]] = {
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


async def submission_of(
    request: Request,
    *,
    arg: Annotated[
        list[str], Query(description="Raw body: an option of sbatch, as `--time=10`; repeated.")
    ] = [],  # noqa: B006
    script_arg: Annotated[
        list[str], Query(description="Raw body: an argument of the script itself; repeated.")
    ] = [],  # noqa: B006
    work_dir: Annotated[str | None, Query(description="Raw body: absolute; the home by default.")] = None,
    tenant: Annotated[str | None, Query(description="Raw body: the tenant.")] = None,
    job_class: Annotated[str | None, Query(alias="class", description="Raw body: the class.")] = None,
    name: Annotated[str | None, Query(description="Raw body: the job's name.")] = None,
    file_name: Annotated[str | None, Query(description="Raw body: the script's file name.")] = None,
) -> Submission:
    """Read either form."""
    content_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    body = await request.body()
    if content_type in ("application/json", ""):
        return _json(body)
    if content_type in RAW_TYPES:
        return from_raw(
            body,
            arguments=arg,
            argv=script_arg,
            work_dir=work_dir,
            tenant=tenant,
            job_class=job_class,
            name=name,
            file_name=file_name,
        )
    raise InputError(
        f"Content-Type {content_type} is not one of application/json, {', '.join(RAW_TYPES)}",
        header="Content-Type",
    )


Asked = Annotated[Submission, Depends(submission_of)]


def _json(body: bytes) -> Submission:
    try:
        return from_json(SubmitJob.model_validate_json(body))
    except ValidationError as error:
        raise RequestValidationError(error.errors(include_url=False, include_context=False)) from error
