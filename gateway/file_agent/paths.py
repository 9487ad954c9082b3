"""Which paths the file-agent looks at. Pure: no file system, only names.

What flows in: a path as Slurm recorded it. What flows out: the shared root it lies in and its components.
What doesn't belong here: whether it exists and who may read it; the kernel says that (`walk`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Final

from bridge.errors import InputError

MAX_PATH: Final = 4096
"""Bytes, Linux's PATH_MAX."""


@dataclass(frozen=True, slots=True)
class SharedPath:
    """A path inside a shared root; `parts` may hold ``..``, which the walk resolves and confines."""

    root: str
    parts: tuple[str, ...]


def locate(path: str, roots: Sequence[str]) -> SharedPath:
    """Find the shared root of `path`.

    Parameters
    ----------
    path
        Absolute path as the job's record has it.
    roots
        Absolute folders that all nodes and the file-agent share, the longest match wins.

    Raises
    ------
    InputError
        Not absolute, with a NUL byte, too long, or outside every root (local to a node).
    """
    if not path.startswith("/"):
        raise InputError(
            f"the path {path!r} is not absolute; give the whole path, beginning with /", path=path
        )
    if "\0" in path:
        raise InputError("the path holds a NUL byte; no file has such a name")
    if len(path.encode("utf-8", "surrogateescape")) > MAX_PATH:
        raise InputError(f"the path is longer than {MAX_PATH} bytes; Linux has no such file")
    parts = tuple(part for part in path.split("/") if part not in ("", "."))
    for root in sorted(roots, key=len, reverse=True):
        head = PurePosixPath(root).parts[1:]
        if parts[: len(head)] == head:
            return SharedPath(root, parts[len(head) :])
    raise InputError(
        f"{path} is local to a node, and the gateway reads only shared folders ({', '.join(roots)}): "
        "submit with --output=FILE under your home",
        path=path,
    )


def check_range(offset: int, length: int, *, most: int) -> None:
    """Refuse ranges that no file has.

    Raises
    ------
    InputError
        `length` below 0 or above `most`, or `offset` beyond what Linux can address (63 bits).
    """
    if not 0 <= length <= most:
        raise InputError(f"length {length} is not between 0 and {most} bytes; read it in pieces")
    if not -(2**63) < offset < 2**63 - most:
        raise InputError(f"offset {offset} is beyond what a file can hold")
