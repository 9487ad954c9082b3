"""Opens one regular file inside a shared root, component by component, as whoever this process is.

Nothing is resolved by the kernel behind our back: each component is opened from its folder's descriptor
without following links; a link in the middle is read and walked by the same rules, and ``..`` and
absolute targets can't leave the shared roots. The last component is never followed. Whether each step is
allowed is the kernel's decision for this process's uid, which the caller has set before.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence
from typing import Final

from bridge.errors import InputError
from gateway.file_agent.paths import SharedPath, locate

_READ: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC

MAX_LINKS: Final = 40
"""Symbolic links followed in one path, the kernel's own limit."""

_KINDS: Final = {
    stat.S_IFDIR: "a directory",
    stat.S_IFLNK: "a symbolic link",
    stat.S_IFIFO: "a FIFO",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}


def open_regular(path: str, roots: Sequence[str]) -> int:
    """Open `path` for reading; returns a descriptor that the caller closes.

    Raises
    ------
    InputError
        Not a regular file, a link at its end, too many links, or outside the shared roots.
    OSError
        What the kernel says (ENOENT, EACCES, ...).
    """
    place = locate(path, roots)
    if not place.parts:
        raise InputError(f"{path} is a directory, not a regular file; name a file in it", path=path)
    folder, name = _folder_of(place, roots)
    try:
        return _open_last(folder, name, path)
    finally:
        os.close(folder)


def _open_last(folder: int, name: str, path: str) -> int:
    # Looked at first without opening: the open of a FIFO or a device is an act of its own.
    handle = os.open(name, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
    try:
        seen = os.fstat(handle)
    finally:
        os.close(handle)
    _require_regular(seen, path)
    file = os.open(name, _READ, dir_fd=folder)
    try:
        _require_regular(os.fstat(file), path)  # again: the name may have been given to another file
    except InputError:
        os.close(file)
        raise
    return file


def _require_regular(status: os.stat_result, path: str) -> None:
    if stat.S_ISREG(status.st_mode):
        return
    kind = _KINDS.get(stat.S_IFMT(status.st_mode), "no file")
    raise InputError(f"{path} is {kind}, not a regular file; give the path of the file itself", path=path)


def _folder_of(place: SharedPath, roots: Sequence[str]) -> tuple[int, str]:
    """Walk to the folder of the last component; returns its descriptor and that component."""
    walk = _Walk(place.root)
    pending = list(place.parts)
    links = 0
    try:
        while len(pending) > 1 or pending[0] == "..":
            part = pending.pop(0)
            target = walk.enter(part)
            if target is not None:
                links += 1
                if links > MAX_LINKS:
                    raise InputError("the path goes through more than 40 symbolic links; is it a loop?")
                pending = _after_link(walk, target, pending, roots)
            if not pending:
                raise InputError("the path names a directory, not a regular file; name a file in it")
        return os.dup(walk.folder), pending[0]
    finally:
        walk.close()


def _after_link(walk: _Walk, target: str, pending: list[str], roots: Sequence[str]) -> list[str]:
    if target.startswith("/"):
        place = locate(target, roots)
        walk.restart(place.root)
        return [*place.parts, *pending]
    return [*(part for part in target.split("/") if part not in ("", ".")), *pending]


class _Walk:
    """The chain of open folders from a root to where we are."""

    def __init__(self, root: str) -> None:
        self.root = root
        self._chain = [_open_folder(root)]

    @property
    def folder(self) -> int:
        return self._chain[-1]

    def enter(self, part: str) -> str | None:
        """Go to `part`; returns the target instead when it is a symbolic link."""
        if part == "..":
            if len(self._chain) == 1:
                raise InputError(f"the path leaves the shared folder {self.root}; give it without '..'")
            os.close(self._chain.pop())
            return None
        handle = os.open(part, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=self.folder)
        if stat.S_ISLNK(os.fstat(handle).st_mode):
            os.close(handle)
            return os.readlink(part, dir_fd=self.folder)
        self._chain.append(handle)
        return None

    def restart(self, root: str) -> None:
        """Begin again at a root, for an absolute link."""
        self.close()
        self.root = root
        self._chain = [_open_folder(root)]

    def close(self) -> None:
        while self._chain:
            os.close(self._chain.pop())


def _open_folder(path: str) -> int:
    return os.open(path, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
