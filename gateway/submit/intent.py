"""An intent: the durable promise that a submission was accepted, and what became of it.

Pure data. ``RECORDED`` -> ``SUBMITTED`` | ``FAILED`` | ``UNRESOLVED``; ``UNRESOLVED`` -> ``SUBMITTED`` |
``FAILED``. A closed intent never opens again: another try is another intent.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from bridge.job import JobSpec


class IntentState(StrEnum):
    """How far a submission has come."""

    RECORDED = "recorded"
    """On disk; Slurm is being asked, or the process died while it asked. Will be carried out."""
    UNRESOLVED = "unresolved"
    """Slurm was asked, no answer came, and the client was told so. Will be looked for, never repeated."""
    SUBMITTED = "submitted"
    """Slurm has the job."""
    FAILED = "failed"
    """No job, for certain; `Intent.error` says why."""


OPEN = (IntentState.RECORDED, IntentState.UNRESOLVED)


@dataclass(frozen=True, slots=True, kw_only=True)
class Intent:
    """One accepted submission."""

    id: str
    """A ULID; the job becomes ``job_<id>``."""
    user: str
    idempotency_key: str | None
    """None as well once the intent failed: the key is free for another try."""
    body_hash: str
    """sha256 of the request, hex."""
    cluster: str
    specs: tuple[JobSpec, ...]
    """The job, or the components of a heterogeneous one; empty once the intent is closed."""
    warnings: tuple[str, ...] = ()
    state: IntentState = IntentState.RECORDED
    job_id: int | None = None
    error: Mapping[str, object] | None = None
    """``code``, ``message``, ``details`` of the error that closed it."""
    created_at: datetime
    closed_at: datetime | None = None

    @property
    def open(self) -> bool:
        """Whether its outcome is still to be found."""
        return self.state in OPEN
