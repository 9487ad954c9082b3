"""Entries: what is written down of a run, never changed, and how their sum stays the run's present truth.

Pure. The first time a run has an end it gets charge entries (revision 0), one per line. Whenever a later
row says something else, the charge is reversed (the same figures, negative, over the same seconds) and
charged anew under the next revision. So the sum of a run's entries over any span of time is always what its
newest row says, and what was reported before can be explained entry by entry.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from gateway.ledger.amounts import NO_USAGE, Payer, Rates, Usage
from gateway.ledger.charge import Charge, RunKey


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One line of the ledger: rates that were held in [start_s, end_s)."""

    key: RunKey
    revision: int
    reversal: bool
    payer: Payer
    start_s: int
    end_s: int
    suspended_s: int
    """Seconds of the run in which its CPUs were released (GPUs and memory are not)."""
    runs: int
    rates: Rates
    job_id: int
    name: str
    state: str

    def within(self, lo_s: int, hi_s: int) -> Usage:
        """Return the part in [lo_s, hi_s); parts of any partition add up to the whole, to the second.

        A run counts in each span in which it held something; one that began and ended in the same second
        counts where it began.
        """
        touches = max(self.start_s, lo_s) < min(self.end_s, hi_s)
        began_here = self.start_s == self.end_s and lo_s <= self.start_s < hi_s
        if not touches and not began_here:
            return NO_USAGE
        return self.usage(lo_s, hi_s) + Usage(runs=self.runs)

    def usage(self, lo_s: int, hi_s: int) -> Usage:
        """Return the TRES-seconds in [lo_s, hi_s), as of no run."""
        seconds = min(self.end_s, hi_s) - max(self.start_s, lo_s)
        if seconds <= 0:
            return NO_USAGE
        rates = self.rates
        return Usage(
            0,
            rates.gpus * seconds,
            rates.cpus * seconds - self.released_cpu_s(lo_s, hi_s),
            rates.memory_mib * seconds,
            rates.nodes * seconds,
            rates.billing * seconds,
        )

    def released_cpu_s(self, lo_s: int, hi_s: int) -> int:
        """Return the CPU-seconds in [lo_s, hi_s) that the run gave back while it was suspended."""
        if not self.suspended_s:
            return 0
        start_s, end_s = max(self.start_s, lo_s), min(self.end_s, hi_s)
        return self.rates.cpus * (self._suspended_until(end_s) - self._suspended_until(start_s))

    def _suspended_until(self, moment_s: int) -> int:
        # Accounting has the sum of the suspended seconds, not when they were: they are spread evenly.
        # Rounding down the running total, not each part, is what makes the parts add up.
        length_s = self.end_s - self.start_s
        return self.suspended_s * (moment_s - self.start_s) // length_s if length_s else 0


def settle(present: Sequence[Entry], charge: Charge | None) -> tuple[Entry, ...]:
    """Return the entries that make `charge` the truth.

    Parameters
    ----------
    present
        All entries of the run so far, in any order.
    charge
        What its newest row says; None, or a charge without end, means that nothing is final (any more).

    Returns
    -------
    tuple
        Empty when the truth is written already, else reversals of what stands and the new charge.
    """
    standing = standing_of(present)
    following = 1 + max((entry.revision for entry in present), default=-1)
    wanted = () if charge is None or charge.end_s is None else entries_of(charge, revision=following)
    if _figures(standing) == _figures(wanted):
        return ()
    return (*(reversal_of(entry) for entry in standing), *wanted)


def entries_of(charge: Charge, *, revision: int = 0, end_s: int | None = None) -> tuple[Entry, ...]:
    """Return a charge as entries; `end_s` stands in for the end of a run that has none.

    Raises
    ------
    ValueError
        Neither has an end.
    """
    until_s = charge.end_s if charge.end_s is not None else end_s
    if until_s is None:
        raise ValueError(f"{charge.key} has no end")
    return tuple(
        Entry(
            key=charge.key,
            revision=revision,
            reversal=False,
            payer=line.payer,
            start_s=charge.start_s,
            end_s=until_s,
            suspended_s=min(charge.suspended_s, until_s - charge.start_s),
            runs=line.runs,
            rates=line.rates,
            job_id=charge.job_id,
            name=charge.name,
            state=charge.state,
        )
        for line in charge.lines
    )


def standing_of(entries: Iterable[Entry]) -> tuple[Entry, ...]:
    """Return the charge entries of a run that no reversal has taken back."""
    known = tuple(entries)
    reversed_ = {entry.revision for entry in known if entry.reversal}
    return tuple(entry for entry in known if not entry.reversal and entry.revision not in reversed_)


def reversal_of(entry: Entry) -> Entry:
    """Return the entry that takes `entry` back, wherever time is cut."""
    # suspended_s stays: it is multiplied by the CPUs, which are negative.
    return replace(entry, reversal=True, runs=-entry.runs, rates=-entry.rates)


def balance(entries: Iterable[Entry], lo_s: int, hi_s: int) -> dict[Payer, Usage]:
    """Return the sum by payer in [lo_s, hi_s), payers without anything left out.

    The plain definition of a report; `gateway.ledger.sweep` computes the same faster.
    """
    sums: dict[Payer, Usage] = {}
    for entry in entries:
        sums[entry.payer] = sums.get(entry.payer, NO_USAGE) + entry.within(lo_s, hi_s)
    return {payer: usage for payer, usage in sums.items() if usage}


def _figures(entries: Iterable[Entry]) -> frozenset[tuple[object, ...]]:
    """What must be equal for two sets of entries to mean the same charge: all but names and states."""
    return frozenset(
        (entry.payer, entry.start_s, entry.end_s, entry.suspended_s, entry.runs, entry.rates)
        for entry in entries
    )
