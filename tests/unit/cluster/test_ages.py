"""Short ages: settings that exist, in the order that the ordinary ones have."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from pydantic_settings import BaseSettings

from bridge.agent.config import AgentConfig
from bridge.cluster.ages import AGES, Pace
from bridge.config import BridgeConfig
from bridge.policy.classes import CLASS_RULES, with_times
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
        if field == "class_times":
            continue  # none by default; the next test has them
        assert getattr(quick, field) < getattr(ordinary, field), name


def test_quick_times_of_classes_are_shorter_than_the_classes_own(monkeypatch: pytest.MonkeyPatch) -> None:
    bridge = told(Pace.QUICK, "bridge", monkeypatch)
    assert isinstance(bridge, BridgeConfig)
    for name, rules in with_times(bridge.class_times).items():
        assert (rules.exempt_s, rules.grace_s) <= (CLASS_RULES[name].exempt_s, CLASS_RULES[name].grace_s)
    assert bridge.class_times.keys() == CLASS_RULES.keys() - {"production"}


@pytest.mark.parametrize("pace", Pace)
def test_an_attempt_ends_before_it_is_taken_for_ended(pace: Pace, monkeypatch: pytest.MonkeyPatch) -> None:
    agent, gateway = told(pace, "agent", monkeypatch), told(pace, "gateway", monkeypatch)
    assert isinstance(agent, AgentConfig)
    assert isinstance(gateway, Settings)
    assert gateway.submit_settle_s > agent.write_deadline_s + gateway.replay_confirm_s
    assert AGES[pace].timing.kill_wait < AGES[pace].timing.slurmd_timeout
