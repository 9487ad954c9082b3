"""Dividing: guarantees first, then weights, whole GPUs and whole gangs, nobody shut out by arithmetic."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from bridge.quota.decay import DecayedUse, steady_use, use_factor
from bridge.quota.divide import Share, divide, usable
from bridge.quota.split import Gang, shown, split


def share(name: str, *, wants: int = 100, **fields: object) -> Share:
    return Share(**{"name": name, "limit": 1000, "gangs": (1,) * wants, **fields})  # type: ignore[arg-type]


def test_guarantees_come_first_and_the_rest_goes_by_weight() -> None:
    found = divide(30, [share("a", guarantee=10), share("b", weight=3), share("c")])
    assert found == {"a": 14, "b": 12, "c": 4}


def test_what_is_guaranteed_and_not_wanted_is_lent_unless_it_isnt_lendable() -> None:
    idle = share("a", guarantee=10, wants=0)
    assert divide(16, [idle, share("b")]) == {"a": 0, "b": 16}
    assert divide(16, [replace(idle, lendable=False), share("b")]) == {"a": 10, "b": 6}


def test_lost_nodes_shrink_guarantees_alike() -> None:
    assert divide(6, [share("a", guarantee=8), share("b", guarantee=4), share("c")]) == {
        "a": 4,
        "b": 2,
        "c": 0,
    }


def test_what_a_gang_cannot_use_goes_to_others() -> None:
    wide = share("a", gangs=(8, 8))
    assert divide(16, [wide, share("b")]) == {"a": 8, "b": 8}
    assert divide(15, [wide, share("b")]) == {"a": 8, "b": 7}
    assert divide(14, [wide, share("b")]) == {"a": 0, "b": 14}
    assert usable(wide, 15) == 8


def test_a_tree_is_divided_level_by_level() -> None:
    lab = Share("lab", limit=12, gangs=(1,), children=(share("x", guarantee=4), share("y")))
    found = divide(40, [lab, share("other")])
    assert found["lab"] == 12
    assert found["x"] + found["y"] in (11, 12)
    assert found["x"] >= 4
    assert found["other"] == 28


def test_use_tilts_the_rest_and_never_a_guarantee() -> None:
    busy = share("a", guarantee=8, factor=use_factor(0.5, 1.0, 1.0))
    quiet = share("b", guarantee=8, factor=use_factor(0.5, 0.0, 1.0))
    found = divide(16 + 34, [busy, quiet])
    assert found == {"a": 10, "b": 40}


START = datetime(2026, 1, 1, tzinfo=UTC)


def test_use_halves_in_a_half_life_and_tends_to_slurms_own_limit() -> None:
    week = START + timedelta(days=7)
    assert DecayedUse(800.0, START).after(week, 0).gpu_seconds == pytest.approx(400)
    years = START + timedelta(days=3000)
    assert DecayedUse(0.0, START).after(years, 5).gpu_seconds == pytest.approx(steady_use(5))
    assert DecayedUse(1.0, week).after(START, 9) == DecayedUse(1.0, week)


def test_two_planes_add_up_at_the_later_moment() -> None:
    week = START + timedelta(days=7)
    assert (DecayedUse(800.0, START) + DecayedUse(100.0, week)).gpu_seconds == pytest.approx(500)


ROOM = {"slurm": 64, "kubernetes": 64}


def test_what_runs_stays_and_what_waits_follows_in_order() -> None:
    gangs = [
        Gang(1, "slurm", 4),
        Gang(2, "kubernetes", 4, "x"),
        Gang(3, "slurm", 8, running=True),
        Gang(4, "kubernetes", 2, "y", running=True),
    ]
    found = split(15, gangs, ["x", "y"], ROOM)  # type: ignore[arg-type]
    assert found.planes == {"slurm": 12, "kubernetes": 3}
    assert found.namespaces == {"x": 1, "y": 2}
    assert shown(9, ["x", "y"]).namespaces == {"x": 9, "y": 9}
