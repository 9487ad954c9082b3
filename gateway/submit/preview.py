"""What a submission would become: read, decided and judged by slurmctld like the real one, never made.

A refusal is the error that the submission itself would get.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import anyio.to_thread

from bridge.job import JobSpec
from bridge.policy.request import Decision
from bridge.sbatch import ParsedScript
from bridge.slurm.port import Forecast, Slurm
from gateway.directory import Directory
from gateway.principal import Principal
from gateway.submit.asked_by import within_limits
from gateway.submit.judge import judge_script
from gateway.submit.map import Submission
from gateway.submit.read import Reader


@dataclass(frozen=True, slots=True, kw_only=True)
class Expected:
    """One job, or one component of a heterogeneous one."""

    spec: JobSpec
    decision: Decision | None
    """None when the tenants' rules aren't known here: slurmctld judged by them all the same."""
    forecast: Forecast


@dataclass(frozen=True, slots=True, kw_only=True)
class Previewed:
    """What the parser made of the request, and what is expected of it."""

    parsed: ParsedScript
    expected: tuple[Expected, ...]


class Preview:
    """Judges submissions without making them."""

    def __init__(self, *, reader: Reader, directory: Directory, slurm: Slurm) -> None:
        self.reader = reader
        self._directory = directory
        self._slurm = slurm

    async def of(self, submission: Submission, *, user: str, caller: Principal | None = None) -> Previewed:
        """Judge a submission of `user`; `caller` is whose credential's limits hold.

        Raises
        ------
        ScriptError, PolicyRefused, SlurmRefused, Unsupported, InputError
            The submission would be refused with this.
        Unavailable
            slurmctld doesn't answer.
        """
        parsed = await self.reader.read(submission, user=user)
        parsed, decisions = await judge_script(self._directory, parsed, user=user)
        if caller is not None:
            within_limits(caller, parsed, decisions)
        found = []
        # As sbatch --test-only does it: each component by itself.
        for spec, decision in zip(parsed.specs, decisions, strict=True):
            forecast = await anyio.to_thread.run_sync(partial(self._slurm.forecast, spec, user=user))
            found.append(Expected(spec=spec, decision=decision, forecast=forecast))
        return Previewed(parsed=parsed, expected=tuple(found))
