"""Runs Slurm's own commands (squeue, sacct, ...) on behalf of a user, for hosts that have none.

In: words that `bridge.agent.admission` judges, the user, variables such as SQUEUE_FORMAT. Out: what the
command printed and its exit status. It speaks to Slurm with a token of the user that lives for two
minutes, so that Slurm decides what is seen and done, PrivateData included; it can write no file, has no
input, and is ended when it is late or prints too much.
"""

from __future__ import annotations

import os
import re
import selectors
import shutil
import subprocess
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import IO, Final

from bridge.agent.admission import admitted
from bridge.errors import InputError, OutcomeUnknown, Unavailable
from bridge.slurm.port import CommandAnswer

TOKEN_S: Final = 120
LARGEST_BYTES: Final = 48 * 1024 * 1024
"""Of both outputs together; one frame of the wire has 64 MiB."""
AT_ONCE: Final = 8
_CHUNK: Final = 256 * 1024
_WRITES: Final = frozenset({"scancel", "scontrol"})
_PATH: Final = "/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin"
_VARIABLE: Final = re.compile(
    r"(SQUEUE|SACCT|SINFO|SCANCEL|SCONTROL|SSHARE|SPRIO)_[A-Z0-9_]+|SLURM_TIME_FORMAT"
)
"""Variables of the caller that these commands read as options."""


class UserCommands:
    """Runs commands, a few at a time.

    Parameters
    ----------
    token
        Makes a token of Slurm's for a user and so many seconds.
    deadline_s
        Longest run of a command.
    """

    def __init__(
        self, token: Callable[[str, int], str], *, deadline_s: float = 60.0, path: str = _PATH
    ) -> None:
        self._path = path
        self._token = token
        self._deadline_s = deadline_s
        self._places = threading.BoundedSemaphore(AT_ONCE)
        limits = shutil.which("prlimit")
        self._before = [limits, "--fsize=0", "--core=0", "--"] if limits else []

    def run(self, words: Sequence[str], *, user: str, variables: Mapping[str, str]) -> CommandAnswer:
        """Run one command as `user`.

        Raises
        ------
        InputError
            A word that isn't taken over HTTP, or more output than `LARGEST_BYTES`.
        Unavailable
            Too many are running.
        OutcomeUnknown
            It was late, and may have changed something.
        """
        argv = admitted(words, user)
        own = {name: value for name, value in variables.items() if _VARIABLE.fullmatch(name)}
        given = {name: os.environ[name] for name in ("SLURM_CONF", "TZ") if name in os.environ}
        token = {"SLURM_JWT": self._token(user, TOKEN_S)}
        environment = {"PATH": self._path, "LC_ALL": "C.UTF-8", "USER": user, **own, **given, **token}
        if not self._places.acquire(timeout=self._deadline_s):
            raise Unavailable(f"{AT_ONCE} commands run already; try again", part="slurm-agent")
        try:
            return self._answer(argv, environment)
        finally:
            self._places.release()

    def _answer(self, argv: Sequence[str], environment: Mapping[str, str]) -> CommandAnswer:
        process = subprocess.Popen(
            [*self._before, *argv],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=dict(environment),
            cwd="/",
        )
        try:
            out, err = self._outputs(process, argv[0])
            return CommandAnswer(exit_code=process.wait(), stdout=out, stderr=err)
        finally:
            process.kill()
            process.wait()
            for stream in filter(None, (process.stdout, process.stderr)):
                stream.close()

    def _outputs(self, process: subprocess.Popen[bytes], command: str) -> tuple[bytes, bytes]:
        until = time.monotonic() + self._deadline_s
        outputs: dict[IO[bytes], list[bytes]] = {
            stream: [] for stream in (process.stdout, process.stderr) if stream is not None
        }
        left = LARGEST_BYTES
        with selectors.DefaultSelector() as selector:
            for stream in outputs:
                selector.register(stream, selectors.EVENT_READ)
            while selector.get_map():
                ready = selector.select(max(0.0, until - time.monotonic()))
                if not ready:
                    raise _late(command, self._deadline_s)
                for key, _ in ready:
                    chunk = os.read(key.fd, _CHUNK)
                    left -= len(chunk)
                    if left < 0:
                        raise InputError(
                            f"{command} prints more than {LARGEST_BYTES} bytes; ask for less by its options"
                        )
                    if not chunk:
                        selector.unregister(key.fileobj)
                    outputs[key.fileobj].append(chunk)  # type: ignore[index]
        out, err = (b"".join(pieces) for pieces in outputs.values())
        return out, err


def _late(command: str, after_s: float) -> Unavailable:
    kind = OutcomeUnknown if command in _WRITES else Unavailable
    return kind(f"{command} did not end within {after_s:g} s", part="slurmctld")
