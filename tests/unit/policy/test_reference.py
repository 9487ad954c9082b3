"""docs/reference/tenant.md names every key of the model, every class's numbers and every rule."""

from __future__ import annotations

import re
from pathlib import Path

from pydantic import BaseModel

from bridge.policy.classes import CLASS_RULES
from bridge.policy.tenant import (
    Budget,
    Classes,
    FlavorGrant,
    Limits,
    Member,
    PosixGroup,
    Service,
    Tenant,
)
from tests.unit.policy.lua_rules import SOURCE

PAGE = (Path(__file__).parents[3] / "docs" / "reference" / "tenant.md").read_text()


def keys(prefix: str, model: type[BaseModel]) -> set[str]:
    return {f"{prefix}{name}" for name in model.model_fields}


def test_every_key_is_in_the_reference_and_none_that_is_not() -> None:
    parts = {"members", "flavors", "classes", "limits", "budget", "groups", "services"}
    expected = (keys("", Tenant) - parts) | keys("members[].", Member) | keys("flavors.NAME.", FlavorGrant)
    expected |= keys("classes.", Classes) | keys("limits.", Limits) | keys("budget.", Budget)
    expected |= keys("groups[].", PosixGroup) | keys("services[].", Service)
    first_table = PAGE[: PAGE.index("## Classes")]
    cells = re.findall(r"^\| (`[^|]+`) \|", first_table, re.MULTILINE)
    assert {key for cell in cells for key in re.findall(r"`([^`]+)`", cell)} == expected


def test_every_rule_is_in_the_reference_and_none_that_is_not() -> None:
    rules = set(re.findall(r'\["([a-z]+\.[a-z-]+)"\] = "ESLURM', SOURCE))
    table = PAGE[PAGE.index("| Rule |") : PAGE.index("## Modes")]
    cells = re.findall(r"^\| (`.*?`) \|", table, re.MULTILINE)
    assert {rule for cell in cells for rule in re.findall(r"`([^`]+)`", cell)} == rules | {"internal"}


def test_the_classes_numbers_are_those_of_the_code() -> None:
    for name, rules in CLASS_RULES.items():
        row = next(line for line in PAGE.splitlines() if line.startswith(f"| `{name}` | {rules.priority} |"))
        longest = rules.max_walltime_min or "none"
        assert row.endswith(f"| {rules.default_walltime_min}, {longest} |")
        seconds = [f"{value} s" if value else "" for value in (rules.exempt_s, rules.grace_s)]
        assert [cell.strip() for cell in row.split("|")[5:7]] == seconds
        assert ", ".join(rules.preempts) in row
