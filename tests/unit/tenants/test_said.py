"""What slurmctld's Lua writes is what the bridge counts and raises its alarm by."""

from __future__ import annotations

from pathlib import Path

import pytest

from bridge.policy.lua import render
from bridge.policy.request import Request
from bridge.policy.table import PolicyTable, table_of
from bridge.policy.tenant import Tenant
from bridge.tenants.said import Refused, Said
from tests.unit.policy import worlds
from tests.unit.policy.lua_rules import SOURCE, LuaRules


def table(mode: str = "enforce") -> PolicyTable:
    document = {
        "name": "astro",
        "members": [{"user": "ada"}],
        "flavors": {"h100": {"limit": 1}},
        "rules": mode,
    }
    return table_of([Tenant.model_validate(document)], worlds.pool())


TOO_MANY = Request(user="ada", tres_per_job="gres/gpu:2")


def test_each_refusal_is_counted_by_tenant_rule_and_mode(tmp_path: Path) -> None:
    rules, said = LuaRules(tmp_path), Said(tmp_path)
    assert said.refusals() == {}
    for mode in ("enforce", "warn", "observe"):
        rules.load(table(mode))
        rules.submit(TOO_MANY)
    rules.submit(TOO_MANY)
    rules.submit(Request(user="ada"))
    expected = {Refused("astro", "flavor.limit", mode): n for mode, n in (("enforce", 1), ("warn", 1))}
    assert said.refusals() == {**expected, Refused("astro", "flavor.limit", "observe"): 2}
    rules.load(table())
    rules.submit(Request(user="eve"))
    assert said.refusals()[Refused("", "user.unknown", "enforce")] == 1
    assert Said(tmp_path).refusals() == said.refusals(), "a new bridge begins with what is there"


def test_a_file_that_is_full_is_turned_away_and_nothing_is_lost(tmp_path: Path) -> None:
    rules, said = LuaRules(tmp_path, SOURCE.replace("MOST_SAID = 1048576", "MOST_SAID = 100")), Said(tmp_path)
    rules.load(table())
    for number in range(1, 21):
        rules.submit(TOO_MANY)
        if number % 2:  # the bridge looks now and then
            assert sum(said.refusals().values()) == number
    assert (tmp_path / "refusals.1").stat().st_size < 200
    assert sum(said.refusals().values()) == 20


def test_a_line_that_is_not_written_whole_is_read_later(tmp_path: Path) -> None:
    said, path = Said(tmp_path), tmp_path / "refusals"
    path.write_text("astro\tflavor.limit\tenforce\nastro\tflav")
    assert sum(said.refusals().values()) == 1
    path.write_text("astro\tflavor.limit\tenforce\nastro\tflavor.limit\tenforce\nx\n")
    assert sum(said.refusals().values()) == 2


def test_a_broken_table_is_an_alarm_until_a_good_one_comes(tmp_path: Path) -> None:
    rules, said = LuaRules(tmp_path), Said(tmp_path)
    assert said.table().health.healthy, "nothing is known"
    rules.load(table())
    assert said.table().health.detail == "slurmctld has the newest table"
    (tmp_path / "table.previous.lua").write_text(render(table()))
    (tmp_path / "table.lua").write_text("return {")
    for _ in range(2):  # also when slurmctld starts again
        rules.load()
        health = said.table().health
        assert not health.healthy
        assert health.detail.startswith("slurmctld keeps the table before, the newest one can't be read: ")
        assert rules.submit(Request(user="ada"))[0] == 0
    (tmp_path / "table.previous.lua").unlink()
    rules.load()
    assert "only administrators submit" in said.table().health.detail
    rules.load(table())
    assert said.table().health.healthy


@pytest.mark.parametrize("text", ["", "odd\twords", "\0"])
def test_words_that_are_none_are_not_known(tmp_path: Path, text: str) -> None:
    (tmp_path / "table").write_text(text)
    assert Said(tmp_path).table().which == "unknown"


def test_without_the_folder_nothing_is_said_and_jobs_are_judged(tmp_path: Path) -> None:
    rules = LuaRules(tmp_path)
    rules.lua.globals().SLUICE_SAID_DIR = str(tmp_path / "missing")
    rules.load(table())
    assert rules.submit(TOO_MANY)[0] != 0
    assert Said(tmp_path / "missing").refusals() == {}
