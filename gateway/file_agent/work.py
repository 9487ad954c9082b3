"""What one child does: become the user, open one file, answer, end.

What flows in: a `Work` and a socket to answer on. What flows out: one frame, an answer or an error of
`bridge.errors`. Runs in a process of its own that lives for one request; nothing of another user was ever
open in it.
"""

from __future__ import annotations

import contextlib
import errno
import os
import signal
import socket
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any, Final, Literal

from bridge.errors import Denied, InputError, NotFound, SluiceError, Unavailable
from bridge.wire import ConnectionLost, error_frame, send_frame
from gateway.file_agent.walk import open_regular

Op = Literal["read", "stat"]

_CHUNK: Final = 1 << 20

LEAST_FREE: Final = 16 * 1024
"""Bytes; a disk with less has no room for the next lines of anybody."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """One request, with everything decided by the server: the child believes nothing else."""

    op: Op
    user: str
    uid: int
    gid: int
    groups: tuple[int, ...]
    path: str
    offset: int = 0
    length: int = 0
    roots: tuple[str, ...]
    deadline_s: float

    def as_map(self) -> dict[str, Any]:
        """Return plain values for the spawner's frame."""
        return asdict(self)

    @classmethod
    def from_map(cls, values: Mapping[str, Any]) -> Work:
        """Read what `as_map` gave."""
        plain = dict(values)
        plain["groups"], plain["roots"] = tuple(plain["groups"]), tuple(plain["roots"])
        return cls(**plain)


def carry_out(work: Work, answer: socket.socket) -> None:
    """Do `work` and send one frame; for a fresh child only, whose identity it changes for good."""
    # The alarm's default action ends the process, whatever it waits for (but for a dead NFS server,
    # where the server's own deadline answers and the spawner's limit keeps such children few).
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_REAL, work.deadline_s)
    answer.settimeout(work.deadline_s)
    with contextlib.suppress(ConnectionLost, TimeoutError):
        try:
            become(work)
            result = _read(work) if work.op == "read" else _stat(work)
        except SluiceError as error:
            send_frame(answer, error_frame(error))
        except OSError as error:
            send_frame(answer, error_frame(failure(error, work)))
        else:
            send_frame(answer, {"done": result})


def become(work: Work) -> None:
    """Drop to the user for good: groups first, then gid, then uid, each checked.

    Raises
    ------
    SluiceError
        The process is still somebody else afterwards; nothing was opened.
    """
    os.setgroups(work.groups)
    os.setresgid(work.gid, work.gid, work.gid)
    os.setresuid(work.uid, work.uid, work.uid)
    mine = (os.getresuid(), os.getresgid(), set(os.getgroups()))
    if mine != ((work.uid,) * 3, (work.gid,) * 3, set(work.groups)):
        raise SluiceError("the file-agent could not become the file's owner; nothing was read")


def _read(work: Work) -> dict[str, Any]:
    file = open_regular(work.path, work.roots)
    try:
        size = os.fstat(file).st_size
        start = work.offset if work.offset >= 0 else max(0, size + work.offset)
        data = _bytes(file, start, work.length)
        return {"data": data, "size": size, "offset": start, "disk_full": is_full(file)}
    finally:
        os.close(file)


def is_full(place: int | str) -> bool:
    """Whether what a job writes beside this file or folder is lost."""
    disk = os.statvfs(place)
    no_names = disk.f_files > 0 and disk.f_favail == 0
    return no_names or disk.f_bavail * disk.f_frsize < LEAST_FREE


def _nearest_is_full(path: str) -> bool:
    """Whether the disk is full on which a file would be that doesn't exist."""
    folder = path
    while folder != "/":
        folder = os.path.dirname(folder)  # noqa: PTH120 - a text, and Path's would be read again
        with contextlib.suppress(OSError):
            return is_full(folder)
    return False


def _bytes(file: int, start: int, length: int) -> bytes:
    """Read until `length` or the end of the file, which may move while we read."""
    pieces: list[bytes] = []
    missing = length
    while missing:
        piece = os.pread(file, min(missing, _CHUNK), start + length - missing)
        if not piece:
            break
        pieces.append(piece)
        missing -= len(piece)
    return b"".join(pieces)


def _stat(work: Work) -> dict[str, Any]:
    # Opened for reading too: the size of a file that its user can't read is nobody's business.
    file = open_regular(work.path, work.roots)
    try:
        status = os.fstat(file)
        return {"size": status.st_size, "mtime": datetime.fromtimestamp(status.st_mtime, UTC)}
    finally:
        os.close(file)


def failure(error: OSError, work: Work) -> SluiceError:
    """Turn the kernel's refusal into a sentence, by its number."""
    path, user = work.path, work.user
    match error.errno:
        case errno.ENOENT | errno.ENOTDIR:
            return NotFound(
                f"{path} does not exist (yet); a job's output appears when it starts",
                path=path,
                disk_full=_nearest_is_full(path),
            )
        case errno.EACCES | errno.EPERM:
            return Denied(f"{user} may not read {path}", path=path)
        case errno.ELOOP:
            return InputError(f"{path} is a symbolic link; give the path of the file itself", path=path)
        case errno.ENAMETOOLONG | errno.EINVAL | errno.EOVERFLOW:
            return InputError(f"{path} can't be read there: {error.strerror}", path=path)
        case _:
            return Unavailable(
                f"the file system of {path} does not give the file now ({error.strerror}); try again",
                part="file-agent",
                path=path,
            )
