"""The table of a large site in slurmctld's Lua."""

from __future__ import annotations

from pathlib import Path

import pytest

from bridge.policy.table import table_of
from tests.unit.policy import worlds
from tests.unit.policy.lua_rules import LuaRules


@pytest.fixture
def rules(tmp_path: Path) -> LuaRules:
    return LuaRules(tmp_path)


def test_a_thousand_tenants_of_twenty_are_judged_by_one_table(rules: LuaRules) -> None:
    rules.load(table_of(worlds.many_tenants(1000, members=20), worlds.pool()))
    run = rules.lua.eval("""function(count)
        for number = 1, count do
            local desc = { user_name = "user-" .. number % 1000 .. "-7", user_id = 20000, min_nodes = 2,
                tres_per_node = "gres/gpu:2", time_limit = 4294967294 }
            assert(slurm_job_submit(desc, {}, 20000) == 0)
            assert(desc.account == "tenant-" .. number % 1000)
        end
    end""")
    run(1000)
