"""Worker children that call libslurm: started ahead, replaced when they die or don't answer in time.

In: an operation of `bridge.agent.native_child` and its arguments. Out: its answer, or Sluice's errors.
A call takes an idle child for itself (libslurm is not made for threads); when its deadline is over the
child is killed, since libslurm's own retries can't be interrupted. What doesn't belong here: pyslurm.
"""

from __future__ import annotations

import contextlib
import os
import queue
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import structlog

from bridge.errors import OutcomeUnknown, Unavailable
from bridge.slurm.errnos import error_of
from bridge.wire import ConnectionLost, raise_error, receive_frame, send_frame

START_S: Final = 20.0
_CHILD: Final = "bridge.agent.native_child"
_log = structlog.get_logger(__name__)


@dataclass(slots=True)
class Worker:
    """One child process and our end of its socket."""

    process: subprocess.Popen[bytes]
    sock: socket.socket
    stderr: int
    """Memory file that is the child's stderr; read when it dies."""

    def last_words(self) -> str:
        """Return what the child wrote and nobody took: why it died."""
        size = os.lseek(self.stderr, 0, os.SEEK_END)
        return os.pread(self.stderr, min(size, 4096), max(0, size - 4096)).decode(errors="replace").strip()

    def kill(self) -> None:
        """End the child and free what it held."""
        self.process.kill()
        self.process.wait()
        self.sock.close()
        os.close(self.stderr)


class NativePool:
    """A fixed number of children, one call each at a time; thread-safe.

    Parameters
    ----------
    workers
        Number of children; a submit is CPU-bound in slurmctld, so few are enough.
    module
        What a child runs (tests give another).
    """

    def __init__(self, workers: int = 2, *, module: str = _CHILD) -> None:
        self.module = module
        self.version = ""
        """pyslurm's version, once a child has started."""
        self.restarts = 0
        self._idle: queue.LifoQueue[Worker | None] = queue.LifoQueue()
        self._closing = False
        self._counter = threading.Lock()
        for _ in range(workers):
            self._idle.put(None)

    def call(
        self, op: str, args: Mapping[str, Any], *, deadline_s: float, write: bool
    ) -> tuple[Any, list[str]]:
        """Call in a child.

        Returns
        -------
        tuple
            The answer, and the lines that libslurm wrote beside it.

        Raises
        ------
        Unavailable
            No child was free or could start, or (for reads) none answered in `deadline_s` seconds.
        OutcomeUnknown
            A write was sent and the child died or didn't answer in time.
        SlurmRefused, NotFound
            Slurm's own refusal; what job_submit.lua said stands before Slurm's words.
        """
        until = time.monotonic() + deadline_s
        worker = self._take(until)
        try:
            worker.sock.settimeout(max(until - time.monotonic(), 0.05))
            send_frame(worker.sock, {"op": op, "args": dict(args)})
            frame = receive_frame(worker.sock)
        except (ConnectionLost, TimeoutError) as error:
            raise self._lost(worker, op, error, write=write) from error
        except BaseException:
            self._replace(worker)
            raise
        if frame is None:
            raise self._lost(worker, op, ConnectionLost("ended"), write=write)
        self._idle.put(worker)
        said = list(frame["said"])
        if "error" in frame:
            raise_error(frame["error"])
        if "failed" in frame:
            failed = frame["failed"]
            raise error_of(failed["errno"], _words(said, failed["words"]), write=write)
        return frame["done"], said

    def close(self) -> None:
        """End all idle children; a busy one ends with its call."""
        self._closing = True
        with contextlib.suppress(queue.Empty):
            while True:
                worker = self._idle.get_nowait()
                if worker is not None:
                    worker.kill()

    def _take(self, until: float) -> Worker:
        try:
            worker = self._idle.get(timeout=max(until - time.monotonic(), 0.0))
        except queue.Empty as error:
            raise Unavailable("all native workers wait for slurmctld", part="native") from error
        if worker is not None and worker.process.poll() is None:
            return worker
        if worker is not None:
            _log.warning("native worker died while idle", words=worker.last_words())
            worker.kill()
            self._count()
        try:
            return self._start(until)
        except BaseException:
            self._idle.put(None)
            raise

    def _start(self, until: float) -> Worker:
        ours, theirs = socket.socketpair()
        stderr = os.memfd_create("native-stderr")
        with theirs:
            process = subprocess.Popen(
                [sys.executable, "-m", self.module],
                stdin=theirs.fileno(),
                stdout=subprocess.DEVNULL,
                stderr=stderr,
                env=_environment(),
            )
        worker = Worker(process, ours, stderr)
        try:
            ours.settimeout(min(START_S, max(until - time.monotonic(), 1.0)))
            hello = receive_frame(ours)
            if hello is None:
                raise ConnectionLost("ended at start")
        except (ConnectionLost, TimeoutError) as error:
            words = worker.last_words()
            worker.kill()
            raise Unavailable(f"a native worker can't start: {words or error}", part="native") from error
        self.version = hello["pyslurm"]
        return worker

    def _lost(self, worker: Worker, op: str, error: Exception, *, write: bool) -> Unavailable:
        late = isinstance(error, TimeoutError)
        _log.warning("native worker lost", op=op, late=late, words=worker.last_words())
        self._replace(worker)
        what = "gave no answer in time" if late else "ended in the middle"
        sentence = f"slurmctld's answer to {op} is missing: the native worker {what}"
        return (OutcomeUnknown if write else Unavailable)(sentence, part="slurmctld")

    def _replace(self, worker: Worker) -> None:
        worker.kill()
        self._count()
        if not self._closing:
            self._idle.put(None)

    def _count(self) -> None:
        with self._counter:
            self.restarts += 1


def _words(said: list[str], words: str) -> str:
    return f"{' '.join(said)} ({words})" if said else words


def _environment() -> dict[str, str]:
    kept = ("PATH", "PYTHONPATH", "SLURM_CONF", "TZ", "LANG", "LC_ALL")
    return {name: os.environ[name] for name in kept if name in os.environ}
