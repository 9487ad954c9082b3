"""Short ages: settings that exist, in the order that the ordinary ones have."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from pydantic_settings import BaseSettings

from bridge.agent.config import AgentConfig
from bridge.cluster.ages import AGES, Pace
from bridge.config import BridgeConfig
from gateway.config import Settings

CONFIGS: Mapping[str, type[BaseSettings]] = {
    "agent": AgentConfig,
    "bridge": BridgeConfig,
    "gateway": Settings,
}


def told(pace: Pace, part: str, monkeypatch: pytest.MonkeyPatch) -> BaseSettings:
    for name, value in AGES[pace].of_part(part):
        monkeypatch.setenv(name, value)
    return CONFIGS[part]()


@pytest.mark.parametrize("part", CONFIGS)
def test_each_quick_setting_is_one_of_the_part_and_shorter_than_ordinary(
    part: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    ordinary, quick = CONFIGS[part](), told(Pace.QUICK, part, monkeypatch)
    prefix = str(quick.model_config["env_prefix"])
    for name, _value in AGES[Pace.QUICK].of_part(part):
        field = name.removeprefix(prefix).lower()
        assert getattr(quick, field) < getattr(ordinary, field), name


@pytest.mark.parametrize("pace", Pace)
def test_an_attempt_ends_before_it_is_taken_for_ended(pace: Pace, monkeypatch: pytest.MonkeyPatch) -> None:
    agent, gateway = told(pace, "agent", monkeypatch), told(pace, "gateway", monkeypatch)
    assert isinstance(agent, AgentConfig)
    assert isinstance(gateway, Settings)
    assert gateway.submit_settle_s > agent.write_deadline_s + gateway.replay_confirm_s
    assert AGES[pace].timing.kill_wait < AGES[pace].timing.slurmd_timeout
