"""The waiting jobs after a change of the table: judged again, held with the reason, released when they may.

Does I/O, for `bridge.tenants.carry`; the decision is `bridge.policy.queued`'s. A table is judged for until a
pass after the one that brought it finds nothing left to do: jobs that slurmctld took by the table before, and
those that were running or held by somebody else, are met by a later pass.
"""

from __future__ import annotations

import hashlib
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Final

import structlog

from bridge.errors import NotFound, SlurmRefused
from bridge.policy.lua import render
from bridge.policy.queued import Judged, Step, judged
from bridge.policy.table import PolicyTable
from bridge.slurm.port import Slurm
from bridge.tenants.plan import Action
from bridge.tenants.source import replace_file
from bridge.wellknown import SLURM_UID

_log = structlog.get_logger(__name__)

STATE_FILE: Final = ".judged"
"""Beside the table: the digest of the rules that every waiting job was judged by."""
ADMINISTRATORS: Final = frozenset({0, SLURM_UID})


class Queue:
    """The jobs that slurmctld has.

    Parameters
    ----------
    folder
        That of the table.
    clock
        Aware UTC now.
    patience_s
        Seconds after which a pass leaves the rest to the next one: whoever applies a document waits for it.
    """

    def __init__(
        self, *, slurm: Slurm, folder: Path, clock: Callable[[], datetime], patience_s: float = 20.0
    ) -> None:
        self._slurm = slurm
        self._path = folder / STATE_FILE
        self._clock = clock
        self._patience_s = patience_s
        self._seen = ""

    def settle(self, table: PolicyTable) -> tuple[Action, ...]:
        """Hold and release what the table in force asks for; returns what was done, by tenant and rule."""
        digest = _digest(table)
        if self._settled_for() == digest:
            return ()
        # Before anything is done: a table that comes back must be judged for again.
        self._path.unlink(missing_ok=True)
        found = self._judged(table)
        done, until = [], time.monotonic() + self._patience_s
        for step in found.steps:
            if self._carried_out(step):
                done.append(step)
            if time.monotonic() >= until:
                break
        if found.settled and len(done) == len(found.steps) and self._seen == digest:
            replace_file(self._path, digest.encode())
        self._seen = digest
        return _actions(done)

    def foreseen(self, table: PolicyTable) -> tuple[Action, ...]:
        """Say what `settle` would do."""
        return () if self._settled_for() == _digest(table) else _actions(self._judged(table).steps)

    def _judged(self, table: PolicyTable) -> Judged:
        jobs = self._slurm.jobs()
        return judged(table, jobs, now=self._clock(), administrators=ADMINISTRATORS)

    def _carried_out(self, step: Step) -> bool:
        act = self._slurm.hold if step.hold else self._slurm.release
        try:
            act(step.job_id, note=step.note)
        except NotFound:
            return True  # it ended meanwhile
        except SlurmRefused as error:
            _log.info("a job could not be judged again", job_id=step.job_id, problem=error.message)
            return False
        return True

    def _settled_for(self) -> str:
        try:
            return self._path.read_text()
        except FileNotFoundError:
            return ""


def _digest(table: PolicyTable) -> str:
    # A maintenance makes a job wait by itself.
    return hashlib.sha256(render(replace(table, maintenance={})).encode()).hexdigest()


def _actions(steps: Sequence[Step]) -> tuple[Action, ...]:
    counts = Counter((step.hold, step.tenant, step.rule) for step in steps)
    return tuple(
        Action(
            "hold" if hold else "release",
            "job",
            tenant,
            f"{count} waiting {'job' if count == 1 else 'jobs'}{f' (rule {rule})' if rule else ''}",
        )
        for (hold, tenant, rule), count in sorted(counts.items())
    )
