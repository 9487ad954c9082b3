"""``sbatch --wait`` and ``--test-only``: what is said, and the exit status."""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Iterator
from typing import Any, Final

from gateway.cli.answers import Job
from gateway.cli.client import Gateway

_FIRST_S: Final = 1.0
_LONGEST_S: Final = 10.0
"""Between two looks; sbatch itself looks after 2, 4, ... 10 s."""
_LIVE: Final = re.compile(
    r"PENDING|RUNNING|SUSPENDED|COMPLETING|CONFIGURING|REQUEUE|RESIZING|STOPPED|SIGNALING"
)
_RECORD: Final = re.compile(r"JobState=(\S+).*? ExitCode=(\d+):(\d+)")


def exit_status(gateway: Gateway, job: Job) -> int:
    """Wait until all of the job has ended; returns the highest exit code, 1 for an end by a signal."""
    number = job.number.partition("_")[0].partition("+")[0]
    pause_s = _FIRST_S
    while True:
        ends = list(_ends(gateway, number))
        if ends and not any(_LIVE.search(state) for state, _ in ends):
            return max(code for _, code in ends)
        time.sleep(pause_s)
        pause_s = min(pause_s * 2, _LONGEST_S)


def _ends(gateway: Gateway, number: str) -> Iterator[tuple[str, int]]:
    """Yield state and exit status of each record; from accounting when slurmctld has forgotten the job."""
    said = gateway.run_command("scontrol", ["-o", "show", "job", number], {})
    if said.exit_code == 0:
        for state, code, signal in _RECORD.findall(said.stdout):
            yield state, _status(int(code), int(signal))
        return
    kept = ["-X", "-n", "-P", "-o", "State,ExitCode", "-j", number]
    for row in gateway.run_command("sacct", kept, {}).stdout.splitlines():
        state, _, ended = row.partition("|")
        code, _, signal = ended.partition(":")
        yield state, _status(int(code or 0), int(signal or 0))


def _status(code: int, signal: int) -> int:
    return 1 if signal else code


def say_forecast(found: dict[str, Any]) -> int:
    """Say when and where each component would start, on standard error as sbatch does."""
    for job in found["components"]:
        if job["reason"] and not job["estimated_start"]:
            sys.stderr.write(f"allocation failure: {job['reason']}\n")
            return 1
        start = str(job["estimated_start"] or "").removesuffix("Z")
        where = f"nodes {job['nodes']} in partition {job['partition']}"
        sys.stderr.write(f"sbatch: Job to start at {start} a using {job['cpus']} processors on {where}\n")
    return 0
