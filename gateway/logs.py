"""Output of jobs, read by the file-agent as the job's owner.

What flows in: a job's record and a range. What flows out: bytes as they are in the file. This process never
opens a user's file: it has no right to, and asks for none.
"""

from __future__ import annotations

import posixpath
from collections.abc import AsyncIterator
from dataclasses import dataclass
from functools import partial
from typing import Final, Literal

import anyio.to_thread

from bridge.errors import InputError, NotFound
from bridge.job import BaseState
from bridge.wire import Client
from gateway.track.record import JobRecord

Stream = Literal["stdout", "stderr"]

CHUNK: Final = 1024 * 1024
"""Bytes of one question to the file-agent (it takes up to 4 MiB)."""
TAIL_CHUNK: Final = 64 * 1024
TAIL_MOST: Final = 16 * 1024 * 1024
"""Bytes at the end of a file in which the last lines are looked for."""


FULL: Final = "the disk of this output is full, so that it may be cut; remove files, then run the job again"


@dataclass(frozen=True, slots=True)
class Piece:
    """Bytes of a file: where they begin, and how long the file was."""

    data: bytes
    offset: int
    size: int
    disk_full: bool = False
    """Whether what the job writes there now is lost."""


class Logs:
    """Reads output through the file-agent."""

    def __init__(self, client: Client) -> None:
        self._client = client

    async def begin(self, job: JobRecord, stream: Stream, *, offset: int, limit: int | None) -> Piece:
        """Read the first piece of a range; a negative `offset` counts from the end.

        Raises
        ------
        NotFound
            There is no output, with the reason.
        Denied, InputError, Unavailable
            As the file-agent says.
        """
        length = CHUNK if limit is None else min(limit, CHUNK)
        return await self._read(job, stream, offset, length)

    async def rest(
        self, job: JobRecord, stream: Stream, first: Piece, *, limit: int | None
    ) -> AsyncIterator[bytes]:
        """Yield a range whose first piece was read, up to the file's size at that time."""
        yield first.data
        position = first.offset + len(first.data)
        end = first.size if limit is None else min(first.size, first.offset + limit)
        while position < end:
            piece = await self._read(job, stream, position, min(CHUNK, end - position))
            if not piece.data:
                return  # it was truncated meanwhile
            yield piece.data
            position += len(piece.data)

    async def tail(self, job: JobRecord, stream: Stream, lines: int) -> Piece:
        """Return the last `lines` lines, of the file's last 16 MiB at most."""
        last = await self._read(job, stream, -TAIL_CHUNK, TAIL_CHUNK)
        data, offset = last.data, last.offset
        while offset > 0 and data.count(b"\n", 0, len(data) - 1) < lines and len(data) < TAIL_MOST:
            start = max(0, offset - TAIL_CHUNK)
            earlier = await self._read(job, stream, start, offset - start)
            data, offset = earlier.data + data, start
        kept = data.split(b"\n") if lines else [b""]
        wanted = lines + 1 if data.endswith(b"\n") else lines
        tail = b"\n".join(kept[-wanted:])
        return Piece(tail, last.offset + len(last.data) - len(tail), last.size, last.disk_full)

    async def _read(self, job: JobRecord, stream: Stream, offset: int, length: int) -> Piece:
        path = path_of(job, stream)
        call = partial(
            self._client.call, "read", timeout_s=30, user=job.user, path=path, offset=offset, length=length
        )
        try:
            answer = await anyio.to_thread.run_sync(call)
        except NotFound as error:
            words = _absent(job, stream, path)
            if error.details.get("disk_full"):
                words = f"{words}; {FULL}"
            raise NotFound(words, state=job.state.base.value, path=path) from error
        full = bool(answer.get("disk_full"))
        return Piece(bytes(answer["data"]), int(answer["offset"]), int(answer["size"]), full)


def path_of(job: JobRecord, stream: Stream) -> str:
    """Return the absolute path of a job's output.

    Raises
    ------
    NotFound
        The job keeps none, or doesn't have it yet.
    """
    path = job.stdout if stream == "stdout" else job.stderr or job.stdout
    if job.is_array:
        number = job.slurm_number
        raise NotFound(
            f"job {number} is a whole array; each task has its own {stream}, as /v1/jobs/{number}_0/{stream}"
        )
    if not path or _never_ran(job):
        raise NotFound(_absent(job, stream, path), state=job.state.base.value)
    if path == "/dev/null":
        raise NotFound(
            f"job {job.slurm_number} sends its {stream} to /dev/null, which keeps nothing", path=path
        )
    if not path.startswith("/") and not job.work_dir.startswith("/"):
        raise InputError(
            f"{stream} of job {job.slurm_number} has the relative path {path!r} and no folder", path=path
        )
    return posixpath.normpath(posixpath.join(job.work_dir, path))


def is_text(data: bytes) -> bool:
    """Say whether bytes are UTF-8, but for a character that is cut at either end, and hold no NUL."""
    if b"\0" in data:
        return False
    start = next((index for index, byte in enumerate(data[:3]) if byte & 0xC0 != 0x80), 0)
    try:
        data[start:].decode()
    except UnicodeDecodeError as error:
        return error.end == len(data) - start and error.reason == "unexpected end of data"
    return True


def _never_ran(job: JobRecord) -> bool:
    # After a requeue the output of the run before is there to be read.
    return job.state.base is BaseState.PENDING and job.restarts == 0


def _absent(job: JobRecord, stream: Stream, path: str) -> str:
    number = job.slurm_number
    if _never_ran(job):
        why = f" ({job.reason})" if job.reason else ""
        return f"job {number} has not started{why}, so that it has no {stream} yet"
    if not path:
        return f"Slurm has not said where job {number} writes its {stream}; ask again in a moment"
    return f"job {number} has no file {path}: it wrote nothing there, or the file was moved or removed"
