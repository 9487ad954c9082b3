"""The process that forks: single-threaded, so that a fork copies no lock in an unknown state.

The server (threads) sends one datagram per request, a `Work` and the socket to answer on; the spawner
forks a child for it, which ends after its one answer. What doesn't belong here: which requests are
allowed (`serve`), and everything after the fork (`work`).
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
from collections import Counter
from typing import Final

import msgpack

from bridge.errors import Unavailable
from bridge.wire import ConnectionLost, error_frame, send_frame
from gateway.file_agent.work import Work, carry_out

MAX_CHILDREN: Final = 64
MAX_CHILDREN_PER_USER: Final = 16
"""Children that wait for a dead file system can't be killed; they must not use up the machine."""
_MAX_DATAGRAM: Final = 64 * 1024


def start_spawner() -> socket.socket:
    """Fork the spawner; returns this side's control socket. Call it before any thread exists."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    if os.fork():
        theirs.close()
        return ours
    ours.close()
    # The server decides when the spawner ends: by closing the control socket.
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    status = 1
    try:
        _Spawner(theirs).run()
        status = 0
    finally:
        os._exit(status)


def hand_over(control: socket.socket, work: Work, answer: socket.socket) -> None:
    """Send `work` and the answer's socket to the spawner.

    Raises
    ------
    Unavailable
        The spawner is gone, or the request is larger than a datagram.
    """
    try:
        socket.send_fds(control, [msgpack.packb(work.as_map(), use_bin_type=True)], [answer.fileno()])
    except OSError as error:
        raise Unavailable(
            f"the file-agent can't start a reader ({error.strerror})", part="file-agent"
        ) from error


class _Spawner:
    def __init__(self, control: socket.socket) -> None:
        self._control = control
        self._children: dict[int, int] = {}
        """pid to uid of the children that are not known to have ended."""

    def run(self) -> None:
        while True:
            body, files, _flags, _address = socket.recv_fds(self._control, _MAX_DATAGRAM, 1)
            if not body:
                return
            if not files:  # the descriptor table is full; the asker's end is closed and it hears "try again"
                continue
            with socket.socket(fileno=files[0]) as answer:
                self._serve(Work.from_map(msgpack.unpackb(body, raw=False)), answer)

    def _serve(self, work: Work, answer: socket.socket) -> None:
        self._reap()
        if self._full(work.uid):
            _refuse(answer, f"too many reads of {work.user}'s files wait for the file system; try again")
            return
        try:
            pid = os.fork()
        except OSError as error:
            _refuse(answer, f"the file-agent can't start a reader ({error.strerror}); try again")
            return
        if pid:
            self._children[pid] = work.uid
            return
        try:
            self._control.close()
            carry_out(work, answer)
        finally:
            os._exit(0)

    def _full(self, uid: int) -> bool:
        return (
            len(self._children) >= MAX_CHILDREN
            or Counter(self._children.values())[uid] >= MAX_CHILDREN_PER_USER
        )

    def _reap(self) -> None:
        for pid in tuple(self._children):
            if os.waitpid(pid, os.WNOHANG)[0]:
                del self._children[pid]


def _refuse(answer: socket.socket, sentence: str) -> None:
    with contextlib.suppress(ConnectionLost):
        send_frame(answer, error_frame(Unavailable(sentence, part="file-agent")))
