"""Periods of a report and where they are cut: half-open, in UTC or a declared zone.

Pure. A day is from one local midnight to the next, so that the days on which a zone changes its clock have
23 or 25 hours (and 23.5 or 24.5 on Lord Howe Island). Where a zone skips its midnight, the day begins at
the change.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import Final, Literal
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from bridge.errors import InputError

Step = Literal["day", "month"]

MOST_BUCKETS: Final = 4000
"""Days of one report, about eleven years."""
_DATE: Final = re.compile(r"^\d{4}-\d{2}-\d{2}$")
_LOST_PLUS: Final = re.compile(r"(T\S+) (\d{2}:?\d{2})$")
_EARLIEST: Final = datetime(1970, 1, 1, tzinfo=UTC)
_LATEST: Final = datetime(2200, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Period:
    """[start, end) of a report, both aware and on whole seconds; days and months are those of `zone`."""

    start: datetime
    end: datetime
    zone: ZoneInfo

    @property
    def start_s(self) -> int:
        """Seconds since 1970."""
        return int(self.start.timestamp())

    @property
    def end_s(self) -> int:
        """Seconds since 1970."""
        return int(self.end.timestamp())


@dataclass(frozen=True, slots=True)
class Bucket:
    """One day or month of a report, cut to the period; `label` is ``2026-11-03`` or ``2026-11``."""

    label: str
    start_s: int
    end_s: int


def zone_of(name: str) -> ZoneInfo:
    """Return a zone by its IANA name.

    Raises
    ------
    InputError
        There is no such zone.
    """
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise InputError(
            f"timezone {name!r} is not known; give an IANA name such as UTC or Europe/Berlin",
            parameter="timezone",
        ) from error


def period_of(start: str | None, end: str | None, zone: ZoneInfo, *, now: datetime) -> Period:
    """Read a period; what is not given is the begin, or the end, of the present month in `zone`.

    Parameters
    ----------
    start, end
        A date (its midnight in `zone`) or an ISO time; a time without offset is the zone's own.

    Raises
    ------
    InputError
        Not a date or time, outside 1970 to 2200, or `start` isn't before `end`.
    """
    today = now.astimezone(zone).date()
    first = _moment(start, zone, "from") if start else _midnight(today.replace(day=1), zone)
    if end:
        last = _moment(end, zone, "to")
    else:
        last = _midnight(_next_month(max(today, first.astimezone(zone).date())), zone)
    if first >= last:
        raise InputError(
            f"from ({first.isoformat()}) is not before to ({last.isoformat()}); the period is [from, to)",
            parameter="from",
        )
    return Period(first, last, zone)


def buckets(period: Period, step: Step) -> list[Bucket]:
    """Cut a period into days or months.

    Raises
    ------
    InputError
        More than `MOST_BUCKETS` of them.
    """
    label, following = _STEPS[step]
    found: list[Bucket] = []
    day = period.start.astimezone(period.zone).date()
    start_s = period.start_s
    while start_s < period.end_s:
        if len(found) == MOST_BUCKETS:
            raise InputError(f"the period has more than {MOST_BUCKETS} days; group by month, or ask for less")
        after = following(day)
        end_s = min(int(_midnight(after, period.zone).timestamp()), period.end_s)
        if end_s > start_s:  # a zone that skipped a whole day (Samoa, 2011) has no such day
            found.append(Bucket(label(day), start_s, end_s))
            start_s = end_s
        day = after
    return found


def _moment(text: str, zone: ZoneInfo, parameter: str) -> datetime:
    text = _LOST_PLUS.sub(r"\1+\2", text)  # a "+" in a query that wasn't encoded arrives as a space
    try:
        moment = (
            _midnight(date.fromisoformat(text), zone) if _DATE.match(text) else datetime.fromisoformat(text)
        )
    except ValueError as error:
        raise InputError(
            f"{parameter}={text} is neither a date (2026-11-01) nor an ISO time (2026-11-01T12:00:00Z)",
            parameter=parameter,
        ) from error
    moment = (moment if moment.tzinfo else moment.replace(tzinfo=zone)).replace(microsecond=0)
    if not _EARLIEST <= moment <= _LATEST:
        raise InputError(
            f"{parameter}={text} is outside 1970 to 2200; give a date in between", parameter=parameter
        )
    return moment.astimezone(UTC)


def _midnight(day: date, zone: ZoneInfo) -> datetime:
    # fold=0: the first of two midnights, and the change itself where midnight is skipped.
    return datetime.combine(day, time(), tzinfo=zone).astimezone(UTC)


def _next_day(day: date) -> date:
    return day + timedelta(days=1)


def _next_month(day: date) -> date:
    return (day.replace(day=1) + timedelta(days=32)).replace(day=1)


_STEPS: Final[dict[Step, tuple[Callable[[date], str], Callable[[date], date]]]] = {
    "day": (date.isoformat, _next_day),
    "month": (lambda day: f"{day:%Y-%m}", _next_month),
}
