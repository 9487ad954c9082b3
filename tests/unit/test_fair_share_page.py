"""The arithmetic of the worked example is right, and its weights are those of the local stack."""

from __future__ import annotations

import pytest

from bridge.cluster.pool import LOCAL_POOL
from tests.support.fair_share import teams


def test_each_number_of_the_example_follows_from_weights_and_billing() -> None:
    found = teams()
    assert [team.name for team in found] == ["north", "south"]
    weights, used = sum(team.weight for team in found), sum(team.used for team in found)
    for team in found:
        assert team.used == team.billing * 100
        assert team.share == pytest.approx(team.weight / weights, abs=5e-5)
        assert team.usage == pytest.approx(team.used / used, abs=5e-5)
        assert team.level_fs == pytest.approx(team.weight / weights * used / team.used, abs=5e-5)


def test_the_example_bills_as_the_local_stack_does() -> None:
    one = LOCAL_POOL.billing.gpus["h100"] + LOCAL_POOL.billing.cpu
    assert [team.billing for team in teams()] == [2 * one, one]
