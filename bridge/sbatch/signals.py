"""``--signal``: ``[R][B][:]NAME|NUMBER[@SECONDS]``, read as get_signal_opts() of proc_args.c does."""

from __future__ import annotations

from dataclasses import dataclass, replace
from signal import Signals
from typing import Final

from bridge.sbatch.ctext import SPACE, blank, lower
from bridge.sbatch.integers import strtol

DEFAULT_LEAD_S: Final = 60

_KNOWN: Final = (
    *("HUP", "INT", "QUIT", "ABRT", "KILL", "ALRM", "TERM", "CHLD", "USR1", "USR2", "PIPE", "URG"),
    *("CONT", "STOP", "TSTP", "TTIN", "TTOU", "XCPU"),
)
"""Names that Slurm knows; others must be given as numbers."""

_NUMBERS: Final = {name: int(Signals[f"SIG{name}"]) for name in _KNOWN}
_NAMES: Final = {number: name for name, number in _NUMBERS.items()}


@dataclass(frozen=True, slots=True)
class SignalAhead:
    """A signal before the end; `lead_s` seconds before it."""

    number: int
    lead_s: int
    batch: bool = False
    """Only to the batch shell (``B``)."""
    reservation: bool = False
    """Also for a job that overlaps with a reservation (``R``)."""

    def and_flags_of(self, earlier: SignalAhead | None) -> SignalAhead:
        """Add the flags of an earlier ``--signal``, as sbatch does: it never takes one back."""
        if earlier is None:
            return self
        return replace(
            self,
            batch=self.batch or earlier.batch,
            reservation=self.reservation or earlier.reservation,
        )

    def __str__(self) -> str:
        flags = "R" * self.reservation + "B" * self.batch
        return f"{flags}{':' * bool(flags)}{_NAMES.get(self.number, self.number)}@{self.lead_s}"


def signal_ahead(text: str) -> SignalAhead | None:
    """Read ``--signal``; None when it is not one."""
    rest = text
    flags = {"r": False, "b": False}
    for letter in "rbr":
        if lower(rest[:1]) == letter:
            flags[letter], rest = True, rest[1:]
    name, at, lead = rest.removeprefix(":").partition("@")
    number = signal_number(name) % 2**16
    lead_s, after = strtol(lead) if at else (DEFAULT_LEAD_S, "")
    if number < 1 or not 0 <= lead_s <= 0xFFFF or after:
        return None
    return SignalAhead(number, lead_s, flags["b"], flags["r"])


def signal_number(text: str) -> int:
    """Return the number of a signal given by number or name (``SIG`` optional); 0 when there is none."""
    value, rest = strtol(text)
    if rest != text:
        return value if blank(rest) else 0
    name = lower(text.strip(SPACE)).removeprefix("sig")
    return _NUMBERS.get(name.upper(), 0)
