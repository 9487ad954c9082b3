"""``/v1/jobs/{job}/stdout`` and ``stderr``: output of jobs, as bytes."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Annotated

from fastapi import APIRouter, Query, Request
from fastapi.responses import StreamingResponse

from bridge.errors import Denied, InputError
from gateway.auth import Caller
from gateway.compose import Parts
from gateway.logs import FULL, Piece, Stream, is_text
from gateway.routes.jobs import find
from gateway.schemas.v1.problem import problems

router = APIRouter(prefix="/v1/jobs", tags=["logs"])


class Output(StreamingResponse):
    """Bytes of a file; never sniffed for another type by a browser."""

    media_type = "text/plain; charset=utf-8"


@router.get(
    "/{job}/{stream}",
    response_class=Output,
    responses={
        200: {
            "description": "The bytes as they are: text/plain when they are UTF-8, else "
            "application/octet-stream. X-Sluice-Size is the file's size, X-Sluice-Offset where they begin; "
            "X-Sluice-Warning says when its disk is full.",
            "content": {"text/plain": {}, "application/octet-stream": {}},
        },
        **problems(401, 403, 404, 422, 503),
    },
)
async def read_output(
    request: Request,
    caller: Caller,
    job: str,
    stream: Stream,
    *,
    offset: Annotated[
        int, Query(ge=-(2**62), le=2**62, description="First byte; negative counts from the end.")
    ] = 0,
    limit: Annotated[int | None, Query(ge=1, description="Bytes at most; all by default.")] = None,
    tail: Annotated[
        int | None, Query(ge=0, le=100_000, description="The last lines; instead of offset and limit.")
    ] = None,
) -> Output:
    """Read a job's output, with the rights of its owner."""
    parts: Parts = request.app.state.parts
    record = await find(parts, caller, job)
    if not caller.may_read_logs(record):
        raise Denied(f"job {record.slurm_number} is {record.user}'s; only its owner may read its output")
    if tail is not None:
        if offset or limit is not None:
            raise InputError("tail goes with neither offset nor limit; keep one of them", parameter="tail")
        piece = await parts.logs.tail(record, stream, tail)
        return _output(piece, _once(piece.data))
    piece = await parts.logs.begin(record, stream, offset=offset, limit=limit)
    return _output(piece, parts.logs.rest(record, stream, piece, limit=limit))


async def _once(data: bytes) -> AsyncIterator[bytes]:
    yield data


def _output(first: Piece, content: AsyncIterator[bytes]) -> Output:
    return Output(
        content,
        media_type=None if is_text(first.data) else "application/octet-stream",
        headers={
            "X-Sluice-Size": str(first.size),
            "X-Sluice-Offset": str(first.offset),
            **({"X-Sluice-Warning": FULL} if first.disk_full else {}),
            "X-Content-Type-Options": "nosniff",
            "Cache-Control": "no-store",
        },
    )
