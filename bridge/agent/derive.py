"""What sbatch works out from the options before it sends them; both ways send the same.

Pure. slurmctld would fill in other values by itself (e.g. CPUs from tasks that nobody named), and the
record would differ from sbatch's.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from signal import Signals
from typing import Final

from bridge.errors import InputError
from bridge.job import JobSpec

_SIGNAL: Final = re.compile(r"(?:(?P<flags>[RB]+):)?(?:SIG)?(?P<name>[A-Za-z0-9+\-]+?)(?:@(?P<time>\d+))?$")
DEFAULT_WARNING_S: Final = 60


@dataclass(frozen=True, slots=True)
class EndWarning:
    """``--signal`` in parts."""

    number: int
    before_s: int
    batch_only: bool
    overlap_reservation: bool


def minimum_cpus(spec: JobSpec) -> int:
    """Return ``min_cpus`` as sbatch sends it (slurm_opt_create_job_desc).

    What the parser worked out holds; else tasks that are not named count as one a node when the node
    count is exact, and as one otherwise.
    """
    if spec.cpus_min is not None:
        return spec.cpus_min
    if spec.overcommit:
        return max(spec.nodes_min or 1, 1)
    exact = spec.nodes_min is not None and spec.nodes_max in (None, spec.nodes_min)
    tasks = spec.ntasks
    if tasks is None:
        tasks = max(spec.nodes_min or 1, 1) if exact else 1
    return tasks * (spec.cpus_per_task or 1)


def warning(text: str) -> EndWarning:
    """Read ``[R][B]:NAME|NUMBER[@SECONDS]``; raises `InputError` for a signal that doesn't exist."""
    match = _SIGNAL.match(text)
    number = _number(match["name"]) if match else None
    if match is None or number is None:
        raise InputError(f"--signal={text} names no signal; write it like B:USR1@60", field="signal")
    flags = match["flags"] or ""
    return EndWarning(
        number=number,
        before_s=int(match["time"] or DEFAULT_WARNING_S),
        batch_only="B" in flags,
        overlap_reservation="R" in flags,
    )


def _number(name: str) -> int | None:
    if name.isdigit():
        return int(name)
    member = Signals.__members__.get(f"SIG{name.upper()}")
    return None if member is None else int(member)
