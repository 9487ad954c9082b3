"""What job_submit.lua does around the rules: tables that are missing or broken, administrators, faults."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from bridge.policy.lua import render
from bridge.policy.request import Request
from bridge.policy.site import Aliases, Site
from bridge.policy.table import PolicyTable, table_of
from bridge.policy.tenant import Tenant
from tests.unit.policy import worlds
from tests.unit.policy.lua_rules import LuaRules

TENANT = {
    "name": "astro",
    "members": [{"user": "ada"}],
    "flavors": {"h100": {"limit": 4}, "a100": {"limit": 2}},
}


def table(*members: str) -> PolicyTable:
    tenant = Tenant.model_validate({**TENANT, "members": [{"user": user} for user in members]})
    return table_of([tenant], worlds.pool())


@pytest.fixture
def rules(tmp_path: Path) -> LuaRules:
    return LuaRules(tmp_path)


ASKS = Request(user="ada", tres_per_node="gres/gpu:2", nodes_min=2)


def test_a_job_gets_account_partition_class_time_and_gpu_type(rules: LuaRules) -> None:
    rules.load(table("ada"))
    code, desc, sentence = rules.submit(ASKS)
    assert (code, sentence) == (0, None)
    filled = desc.account, desc.partition, desc.qos, desc.time_limit, desc.tres_per_node
    assert filled == ("astro", "h100", "training", 720, "gres/gpu:h100:2")


def test_without_a_table_only_administrators_submit(rules: LuaRules) -> None:
    rules.load()
    code, _desc, sentence = rules.submit(ASKS)
    assert code != 0
    assert sentence == (
        "no tenants are set up yet, so nobody may submit; tell the administrator (rule table.missing)"
    )
    assert [rules.submit(ASKS, uid=uid)[0] for uid in (0, 64030)] == [0, 0]
    assert rules.modify(ASKS, Request(user="ada", partition="a100"))[2] == sentence
    assert any("only administrators may submit" in line for line in rules.logged)


@pytest.mark.parametrize(
    "text", ["return {", "", "return 7", "return {format=3}", "return {format=1}", "error('x')", "os.exit()"]
)
def test_a_broken_table_leaves_the_previous_one_in_force(rules: LuaRules, text: str) -> None:
    (rules.folder / "table.previous.lua").write_text(render(table("ada")))
    (rules.folder / "table.lua").write_text(text)
    rules.load()
    assert rules.submit(ASKS)[0] == 0
    assert any("the previous tenant table stays in force" in line for line in rules.logged)


def test_a_fault_inside_refuses_with_one_sentence_and_is_logged(rules: LuaRules) -> None:
    rules.load(table("ada"))
    code, _desc, sentence = rules.submit(Request(user="ada"))
    assert code == 0
    (rules.folder / "table.lua").write_text(render(table("ada")).replace("limit=", "lost="))
    rules.load()
    code, _desc, sentence = rules.submit(Request(user="ada"))
    assert code != 0
    assert sentence is not None
    assert sentence.endswith("tell the administrator (rule internal)")
    assert "job_submit.lua failed" in rules.logged[-1]


def test_a_user_without_a_name_is_shown_by_number(rules: LuaRules) -> None:
    rules.load(table("ada"))
    desc = rules.lua.table_from({"user_id": 4711, "time_limit": 4294967294, "partition": "h100"})
    rules.lua.globals().judge(desc, 4711)
    desc.user_name = "ada"  # of uid 4711, which the client made up: the job is somebody else's
    rules.lua.globals().judge_change(desc, rules.lua.table_from({"user_id": 4712}), 4711)
    assert [line for line in rules.logged if "uid:4711 is not a member" in line]
    assert [line for line in rules.logged if "uid:4712 is not a member" in line]


def test_an_administrator_may_change_any_job(rules: LuaRules) -> None:
    rules.load(table("ada"))
    change = Request(user="ada", tres_per_job="gres/gpu:h100:99")
    assert rules.modify(ASKS, change, uid=64030)[0] == 0
    assert rules.modify(ASKS, change)[2] is not None


SITE = """
count = 0
function slurm_job_submit(desc, parts, uid)
    count = count + 1
    if desc.partition == "gpu" then desc.qos = "batch" end
    if desc.account == "closed" then slurm.log_user("closed on " .. count) return slurm.ERROR end
    if desc.account == "broken" then error("in the site's own words") end
    return slurm.SUCCESS
end
"""


def test_the_sites_own_script_judges_first_and_what_it_fills_in_is_judged(rules: LuaRules) -> None:
    (rules.folder / "site.lua").write_text(SITE)
    rules.load(table("ada"))
    code, desc, _sentence = rules.submit(replace(ASKS, partition="h100"))
    assert (code, desc.qos) == (0, "training")
    aliases = Aliases(partitions={"gpu": "h100"})
    rules.load(table_of([Tenant.model_validate(TENANT)], worlds.pool(), Site(aliases=aliases)))
    code, desc, _sentence = rules.submit(replace(ASKS, partition="gpu"))
    assert (code, desc.qos, desc.partition) == (0, "batch", "h100")
    code, _desc, sentence = rules.submit(replace(ASKS, account="closed"))
    assert (code, sentence) == (-1, "closed on 2")
    code, _desc, sentence = rules.submit(replace(ASKS, account="broken"), uid=0)
    assert sentence is not None
    assert sentence.endswith("fault in the site's own rules; tell the administrator (rule site)")
    assert rules.modify(ASKS, Request(user="ada", qos="batch"))[0] == 0, "it has no rules for changes"


@pytest.mark.parametrize("text", ["function (", "error('x')"])
def test_a_site_script_that_does_not_load_lets_administrators_in_alone(rules: LuaRules, text: str) -> None:
    (rules.folder / "site.lua").write_text(text)
    rules.load(table("ada"))
    assert rules.submit(ASKS)[0] == -1
    assert rules.modify(ASKS, Request(user="ada", qos="batch"))[0] == -1
    assert rules.submit(ASKS, uid=0)[0] == 0
    assert "only administrators submit" in rules.logged[0]


def in_mode(mode: str) -> PolicyTable:
    whole = {"name": "astro", "members": [{"user": "ada"}], "flavors": {"h100": {"limit": 1}}}
    return table_of([Tenant.model_validate({**whole, "rules": mode})], worlds.pool())


@pytest.mark.parametrize("mode", ["observe", "warn"])
def test_below_enforce_each_refusal_is_counted_by_tenant_and_rule(rules: LuaRules, mode: str) -> None:
    rules.load(in_mode(mode))
    for _ in range(2):
        code, desc, sentence = rules.submit(ASKS)
        assert (code, desc.account, desc.tres_per_node) == (0, None, "gres/gpu:2")
        assert (sentence is not None) is (mode == "warn")
    assert rules.modify(ASKS, Request(user="ada", qos="normal"))[0] == 0
    start = f"sluice: mode {mode} of tenant astro: rule"
    assert [line.partition(" by now")[0] for line in rules.logged] == [
        f"{start} flavor.limit, 1 times",
        f"{start} flavor.limit, 2 times",
        f"{start} class.unknown, 1 times",
    ]


def test_below_enforce_a_fault_inside_stops_nobody(rules: LuaRules) -> None:
    rules.load(in_mode("observe"))
    (rules.folder / "table.lua").write_text(render(in_mode("observe")).replace("limit=", "lost="))
    rules.load()
    assert rules.submit(ASKS)[0] == 0
    assert "job_submit.lua failed" in rules.logged[-1]


def test_users_words_with_percent_signs_are_not_a_format(rules: LuaRules) -> None:
    rules.load(table("ada"))
    _code, _desc, sentence = rules.submit(Request(user="ada", account="%s%d", partition="a%s"))
    assert sentence is not None
    assert "(unreadable)" in sentence
