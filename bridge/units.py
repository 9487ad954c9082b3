"""Units at Slurm's borders: minutes, MiB, TRES counts, epochs.

Pure. Inside Sluice times are aware UTC and durations `timedelta`; these functions are the only places
where Slurm's integers become such values and back.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Final

INFINITE: Final = 0xFFFFFFFF
"""slurm.h INFINITE: "no limit" in 32-bit fields."""
NO_VAL: Final = 0xFFFFFFFE
"""slurm.h NO_VAL: "not set" in 32-bit fields."""
NO_VAL16: Final = 0xFFFE
"""slurm.h NO_VAL16: "not set" in 16-bit fields."""

_MEM_FACTOR: Final = {"K": 1 / 1024, "M": 1, "G": 1024, "T": 1024**2, "P": 1024**3}


def from_epoch(seconds: int | None) -> datetime | None:
    """Turn Slurm's epoch into aware UTC; 0, NO_VAL and INFINITE mean "not known" and give None."""
    if seconds is None or seconds in (0, NO_VAL, INFINITE):
        return None
    return datetime.fromtimestamp(seconds, UTC)


def to_epoch(moment: datetime | None) -> int | None:
    """Return whole seconds since 1970 of an aware datetime, rounded down."""
    return None if moment is None else int(moment.timestamp())


def tres_counts(text: str) -> dict[str, int]:
    """Parse Slurm's TRES list ``cpu=8,mem=16G,node=1,gres/gpu:h100=2,billing=8``.

    Returns
    -------
    dict
        TRES name to count, in Slurm's order; ``mem`` in MiB (rounded up), all others plain counts.

    Raises
    ------
    ValueError
        An item without ``=`` or with a count that isn't a number.
    """
    counts: dict[str, int] = {}
    for item in filter(None, text.split(",")):
        name, sep, value = item.partition("=")
        if not sep:
            raise ValueError(f"TRES item {item!r} has no '='")
        counts[name] = _tres_count(name, value)
    return counts


def _tres_count(name: str, value: str) -> int:
    suffix = value[-1:].upper()
    if suffix in _MEM_FACTOR:
        number = float(value[:-1])
        if name in ("mem", "bb/datawarp", "fs/disk"):
            mib = number * _MEM_FACTOR[suffix]
            return int(mib) if mib == int(mib) else int(mib) + 1
        return int(number * _MEM_FACTOR[suffix] * 1024**2)
    return int(float(value))


def tres_text(counts: Mapping[str, int]) -> str:
    """Write counts as Slurm's TRES list, the inverse of `tres_counts` for whole MiB."""
    return ",".join(f"{name}={count}{'M' if name == 'mem' else ''}" for name, count in counts.items())


def gpu_count(tres: Mapping[str, int]) -> int:
    """Return the GPUs of a TRES mapping.

    ``gres/gpu`` is the total and includes the typed entries; when only typed entries are there (seen
    in sacct rows), they are summed.
    """
    if tres.get("gres/gpu"):
        return tres["gres/gpu"]
    return sum(count for name, count in tres.items() if name.startswith("gres/gpu:"))
