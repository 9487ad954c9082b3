"""Moments as sbatch reads them for ``--begin`` and ``--deadline``.

``now+2hours``, ``today``, ``tomorrow``, ``noon``, ``teatime``, ``16:00``, ``4:00 PM``, ``MMDD[YY]``,
``MM/DD[/YY]``, ``YYYY-MM-DD[THH:MM[:SS]]``, ``uts1800000000``: parse_time() of src/common/parse_time.c,
which reads the parts from left to right, a later one replacing an earlier one, in the local zone; a time
alone is the next such time, a day without a year the next such day.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

from bridge.sbatch.ctext import lower
from bridge.sbatch.integers import LONG_MAX, strtol

_HOURS: Final = {"midnight": 0, "noon": 12, "elevenses": 11, "fika": 15, "teatime": 16}
_DAYS: Final = {"today": 0, "tomorrow": 1}
_UNITS: Final = {
    "seconds": 1,
    "second": 1,
    "minutes": 60,
    "minute": 60,
    "hours": 3600,
    "hour": 3600,
    "days": 86400,
    "day": 86400,
    "weeks": 604800,
    "week": 604800,
}
_EARLIEST_UTS: Final = 1_000_000
_DIGITS_OF_A_DELTA: Final = 12
_NOW = re.compile(r"now[ \t]*(?:(?P<sign>[+-])|$)", re.IGNORECASE | re.ASCII)
_CLOCK = re.compile(
    r"(?P<hour>[0-9]{1,2}):(?P<minute>[0-9]{2})(?::(?P<second>[0-9]{2}))?[ \t\n\v\f\r]*(?P<half>[ap]m)?",
    re.IGNORECASE | re.ASCII,
)
_HALF_A_CLOCK = re.compile(r"[0-9]{1,2}+(?::[0-9]?)?")
_HALF_A_SECOND = re.compile(r":[0-9]?")
_ISO = re.compile(r"(?P<year>[0-9]{4})-(?P<month>[0-9]{1,2})-(?P<day>[0-9]{1,2})")
_DAY = re.compile(r"(?P<month>[0-9]{1,2}+)[./]?+(?P<day>[0-9]{1,2}+)?+[./]?(?P<year>[0-9]{2})?")
_COUNT = re.compile(r"[ \t\v\f\r0-9]*")


@dataclass(slots=True)
class _Parts:
    """What has been read so far; None is not said."""

    hour: int | None = None
    minute: int = 0
    second: int = 0
    month: int | None = None
    day: int = 1
    year: int | None = None


class NotAMoment(ValueError):
    """The text is not a moment; `position` is where sbatch stopped reading."""

    def __init__(self, position: int) -> None:
        super().__init__(f"stopped at {position}")
        self.position = position


def moment(text: str, now: datetime) -> datetime | None:
    """Read a moment; None for a text that says nothing (sbatch's time 0).

    Parameters
    ----------
    text
        As the user wrote it.
    now
        Aware, in the zone in which sbatch would read it.

    Returns
    -------
    datetime
        Aware, UTC, whole seconds.

    Raises
    ------
    NotAMoment
        With the position that sbatch prints.
    """
    if lower(text[:3]) == "uts":
        return _epoch(text)
    parts = _Parts()
    text = text.partition("\n")[0]
    at = 0
    while at < len(text):
        # A capital T is always the one between date and time: sbatch refuses "Today".
        at = at + 1 if text[at] in " \t-T" else _read(text, at, parts, now)
    return _resolve(parts, now, len(text))


def _epoch(text: str) -> datetime:
    value, rest = strtol(text[3:])
    if rest or not _EARLIEST_UTS <= value < LONG_MAX:
        raise NotAMoment(0)
    try:
        return datetime.fromtimestamp(value, UTC)
    except (OverflowError, ValueError, OSError):
        raise NotAMoment(0) from None


def _read(text: str, at: int, parts: _Parts, now: datetime) -> int:
    """Read one part at `at` into `parts`; return where the next one begins."""
    rest = lower(text[at:])
    for word, days in _DAYS.items():
        if rest.startswith(word):
            _set_day(parts, _later(now, days * 86400))
            return at + len(word)
    for word, hour in _HOURS.items():
        if rest.startswith(word):
            parts.hour, parts.minute, parts.second = hour, 0, 0
            return at + len(word)
    if rest.startswith("now"):
        return _read_now(text, at, parts, now)
    if not text[at].isascii() or not text[at].isdigit():
        raise NotAMoment(at)
    if ":" in text[at + 1 : at + 3]:
        return _read_clock(text, at, parts)
    return _read_day(text, at, parts)


def _read_now(text: str, at: int, parts: _Parts, now: datetime) -> int:
    match = _NOW.match(text, at)
    if match is None or at > 0:
        raise NotAMoment(at + 3)
    end, delta_s = match.end(), 0
    if match["sign"]:
        end, delta_s = _read_delta(text, end)
    then = _later(now, -delta_s if match["sign"] == "-" else delta_s)
    _set_day(parts, then)
    parts.hour, parts.minute, parts.second = then.hour, then.minute, then.second
    return end


def _read_delta(text: str, at: int) -> tuple[int, int]:
    """Read ``count[unit]`` in seconds; return where it ends, and the seconds."""
    count = _COUNT.match(text, at)
    end = count.end() if count else at
    digits = "".join(text[at:end].split())
    rest = lower(text[end:])
    unit = next((name for name in _UNITS if rest.startswith(name)), "")
    if not digits or (rest and not unit) or len(digits) > _DIGITS_OF_A_DELTA:
        raise NotAMoment(end - 1)
    return end + len(unit), int(digits) * _UNITS.get(unit, 1)


def _read_clock(text: str, at: int, parts: _Parts) -> int:
    match = _CLOCK.match(text, at)
    broken = _HALF_A_CLOCK.match(text, at) if match is None else _HALF_A_SECOND.match(text, match.end())
    if match is None or (broken and match["second"] is None):
        raise NotAMoment(broken.end() if broken else at)
    hour, minute, second = int(match["hour"]), int(match["minute"]), int(match["second"] or 0)
    for group, value, most in (("hour", hour, 23), ("minute", minute, 59), ("second", second, 59)):
        if value > most:
            raise NotAMoment(match.end(group) - 2)
    half = lower(match["half"] or "")
    if (half == "pm" and hour > 12) or (half == "am" and hour > 12):
        raise NotAMoment(match.end() - 2)
    if half:
        hour = hour % 12 + (12 if half == "pm" else 0)
    parts.hour, parts.minute, parts.second = hour, minute, second
    return match.end()


def _read_day(text: str, at: int, parts: _Parts) -> int:
    iso = len(text) >= at + 7 and text[at + 4 : at + 5] == "-" and text[at + 7 : at + 8] == "-"
    match = (_ISO if iso else _DAY).match(text, at)
    if match is None:
        raise NotAMoment(at)
    month = int(match["month"])
    if not 1 <= month <= 12:
        raise NotAMoment(match.end("month") - 2)
    if match["day"] is None:
        raise NotAMoment(match.end())
    if not 1 <= int(match["day"]) <= 31:
        raise NotAMoment(match.end("day") - 2)
    if not match["year"] and text[match.end() : match.end() + 1].isdigit():
        raise NotAMoment(match.end() + 1)
    parts.month, parts.day = month, int(match["day"])
    if iso:
        parts.year = int(match["year"])
    elif match["year"] and int(match["year"]):
        parts.year = 2000 + int(match["year"])
    return match.end()


def _set_day(parts: _Parts, day: datetime) -> None:
    parts.year, parts.month, parts.day = day.year, day.month, day.day


def _later(now: datetime, seconds: int) -> datetime:
    try:
        return (now.astimezone(UTC) + timedelta(seconds=seconds)).astimezone(now.tzinfo)
    except OverflowError:
        raise NotAMoment(0) from None


def _resolve(parts: _Parts, now: datetime, position: int) -> datetime | None:
    """Fill in what was not said and turn the parts into a moment, days past a month's end included."""
    if parts.hour is None and parts.month is None:
        return None
    hour = parts.hour or 0
    minute = parts.minute if parts.hour is not None else 0
    if parts.month is None:
        _set_day(parts, now if (hour, minute) > (now.hour, now.minute) else _later(now, 86400))
    month = parts.month or 1
    year = parts.year
    if year is None:
        ahead = (month, parts.day, hour, minute) > (now.month, now.day, now.hour, now.minute)
        year = now.year if ahead else now.year + 1
    try:
        first = datetime(year, month, 1, hour, minute, parts.second if parts.hour is not None else 0)
        local = (first + timedelta(days=parts.day - 1)).replace(tzinfo=now.tzinfo)
        return local.astimezone(UTC)
    except (ValueError, OverflowError):
        raise NotAMoment(position) from None
