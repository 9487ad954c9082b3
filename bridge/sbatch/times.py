"""Durations as sbatch reads them: ``90``, ``1:30``, ``2:00:00``, ``1-12``, ``infinite``.

The rules and the arithmetic are time_str2secs() and time_str2mins() of src/common/parse_time.c: ints of
32 bits, so that very long or negative times wrap instead of being refused (seen: ``--time=-5`` becomes
4294960097 minutes).
"""

from __future__ import annotations

import re
from typing import Final

from bridge.job import UNLIMITED, Minutes
from bridge.sbatch.ctext import lower
from bridge.sbatch.integers import int32, round_up, strtol, uint32

_UNLIMITED_WORDS: Final = ("-1", "infinite", "unlimited")
_INFINITE: Final = -1
_NOT_SET: Final = -2
_SPEC = re.compile(r"[0-9:-]*[0-9][0-9:-]*")
_WITH_DAYS = re.compile(r"(-?[0-9]+)(?:-([0-9]+)(?::([0-9]+)(?::([0-9]+))?)?)?")
_DIGIT_GROUPS = re.compile(r"[0-9]+")


def seconds(text: str) -> int | None:
    """Read a duration in seconds, -1 for no limit; None when it is not one.

    The value is a signed 32-bit int, as sbatch's is.
    """
    if lower(text) in _UNLIMITED_WORDS:
        return _INFINITE
    if not _valid(text):
        return None
    if "-" in text:
        match = _WITH_DAYS.match(text)
        fields = [_field(part) for part in match.groups()] if match else [0, 0, 0, 0]
        return _present(fields[0] * 86400 + fields[1] * 3600 + fields[2] * 60 + fields[3])
    fields = [_field(part) for part in text.split(":")]
    if len(fields) == 3:
        return _present(fields[0] * 3600 + fields[1] * 60 + fields[2])
    return _present(fields[0] * 60 + (fields[1] if len(fields) == 2 else 0))


def minutes(text: str) -> Minutes | None:
    """Read a time limit in whole minutes, rounded up; None when it is not one. 0 means no limit."""
    length_s = seconds(text)
    if length_s is None:
        return None
    if length_s == _INFINITE:
        return UNLIMITED
    length_min = round_up(int32(length_s + 59) - 59, 60)
    if length_min == _NOT_SET:
        return None
    return UNLIMITED if length_min in (0, _INFINITE) else uint32(length_min)


def text_of(length_min: Minutes) -> str:
    """Write minutes as Slurm does: ``UNLIMITED``, ``01:30:00``, ``1-00:00:00``; `minutes` reads it back."""
    if length_min == UNLIMITED:
        return UNLIMITED
    assert isinstance(length_min, int)  # noqa: S101 -- narrows the literal away
    days, rest = divmod(length_min, 1440)
    clock = f"{rest // 60:02}:{rest % 60:02}:00"
    return f"{days}-{clock}" if days else clock


def _valid(text: str) -> bool:
    if not _SPEC.fullmatch(text):
        return False
    dashes, colons = text.count("-"), text.count(":")
    if dashes > 1 or colons > 2 or (colons and "-" in text[text.index(":") :]):
        return False
    groups = len(_DIGIT_GROUPS.findall(text))
    return not colons or groups > colons + dashes


def _field(digits: str | None) -> int:
    return int32(strtol(digits)[0]) if digits else 0


def _present(length_s: int) -> int | None:
    wrapped = int32(length_s)
    return None if wrapped == _NOT_SET else wrapped
