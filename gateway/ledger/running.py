"""Runs that have no end in accounting: running now, or forgotten (runaway).

Pure. slurmdbd can't tell the two apart; sreport and sacct count both up to now. Here a run is charged as
far as slurmctld itself last confirmed that it holds resources, and no further: what it is charged is
provisional until its end comes. A run that slurmctld didn't confirm for `RUNAWAY_AFTER_S` while accounting
went on is shown as a runaway beside the report.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from gateway.ledger.balance import Entry, entries_of
from gateway.ledger.charge import Charge, RunKey

RUNAWAY_AFTER_S: Final = 600
"""Longer than an end takes from slurmctld to slurmdbd and into the ledger when all of them run."""


@dataclass(frozen=True, slots=True)
class Running:
    """A run without end, and when slurmctld was last seen to have it (None: never)."""

    charge: Charge
    confirmed_s: int | None

    @property
    def until_s(self) -> int:
        """The second up to which it is charged."""
        return max(self.charge.start_s, self.confirmed_s or 0)

    def entries(self) -> tuple[Entry, ...]:
        """Return what it is charged so far, provisionally."""
        return entries_of(self.charge, end_s=self.until_s)

    def is_runaway(self, as_of_s: int) -> bool:
        """Whether accounting has gone on without slurmctld knowing the run."""
        return as_of_s - self.until_s > RUNAWAY_AFTER_S


def confirmed(runs: Iterable[Running], live: frozenset[int]) -> frozenset[RunKey]:
    """Return the runs that slurmctld has now.

    Parameters
    ----------
    live
        Job numbers of slurmctld's records that hold resources. Numbers are recycled, and a requeue or a
        lost end can leave an older row open: only the newest open row of a number is the live one.
    """
    newest: dict[tuple[str, int], Running] = {}
    for run in runs:
        number = (run.charge.key.cluster, run.charge.job_id)
        if run.charge.job_id in live and (number not in newest or _age(newest[number]) < _age(run)):
            newest[number] = run
    return frozenset(run.charge.key for run in newest.values())


def _age(run: Running) -> tuple[int, int, str]:
    index = run.charge.key.db_index
    return run.charge.start_s, len(index), index
