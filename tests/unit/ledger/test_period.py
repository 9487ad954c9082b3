from datetime import UTC, datetime
from itertools import pairwise

import pytest

from bridge.errors import InputError
from gateway.ledger.period import Step, buckets, period_of, zone_of

NOW = datetime(2026, 11, 30, 23, 30, tzinfo=UTC)


def test_without_dates_it_is_the_present_month_of_the_zone() -> None:
    period = period_of(None, None, zone_of("UTC"), now=NOW)
    assert (period.start, period.end) == (
        datetime(2026, 11, 1, tzinfo=UTC),
        datetime(2026, 12, 1, tzinfo=UTC),
    )
    # In Berlin it is December already.
    berlin = period_of(None, None, zone_of("Europe/Berlin"), now=NOW)
    assert berlin.start == datetime(2026, 11, 30, 23, tzinfo=UTC)


def test_without_an_end_the_period_goes_to_the_end_of_the_present_month() -> None:
    assert period_of("2026-09-15", None, zone_of("UTC"), now=NOW).end == datetime(2026, 12, 1, tzinfo=UTC)
    # From a time to come it goes to the end of that month.
    assert period_of("2027-02-15", None, zone_of("UTC"), now=NOW).end == datetime(2027, 3, 1, tzinfo=UTC)


def test_a_date_is_a_midnight_of_the_zone_and_a_time_keeps_its_offset() -> None:
    period = period_of("2026-11-01", "2026-11-02T00:00:00+02:00", zone_of("America/New_York"), now=NOW)
    assert period.start == datetime(2026, 11, 1, 4, tzinfo=UTC)
    assert period.end == datetime(2026, 11, 1, 22, tzinfo=UTC)


def test_a_plus_that_the_query_lost_is_put_back() -> None:
    period = period_of("2026-11-01T00:00:00 02:00", "2026-11-02", zone_of("UTC"), now=NOW)
    assert period.start == datetime(2026, 10, 31, 22, tzinfo=UTC)


@pytest.mark.parametrize(
    ("start", "end", "words"),
    [
        ("2026-11-02", "2026-11-01", "is not before"),
        ("2026-11-01", "2026-11-01", "is not before"),
        ("yesterday", None, "neither a date"),
        ("2026-02-30", None, "neither a date"),
        ("1066-10-14", None, "outside 1970"),
        ("2026-11-01", "9999-12-31", "outside 1970"),
    ],
)
def test_periods_that_are_none_are_refused_in_one_sentence(start: str, end: str | None, words: str) -> None:
    with pytest.raises(InputError, match=words):
        period_of(start, end, zone_of("UTC"), now=NOW)


@pytest.mark.parametrize("name", ["Mars/Olympus", "../etc/passwd", "", "/etc/localtime", "Europe"])
def test_unknown_zones_are_refused(name: str) -> None:
    with pytest.raises(InputError, match="IANA name"):
        zone_of(name)


@pytest.mark.parametrize(
    ("zone", "day", "following", "hours"),
    [
        ("UTC", "2026-03-29", "2026-03-30", 24),
        ("Europe/Berlin", "2026-03-29", "2026-03-30", 23),
        ("Europe/Berlin", "2026-10-25", "2026-10-26", 25),
        ("America/New_York", "2026-11-01", "2026-11-02", 25),
        ("Australia/Lord_Howe", "2026-10-04", "2026-10-05", 23.5),
        ("Asia/Kolkata", "2026-11-01", "2026-11-02", 24),
        ("Asia/Beirut", "2026-03-29", "2026-03-30", 23),  # its midnight is skipped
        ("America/Havana", "2026-11-01", "2026-11-02", 25),  # it has two midnights
    ],
)
def test_days_are_as_long_as_the_zone_makes_them(zone: str, day: str, following: str, hours: float) -> None:
    period = period_of(day, following, zone_of(zone), now=NOW)
    (bucket,) = buckets(period, "day")
    assert bucket.label == day
    assert (bucket.end_s - bucket.start_s) / 3600 == hours


@pytest.mark.parametrize("zone", ["UTC", "Europe/Berlin", "America/Havana", "Asia/Kolkata", "Pacific/Apia"])
@pytest.mark.parametrize("step", ["day", "month"])
def test_buckets_tile_the_period_without_gap_or_overlap(zone: str, step: Step) -> None:
    period = period_of("2011-11-15T13:37:11Z", "2012-04-20T01:02:03Z", zone_of(zone), now=NOW)
    found = buckets(period, step)
    assert found[0].start_s == period.start_s
    assert found[-1].end_s == period.end_s
    assert all(one.end_s == other.start_s for one, other in pairwise(found))
    assert len({bucket.label for bucket in found}) == len(found)


def test_a_day_that_a_zone_skipped_is_not_there() -> None:
    period = period_of("2011-12-29", "2012-01-01", zone_of("Pacific/Apia"), now=NOW)
    assert [bucket.label for bucket in buckets(period, "day")] == ["2011-12-29", "2011-12-31"]


def test_too_many_days_are_refused() -> None:
    with pytest.raises(InputError, match="group by month"):
        buckets(period_of("1990-01-01", "2026-01-01", zone_of("UTC"), now=NOW), "day")
