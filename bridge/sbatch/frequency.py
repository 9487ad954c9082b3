"""``--cpu-freq``: ``MIN[-MAX[:GOVERNOR]]`` or a governor, as cpu_frequency.c of src/common checks it.

Slurm's defaults hold: governors OnDemand, Performance and UserSpace are allowed (CpuFreqGovernors), and
there is no default governor (CpuFreqDef). The text itself goes on as it was written.
"""

from __future__ import annotations

from typing import Final

from bridge.sbatch.ctext import lower
from bridge.sbatch.integers import strtoul
from bridge.sbatch.refusal import Refusal, bad_option

_GOVERNORS: Final = (
    *(("co", "conservative"), ("perf", "performance"), ("pow", "powersave")),
    *(("user", "userspace"), ("onde", "ondemand"), ("sche", "schedutil")),
)
_ALLOWED: Final = ("ondemand", "performance", "userspace")
_LEVELS: Final = (("lo", 1), ("him1", 4), ("highm1", 4), ("hi", 3), ("med", 2))
_LEVEL_BASE: Final = 0x80000000  # slurm.h CPU_FREQ_RANGE_FLAG
_NEEDS_GOVERNOR: Final = (
    "You must explicitly choose a governor when defining a range. Please specify only one value for the"
    " desired frequency (p1) or choose a specific governor (p3)."
)


def check(text: str) -> None:
    """Do nothing when `text` is a CPU frequency request.

    Raises
    ------
    Refusal
        When it is not, in sbatch's words.
    """
    spec, colon, third = text.partition(":")
    first, dash, second = spec.partition("-")
    governor = _governor(first)
    try:
        if governor and colon:
            raise _complaint(f"governor cannot be specified twice {first}{{-}}:{third} in --cpu-freq")
        low = 0 if governor else _frequency(first)
        if dash:
            _check_range(first, second, low=low, governed=bool(colon))
        if colon:
            governor = _check_governor(third, ranged=bool(dash))
        elif not governor and not dash:
            governor = "userspace"
    except Refusal as refusal:  # a governor that is not allowed is complained about all the same
        if not governor or governor in _ALLOWED:
            raise
        last = len(refusal.words) - 1
        raise bad_option(
            "Invalid --cpu-freq argument", *refusal.words[:last], _not_allowed(text), option="cpu-freq"
        ) from None
    if governor and governor not in _ALLOWED:
        raise bad_option("Invalid --cpu-freq argument", _not_allowed(text), option="cpu-freq")


def _not_allowed(text: str) -> str:
    return f"sbatch: error: governor of {text} is not allowed in slurm.conf"


def _check_range(first: str, second: str, *, low: int, governed: bool) -> None:
    if not governed:
        raise _complaint(_NEEDS_GOVERNOR)
    if _frequency(second) < low:
        raise _complaint(f"min cpu-frec ({first}) must be < max cpu-freq ({second})")


def _check_governor(text: str, *, ranged: bool) -> str:
    governor = _governor(text)
    if not governor:
        raise _complaint(f"illegal governor: {text} on --cpu-freq")
    if not ranged and governor != "userspace":
        raise _complaint(f"gov on cpu-frec ({text}) illegal without max")
    if ranged and governor == "userspace":
        raise _complaint(
            f"{text} governor does not support a range. Please specify only one value for the desired"
            " frequency (p1) or choose a different governor."
        )
    return governor


def _governor(text: str) -> str:
    word = lower(text)
    return next((name for start, name in _GOVERNORS if word.startswith(start)), "")


def _frequency(text: str) -> int:
    word = lower(text)
    for start, level in _LEVELS:
        if word.startswith(start):
            return _LEVEL_BASE + level
    value, rest = strtoul(text)
    if rest:
        raise _complaint(f'unrecognized --cpu-freq argument "{text}"')
    if value % 2**32 == 0:
        raise _complaint()
    return value % 2**32


def _complaint(message: str = "") -> Refusal:
    lines = (f"sbatch: error: {message}",) if message else ()
    return bad_option("Invalid --cpu-freq argument", *lines, option="cpu-freq")
