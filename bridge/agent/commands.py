"""Slurm's own commands, where neither libslurm nor slurmrestd does: sacct as a stream, two settings.

A child process has a clean environment, is killed when its output is no longer wanted or is late, and
its stderr is only shown, never interpreted. What doesn't belong here: the reading of the output (`sacct`).
"""

from __future__ import annotations

import codecs
import os
import re
import secrets
import selectors
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import IO, Final

from bridge.agent import sacct
from bridge.errors import OutcomeUnknown, SlurmRefused, Unavailable
from bridge.job import AccountingRow

_CHUNK: Final = 256 * 1024
_BELIEVED_S: Final = 60.0
_ROOT_ONLY: Final = re.compile(r"^PartitionName=(\S+) .*\bRootOnly=YES", re.MULTILINE)
_GRES_TYPES: Final = re.compile(r"^GresTypes\s*=\s*(\S+)", re.MULTILINE)
_ENVIRONMENT: Final = {
    "PATH": "/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin",
    "TZ": "UTC",
    "LC_ALL": "C.UTF-8",
    "SLURM_TIME_FORMAT": "%s",
}


class Commands:
    """Runs Slurm's commands.

    Parameters
    ----------
    stream_s
        Longest wait for the next piece of sacct's output.
    deadline_s
        Longest run of any other command.
    """

    def __init__(self, *, stream_s: float = 120.0, deadline_s: float = 15.0) -> None:
        self._stream_s = stream_s
        self._deadline_s = deadline_s
        self._root_only: tuple[float, frozenset[str]] = (float("-inf"), frozenset())

    def accounting(self, *, start: datetime, end: datetime) -> Iterator[AccountingRow]:
        """Stream all rows that were eligible, pending or running in [start, end)."""
        return self._rows(["--starttime", sacct.moment(start), "--endtime", sacct.moment(end)])

    def accounting_of(self, job_id: int) -> list[AccountingRow]:
        """Return all rows that ever had this number."""
        return list(self._rows(["--jobs", str(job_id), "--starttime", "1970-01-02T00:00:00"]))

    def gres_types(self) -> frozenset[str] | None:
        """Return GresTypes of slurmctld's configuration; None when it doesn't say so now."""
        try:
            said = self._run(["scontrol", "show", "config"], part="slurmctld")
        except (OutcomeUnknown, SlurmRefused):
            return None
        found = _GRES_TYPES.search(said)
        return None if found is None else frozenset(found[1].split(",")) - {"(null)"}

    def root_only_partitions(self) -> frozenset[str]:
        """Return the partitions that root alone may use, as of a minute ago at most."""
        until, known = self._root_only
        if time.monotonic() >= until:
            said = self._run(["scontrol", "-o", "show", "partition"], part="slurmctld")
            known = frozenset(_ROOT_ONLY.findall(said))
            self._root_only = (time.monotonic() + _BELIEVED_S, known)
        return known

    def clear_preempt(self, qos: str) -> None:
        """Take every QOS from a QOS's preempt list; slurmrestd ignores an empty list."""
        self._run(["sacctmgr", "--immediate", "modify", "qos", qos, "set", "preempt="], part="slurmdbd")

    def requeue(self, job_id: int, *, hold: bool) -> None:
        """Requeue as SlurmUser; slurmrestd before v0.0.45 has no way."""
        self._run(["scontrol", "requeuehold" if hold else "requeue", str(job_id)], part="slurmctld")

    def set_partition_accounts(self, partition: str, accounts: Sequence[str]) -> None:
        """Set AllowAccounts, for an agent without libslurm; slurmrestd has no partition update."""
        wanted = ",".join(accounts) or "root"
        words = ["scontrol", "update", f"PartitionName={partition}", f"AllowAccounts={wanted}"]
        self._run(words, part="slurmctld")

    def _rows(self, words: Sequence[str]) -> Iterator[AccountingRow]:
        # A printable mark: sacct may escape control characters.
        delimiter = f"|{secrets.token_hex(8)}|"
        pieces = self._stream(["sacct", *sacct.arguments(delimiter), *words], part="slurmdbd")
        return sacct.rows(pieces, delimiter)

    def _stream(self, words: Sequence[str], *, part: str) -> Iterator[str]:
        with tempfile.TemporaryFile() as stderr:
            process = subprocess.Popen(
                words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=stderr, env=_environment()
            )
            try:
                if process.stdout is None:  # pragma: no cover - PIPE was asked for
                    return
                yield from self._pieces(process.stdout.fileno(), words[0], part)
                if process.wait(self._deadline_s):
                    raise Unavailable(
                        f"{words[0]} failed: {_last_line(stderr)}", part=part, exit=process.returncode
                    )
            finally:
                process.kill()
                process.wait()
                if process.stdout is not None:
                    process.stdout.close()

    def _pieces(self, fd: int, command: str, part: str) -> Iterator[str]:
        decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
        with selectors.DefaultSelector() as selector:
            selector.register(fd, selectors.EVENT_READ)
            while True:
                if not selector.select(self._stream_s):
                    sentence = f"{command} gave nothing for {self._stream_s:g} s"
                    raise Unavailable(sentence, part=part)
                chunk = os.read(fd, _CHUNK)
                if not chunk:
                    return
                yield decoder.decode(chunk)

    def _run(self, words: Sequence[str], *, part: str) -> str:
        begun = time.monotonic()
        try:
            done = subprocess.run(
                words,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                env=_environment(),
                timeout=self._deadline_s,
                check=False,
            )
        except subprocess.TimeoutExpired as error:
            waited = time.monotonic() - begun
            raise OutcomeUnknown(f"{words[0]} gave no answer in {waited:.0f} s", part=part) from error
        if done.returncode:
            said = (
                done.stderr.decode(errors="replace").strip() or done.stdout.decode(errors="replace").strip()
            )
            raise SlurmRefused(f"{words[0]}: {said}", errno=-1)
        return done.stdout.decode(errors="replace")


def _environment() -> dict[str, str]:
    own = {"SLURM_CONF": os.environ["SLURM_CONF"]} if "SLURM_CONF" in os.environ else {}
    return _ENVIRONMENT | own


def _last_line(stderr: IO[bytes]) -> str:
    stderr.seek(0)
    lines = stderr.read().decode(errors="replace").strip().splitlines()
    return lines[-1] if lines else "no reason given"
