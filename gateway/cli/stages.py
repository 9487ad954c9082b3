"""Stages of ``sluice test``: one command each, its output in a log, its counts from JUnit.

What flows in: commands. What flows out: `Outcome`s. What doesn't belong here: which stages there are
(`gateway.cli.test`).
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final
from xml.etree import ElementTree

from rich.console import Console

HEARTBEAT_S: Final = 20.0
"""Between two signs of life where no terminal shows a moving line (CI)."""

ENDING: Final = "short test summary info"


@dataclass(frozen=True, slots=True)
class Stage:
    """One step of the run: a command and, when it is a suite, where its JUnit file will be."""

    name: str
    argv: tuple[str, ...]
    is_suite: bool = False


@dataclass(frozen=True, slots=True)
class Counts:
    """Tests of a suite by outcome; `reasons` are the skipped ones' words with how often."""

    passed: int = 0
    failed: int = 0
    skipped: int = 0
    reasons: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a stage ended; `seconds` is its own wall time."""

    stage: Stage
    returncode: int
    seconds: float
    log: Path
    counts: Counts | None = None

    @property
    def good(self) -> bool:
        """Whether the run may go on. pytest's 5, nothing collected, is no success of a suite."""
        return self.returncode == 0


class Running:
    """A stage that runs: started at once, ended by `wait` or `stop`; its children end with it."""

    def __init__(self, stage: Stage, *, logs: Path, cwd: Path, environment: Mapping[str, str]) -> None:
        self.stage = stage
        self.log = logs / f"{stage.name}.log"
        self.junit = logs / f"{stage.name}.xml"
        self.junit.unlink(missing_ok=True)
        argv = [*stage.argv, *([f"--junit-xml={self.junit}"] if stage.is_suite else [])]
        self._began = time.monotonic()
        self._ended = self._began
        with self.log.open("wb") as output:
            output.write(f"$ {' '.join(argv)}\n".encode())
            output.flush()
            self._process = subprocess.Popen(
                argv,
                cwd=cwd,
                env=dict(os.environ, **environment),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        self._watcher = threading.Thread(target=self._note_end, daemon=True)
        self._watcher.start()

    def _note_end(self) -> None:
        self._process.wait()
        self._ended = time.monotonic()

    def wait(self, console: Console) -> Outcome:
        """Wait for the end, showing what it does."""
        heard = time.monotonic()
        with console.status(f"{self.stage.name} ...") as status:
            while self._watcher.is_alive():
                self._watcher.join(timeout=0.5)
                last = last_line(self.log)
                status.update(
                    f"{self.stage.name} {self.seconds:.0f} s  [dim]{_plain(last, console.width)}[/dim]"
                )
                if not console.is_terminal and time.monotonic() - heard > HEARTBEAT_S:
                    heard = time.monotonic()
                    console.print(
                        f"  {self.stage.name} {self.seconds:.0f} s: {_plain(last, console.width)}",
                        highlight=False,
                    )
        counts = read_junit(self.junit) if self.stage.is_suite else None
        return Outcome(self.stage, self._process.returncode, self.seconds, self.log, counts)

    @property
    def seconds(self) -> float:
        """Wall time so far, or of the whole stage."""
        return (time.monotonic() if self._watcher.is_alive() else self._ended) - self._began

    def stop(self) -> None:
        """End the stage: first kindly, after 20 s for certain; then what is left of its children."""
        if self._watcher.is_alive():
            self._signal(signal.SIGINT)
            self._watcher.join(timeout=20)
        self._signal(signal.SIGKILL)
        self._watcher.join()

    def _signal(self, number: signal.Signals) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, number)


def _plain(text: str, width: int) -> str:
    """Keep a line of somebody's output from being read as markup, and from wrapping."""
    return text[: max(20, width - 30)].replace("[", "\\[")


def last_line(log: Path) -> str:
    """Return the last line with words in it; at most the last 4 KiB are read."""
    return next((line for line in reversed(tail(log, 4096)) if line.strip()), "").strip()


def tail(log: Path, size: int) -> list[str]:
    """Return the lines in the last `size` bytes of a log."""
    with log.open("rb") as source:
        source.seek(max(0, log.stat().st_size - size))
        return source.read().decode(errors="replace").splitlines()


def closing_lines(log: Path) -> list[str]:
    """Return what pytest says at its end: the summary of what didn't pass, and the counts."""
    lines = tail(log, 64 * 1024)
    begins = [index for index, line in enumerate(lines) if ENDING in line]
    if begins:
        return lines[begins[-1] :]
    return [line for line in lines if line.strip()][-1:]


def read_junit(path: Path) -> Counts | None:
    """Return a suite's counts; None when pytest didn't get as far as writing them."""
    try:
        suites = ElementTree.parse(path).getroot().iter("testsuite")  # noqa: S314 - our own pytest wrote it
        cases = [case for suite in suites for case in suite.iter("testcase")]
    except (OSError, ElementTree.ParseError):
        return None
    bad = [case for case in cases if case.find("failure") is not None or case.find("error") is not None]
    skips = [skip for case in cases if (skip := case.find("skipped")) is not None]
    reasons: dict[str, int] = {}
    for skip in skips:
        words = skip.get("message") or "no reason given"
        reasons[words] = reasons.get(words, 0) + 1
    return Counts(len(cases) - len(bad) - len(skips), len(bad), len(skips), reasons)


def container_tails(stack: str, label: str, *, lines: int, into: Path) -> Sequence[Path]:
    """Save the end of each container's log of a stack; returns the files, none without Docker."""
    listed = _docker("ps", "-a", "--filter", f"label={label}={stack}", "--format", "{{.Names}}")
    saved: list[Path] = []
    for name in listed.split():
        path = into / f"container-{name}.log"
        path.write_text(_docker("logs", "--tail", str(lines), name), encoding="utf-8")
        saved.append(path)
    return saved


def _docker(*arguments: str) -> str:
    try:
        done = subprocess.run(
            ["docker", *arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False, timeout=60
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.decode(errors="replace")
