"""The gateway's answers, read once into small frozen dataclasses: a job, a piece of output, a command."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from bridge.job import FINISHED


@dataclass(frozen=True, slots=True)
class Job:
    """A job as the gateway shows it; `raw` is the whole of it, for ``--json``."""

    id: str
    number: str
    """What users of Slurm call it: ``17`` or ``17_3``."""
    name: str
    tenant: str
    user: str
    job_class: str
    state: str
    reason: str
    exit: str
    """``0``, ``7``, ``sig 9``, or empty while there is none."""
    door: str
    gpus: int
    nodes: str
    submitted_at: str
    started_at: str
    ended_at: str
    messages: tuple[str, ...]
    raw: Mapping[str, Any]

    @property
    def ended(self) -> bool:
        """Whether the run is over, its epilog included."""
        flags = {str(flag) for flag in self.raw.get("flags") or ()}
        return self.state in FINISHED and not flags & {"COMPLETING", "REQUEUED", "REQUEUE_HOLD"}

    @classmethod
    def read(cls, raw: Mapping[str, Any]) -> Self:
        """Read the gateway's JSON of a job."""
        text = {key: "" if value is None else str(value) for key, value in raw.items()}
        return cls(
            id=text["id"],
            number=_number(raw),
            name=text.get("name", ""),
            tenant=text.get("tenant", ""),
            user=text.get("user", ""),
            job_class=text.get("class", ""),
            state=text.get("state", "UNKNOWN"),
            reason=text.get("reason", ""),
            exit=_exit(raw),
            door=text.get("door", ""),
            gpus=int(raw.get("gpus") or 0),
            nodes=text.get("nodes", ""),
            submitted_at=text.get("submitted_at", ""),
            started_at=text.get("started_at", ""),
            ended_at=text.get("ended_at", ""),
            messages=tuple(str(message) for message in raw.get("messages") or ()),
            raw=raw,
        )


def _number(raw: Mapping[str, Any]) -> str:
    task = raw.get("array_task_id")
    if task is not None:
        return f"{raw.get('array_job_id') or raw.get('job_id')}_{task}"
    return str(raw.get("job_id") or "")


def _exit(raw: Mapping[str, Any]) -> str:
    if raw.get("signal"):
        return f"sig {raw['signal']}"
    code = raw.get("exit_code")
    return "" if code is None else str(code)


@dataclass(frozen=True, slots=True)
class Log:
    """A piece of a job's output: bytes as they are in the file, and where they lie in it."""

    data: bytes
    offset: int
    """Where the first byte lies."""
    size: int
    """Bytes of the whole file when it was read."""
    warning: str = ""
    """What is wrong with the file's disk."""


@dataclass(frozen=True, slots=True)
class CommandOutput:
    """What one of Slurm's commands said."""

    exit_code: int
    stdout: str
    stderr: str
