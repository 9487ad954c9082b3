"""What classes mean: a site's own times, and who may stop whom."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from bridge.policy.classes import CLASS_RULES, with_times
from bridge.policy.site import ClassTimes, Site


def test_a_site_s_times_replace_those_of_a_class_and_nothing_else() -> None:
    classes = with_times({"training": ClassTimes(exempt_s=900), "batch": ClassTimes(grace_s=0)})
    assert (classes["training"].exempt_s, classes["training"].grace_s) == (900, 60)
    assert (classes["batch"].exempt_s, classes["batch"].grace_s) == (0, 0)
    assert classes["development"] == CLASS_RULES["development"]
    assert [classes[name].preempts for name in classes] == [CLASS_RULES[name].preempts for name in classes]


def test_production_has_no_times_to_settle() -> None:
    with pytest.raises(ValidationError):
        Site.model_validate({"class_times": {"production": {"grace_s": 5}}})


def test_nobody_stops_production_and_everybody_else_can_be_queued_again() -> None:
    assert not any("production" in rules.preempts for rules in CLASS_RULES.values())
    assert {rules.preempt_mode for name, rules in CLASS_RULES.items() if name != "production"} == {"REQUEUE"}
