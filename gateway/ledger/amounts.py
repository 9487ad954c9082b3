"""What a run holds and what it used: exact integers with a sign, and who pays.

Pure. `Rates` are AllocTRES counts, `Usage` is counts times seconds; both add up and may be negative (a
reversal). Moments in the ledger are whole seconds since 1970 in UTC, as slurmdbd keeps them, so that a sum
over any partition of time is exact.
"""

from __future__ import annotations

from dataclasses import dataclass
from operator import add
from typing import Final, Self

DAY_S: Final = 86_400
"""Length of a UTC day; Slurm's seconds know no leap second."""


@dataclass(frozen=True, slots=True, order=True)
class Payer:
    """Who a part of a run is charged to; one line of the most detailed report."""

    tenant: str
    user: str
    job_class: str
    """Empty for a QOS that isn't Sluice's."""
    flavor: str
    """Kind of GPU, empty without GPUs."""
    door: str


@dataclass(frozen=True, slots=True)
class Rates:
    """Allocated counts that hold from the first to the last second of a run."""

    gpus: int = 0
    cpus: int = 0
    memory_mib: int = 0
    nodes: int = 0
    billing: int = 0

    def values(self) -> tuple[int, int, int, int, int]:
        """Return the counts in the order of the fields."""
        return self.gpus, self.cpus, self.memory_mib, self.nodes, self.billing

    def __add__(self, other: Self) -> Self:
        return type(self)(*map(add, self.values(), other.values()))

    def __neg__(self) -> Self:
        return type(self)(*(-value for value in self.values()))

    def __bool__(self) -> bool:
        return any(self.values())


NOTHING_HELD: Final = Rates()


@dataclass(frozen=True, slots=True)
class Usage:
    """TRES-seconds, and how many runs they are of."""

    runs: int = 0
    gpu_s: int = 0
    cpu_s: int = 0
    memory_mib_s: int = 0
    node_s: int = 0
    billing_s: int = 0

    def values(self) -> tuple[int, int, int, int, int]:
        """Return the TRES-seconds in the order of the fields, without the runs."""
        return self.gpu_s, self.cpu_s, self.memory_mib_s, self.node_s, self.billing_s

    def __add__(self, other: Self) -> Self:
        return type(self)(self.runs + other.runs, *map(add, self.values(), other.values()))

    def __neg__(self) -> Self:
        return type(self)(-self.runs, *(-value for value in self.values()))

    def __sub__(self, other: Self) -> Self:
        return self + -other

    def __bool__(self) -> bool:
        return bool(self.runs) or any(self.values())


NO_USAGE: Final = Usage()


def used(rates: Rates, seconds: int) -> Usage:
    """Return what `rates` make in `seconds`, as usage of no run of its own."""
    return Usage(0, *(value * seconds for value in rates.values()))
