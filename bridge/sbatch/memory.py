"""Memory and disk sizes as sbatch reads them: MiB by default, ``K M G T`` with or without a ``B``.

The rules are str_to_mbytes() of src/common/proc_args.c: decimal integers, kibibytes rounded up.
"""

from __future__ import annotations

from typing import Final

from bridge.sbatch.ctext import lower
from bridge.sbatch.integers import LONG_MAX, round_up, strtol

_FACTOR: Final = {"": 1, "m": 1, "g": 1024, "t": 1024**2}
_UNITS: Final = ("G", "T")


def mebibytes(text: str) -> int | None:
    """Read a size in MiB; None when it is not one (no number, negative, unknown unit)."""
    value, rest = strtol(text)
    if rest == text or not 0 <= value < LONG_MAX:
        return None
    unit = lower(rest)
    if len(unit) == 2 and unit[1] == "b":
        unit = unit[0]
    if unit == "k":
        return round_up(value, 1024)
    factor = _FACTOR.get(unit)
    return None if factor is None else value * factor % 2**64


def text_of(size_mib: int) -> str:
    """Write MiB with the largest unit that divides it; `mebibytes` reads it back."""
    text = f"{size_mib}"
    for unit in _UNITS:
        if size_mib == 0 or size_mib % 1024:
            break
        size_mib //= 1024
        text = f"{size_mib}{unit}"
    return text
