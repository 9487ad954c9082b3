"""What dividing, splitting and fading always do."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bridge.quota.decay import DecayedUse, use_factor
from bridge.quota.divide import Share, divide, usable, whole_gangs
from bridge.quota.split import Gang, split


def share(name: str, *, wants: int = 100, **fields: object) -> Share:
    return Share(**{"name": name, "limit": 1000, "gangs": (1,) * wants, **fields})  # type: ignore[arg-type]


shares = st.lists(
    st.builds(
        lambda guarantee, more, weight, wants: share(
            "", guarantee=guarantee, limit=guarantee + more, weight=weight, wants=wants
        ),
        st.integers(0, 20),
        st.integers(0, 40),
        st.integers(1, 100),
        st.integers(0, 60),
    ),
    min_size=1,
    max_size=6,
).map(lambda found: [replace(item, name=f"t{index}") for index, item in enumerate(found)])


@given(st.integers(0, 100), shares)
def test_what_always_holds(capacity: int, found: list[Share]) -> None:
    targets = divide(capacity, found)
    assert sum(targets.values()) <= capacity
    floors = sum(item.floor for item in found)
    for item in found:
        assert 0 <= targets[item.name] <= item.ceiling <= item.limit
        if floors <= capacity:
            assert targets[item.name] >= item.floor
    # Nothing lies idle that somebody wants.
    assert sum(targets.values()) == min(capacity, sum(item.ceiling for item in found))


@given(st.integers(0, 100), shares, st.integers(2, 9))
def test_only_the_ratio_of_weights_matters_and_the_order_of_tenants_never(
    capacity: int, found: list[Share], scale: int
) -> None:
    larger = [replace(item, weight=item.weight * scale) for item in reversed(found)]
    assert divide(capacity, larger) == divide(capacity, found)


@given(st.integers(0, 100), shares, st.integers(1, 10))
def test_a_larger_guarantee_never_gives_less(capacity: int, found: list[Share], more: int) -> None:
    first = found[0]
    raised = replace(first, guarantee=first.guarantee + more, limit=max(first.limit, first.guarantee + more))
    if raised.limit != first.limit:
        first = replace(first, limit=raised.limit)
    before = divide(capacity, [first, *found[1:]])[first.name]
    assert divide(capacity, [raised, *found[1:]])[first.name] >= before


@given(st.integers(0, 60), st.lists(st.integers(1, 20), min_size=1, max_size=5))
def test_without_guarantees_it_is_plain_water_filling(capacity: int, weights: list[int]) -> None:
    found = [share(f"t{index}", weight=weight) for index, weight in enumerate(weights)]
    targets = divide(capacity, found)
    for item in found:
        exact = Fraction(capacity * item.weight, sum(weights))
        assert abs(targets[item.name] - exact) < 1


@given(st.integers(0, 64), st.lists(st.lists(st.integers(1, 16), max_size=4), min_size=1, max_size=4))
def test_targets_are_what_whole_gangs_use_or_a_guarantee(capacity: int, gangs: list[list[int]]) -> None:
    found = [share(f"t{index}", gangs=tuple(sizes)) for index, sizes in enumerate(gangs)]
    amounts = whole_gangs(capacity, found)
    assert sum(amounts.values()) <= capacity
    assert all(usable(item, amounts[item.name]) == amounts[item.name] for item in found)


START = datetime(2026, 1, 1, tzinfo=UTC)


@given(st.floats(0, 500), st.lists(st.floats(0.01, 10**6), min_size=1, max_size=5))
def test_how_often_use_is_brought_up_to_date_doesnt_change_it(gpus: float, steps: list[float]) -> None:
    whole = DecayedUse(1000.0, START)
    moment = START
    parts = whole
    for step in steps:
        moment += timedelta(seconds=step)
        parts = parts.after(moment, gpus)
    assert parts.gpu_seconds == pytest.approx(whole.after(moment, gpus).gpu_seconds, rel=1e-6)


@given(st.floats(0, 1), st.floats(0, 1), st.floats(0, 1))
def test_the_tilt_is_bounded_and_falls_with_use(weight: float, use: float, k: float) -> None:
    factor = use_factor(weight, use, k)
    assert 1 / 8 <= factor <= 8
    assert use_factor(weight, min(1.0, use * 2), k) <= factor
    assert use_factor(weight, use, 0) == 1


gangs = st.lists(
    st.builds(
        Gang,
        st.integers(0, 99),
        st.sampled_from(["slurm", "kubernetes"]),
        st.integers(1, 16),
        st.just("x"),
        st.booleans(),
    ),
    max_size=8,
)


@given(st.integers(0, 64), gangs, st.integers(0, 64), st.integers(0, 64))
def test_a_split_is_within_target_and_room(
    target: int, found: list[Gang], slurm: int, kubernetes: int
) -> None:
    result = split(target, found, ["x", "y"], {"slurm": slurm, "kubernetes": kubernetes})
    assert sum(result.planes.values()) <= target
    assert result.planes["slurm"] <= slurm
    assert result.planes["kubernetes"] <= kubernetes
    assert sum(result.namespaces.values()) <= result.planes["kubernetes"]
    assert split(
        target, found[::-1], ["y", "x"], {"slurm": slurm, "kubernetes": kubernetes}
    ) == result or len({gang.order for gang in found}) < len(found)
