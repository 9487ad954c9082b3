"""Use that fades with a half-life, exact over any steps and over both planes.

Pure. Use is in GPU-seconds; at a constant `a` GPUs it tends to ``a * half-life / ln 2``, as Slurm's own
RawUsage does. How often it is brought up to date doesn't change it, so that two planes, looked at at
different moments, add up.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

HALF_LIFE: Final = timedelta(days=7)
"""Slurm's default PriorityDecayHalfLife."""


@dataclass(frozen=True, slots=True)
class DecayedUse:
    """Decayed GPU-seconds at one moment (aware UTC)."""

    gpu_seconds: float
    as_of: datetime

    def after(self, moment: datetime, gpus: float, half_life: timedelta = HALF_LIFE) -> DecayedUse:
        """Return the use at a later moment, `gpus` GPUs having been in use since.

        A moment before `as_of` changes nothing: clocks of two planes may differ a little.
        """
        passed_s = (moment - self.as_of).total_seconds()
        if passed_s <= 0:
            return self
        half_s = half_life.total_seconds()
        exponent = -math.log(2) * passed_s / half_s
        fresh = gpus * half_s / math.log(2) * -math.expm1(exponent)
        return DecayedUse(self.gpu_seconds * math.exp(exponent) + fresh, moment)

    def __add__(self, other: DecayedUse) -> DecayedUse:
        """Add two uses, the earlier one faded to the later moment."""
        latest = max(self.as_of, other.as_of)
        return DecayedUse(self.after(latest, 0).gpu_seconds + other.after(latest, 0).gpu_seconds, latest)


def steady_use(gpus: float, half_life: timedelta = HALF_LIFE) -> float:
    """Return the GPU-seconds that a constant use tends to."""
    return gpus * half_life.total_seconds() / math.log(2)


def use_factor(weight_share: float, use_share: float, k: float) -> float:
    """Return by what a tenant's weight is tilted for what it used.

    Parameters
    ----------
    weight_share, use_share
        Parts of all siblings' weights and of all siblings' decayed use, from 0 to 1.
    k
        0: use doesn't matter; 1: who used twice its share gets half of it. Between 0 and 1.

    Returns
    -------
    float
        Between 1/8 and 8: nobody is shut out by a busy week, nobody takes all after a quiet one.
    """
    if k <= 0 or weight_share <= 0:
        return 1.0
    ratio = weight_share / max(use_share, 1e-9)
    return float(min(8.0, max(1 / 8, ratio ** min(k, 1.0))))
