"""Slurm's integers and texts, both ways."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bridge.units import INFINITE, NO_VAL, from_epoch, gpu_count, to_epoch, tres_counts, tres_text

NAMES = st.sampled_from(["cpu", "mem", "node", "billing", "gres/gpu", "gres/gpu:h100", "license/x"])


@pytest.mark.parametrize("nothing", [None, 0, NO_VAL, INFINITE])
def test_no_moment(nothing: int | None) -> None:
    assert from_epoch(nothing) is None


@given(st.integers(1, NO_VAL - 1))
def test_moments_come_back(seconds: int) -> None:
    moment = from_epoch(seconds)
    assert moment is not None
    assert moment.tzinfo is UTC
    assert to_epoch(moment) == seconds


def test_a_zone_changes_nothing() -> None:
    kolkata = timezone(timedelta(hours=5, minutes=30))
    moment = datetime(2026, 3, 1, 1, tzinfo=kolkata)
    assert to_epoch(moment) == to_epoch(moment.astimezone(UTC))
    assert to_epoch(None) is None


@given(st.dictionaries(NAMES, st.integers(0, 2**40)))
def test_counts_come_back(counts: dict[str, int]) -> None:
    assert tres_counts(tres_text(counts)) == counts


@pytest.mark.parametrize(
    ("text", "counts"),
    [
        ("", {}),
        ("cpu=8,mem=16G,node=1", {"cpu": 8, "mem": 16384, "node": 1}),
        ("mem=1.50G", {"mem": 1536}),
        ("mem=1K", {"mem": 1}),
        ("mem=1T", {"mem": 1048576}),
        ("gres/gpu:h100=2,gres/gpu=2", {"gres/gpu:h100": 2, "gres/gpu": 2}),
        ("license/x=2K", {"license/x": 2048}),
    ],
)
def test_slurms_own_texts(text: str, counts: dict[str, int]) -> None:
    assert tres_counts(text) == counts


def test_an_item_without_a_count_is_an_error() -> None:
    with pytest.raises(ValueError, match="no '='"):
        tres_counts("cpu")


@pytest.mark.parametrize(
    ("tres", "gpus"),
    [
        ({}, 0),
        ({"gres/gpu": 4, "gres/gpu:h100": 4}, 4),
        ({"gres/gpu:h100": 2, "gres/gpu:a100": 1}, 3),
        ({"gres/gpu": 0, "gres/gpu:h100": 2}, 2),
        ({"cpu": 8}, 0),
    ],
)
def test_gpus(tres: dict[str, int], gpus: int) -> None:
    assert gpu_count(tres) == gpus
