"""The operations `read` and `stat`: judged here, carried out by a child that is the user.

What flows in: requests of the gateway over the wire. What flows out: bytes of one regular file that the
user can read, or one sentence. A request that isn't answered in time is given up; its child ends by
itself.
"""

from __future__ import annotations

import socket
from collections.abc import Mapping
from typing import Any, Final

from bridge.errors import InputError, Unavailable
from bridge.wire import ConnectionLost, Handler, raise_error, receive_frame
from gateway.file_agent.paths import check_range, locate
from gateway.file_agent.spawner import hand_over
from gateway.file_agent.users import Users
from gateway.file_agent.work import Op, Work

MAX_READ: Final = 4 * 1024 * 1024
"""Bytes of one answer."""
_GRACE_S: Final = 1.0
"""The child's own alarm comes first, by this much."""


class Files:
    """Handlers of the wire server.

    Parameters
    ----------
    users
        Who may be named.
    roots
        Shared folders; anything else is local to a node.
    deadline_s
        Seconds that one request may take.
    control
        The spawner's socket (`start_spawner`).
    """

    def __init__(
        self, *, users: Users, roots: tuple[str, ...], deadline_s: float, control: socket.socket
    ) -> None:
        self._users = users
        self._roots = roots
        self._deadline_s = deadline_s
        self._control = control

    def handlers(self) -> Mapping[str, Handler]:
        """Return the table for `bridge.wire.Server`."""
        return {"read": self.read, "stat": self.stat}

    def read(self, args: Mapping[str, Any]) -> dict[str, Any]:
        """``{user, path, offset, length}`` -> ``{data, size, offset, disk_full}``.

        A negative offset is from the end; `disk_full` says that more can't be written there now.
        """
        offset, length = _integer(args, "offset", 0), _integer(args, "length", MAX_READ)
        check_range(offset, length, most=MAX_READ)
        return self._ask(self._work("read", args, offset=offset, length=length))

    def stat(self, args: Mapping[str, Any]) -> dict[str, Any]:
        """``{user, path}`` -> ``{size, mtime}``."""
        return self._ask(self._work("stat", args, offset=0, length=0))

    def _work(self, op: Op, args: Mapping[str, Any], *, offset: int, length: int) -> Work:
        user, path = _text(args, "user"), _text(args, "path")
        locate(path, self._roots)
        who = self._users.identity(user)
        return Work(
            op=op,
            user=user,
            uid=who.uid,
            gid=who.gid,
            groups=who.groups,
            path=path,
            offset=offset,
            length=length,
            roots=self._roots,
            deadline_s=self._deadline_s,
        )

    def _ask(self, work: Work) -> dict[str, Any]:
        ours, theirs = socket.socketpair()
        with ours:
            with theirs:
                hand_over(self._control, work, theirs)
            ours.settimeout(self._deadline_s + _GRACE_S)
            try:
                frame = receive_frame(ours)
            except (ConnectionLost, TimeoutError) as error:
                raise self._late(work) from error
        if frame is None:
            raise self._late(work)
        if "error" in frame:
            raise_error(frame["error"])
        answer: dict[str, Any] = frame["done"]
        return answer

    def _late(self, work: Work) -> Unavailable:
        return Unavailable(
            f"the file system of {work.path} did not answer within {self._deadline_s:g} s; try again later",
            part="file-agent",
            path=work.path,
        )


def _integer(args: Mapping[str, Any], name: str, default: int) -> int:
    value = args.get(name, default)
    if isinstance(value, bool) or not isinstance(value, int):
        raise InputError(f"{name} must be a whole number, not {value!r}")
    return value


def _text(args: Mapping[str, Any], name: str) -> str:
    value = args.get(name)
    if not isinstance(value, str) or not value:
        raise InputError(f"{name} must be a text, not {value!r}")
    return value
