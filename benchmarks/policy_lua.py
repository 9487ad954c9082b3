"""What job_submit.lua costs slurmctld a job: ``PYTHONPATH=. python benchmarks/policy_lua.py [FILE.json]``.

The target is 100 us a job with 1,000 tenants of 20 users. The script runs in lupa's Lua 5.1, the version
of slurmctld; CPU time is counted, the least of five rounds is shown.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from pathlib import Path

from bridge.policy.table import table_of
from tests.unit.policy import worlds
from tests.unit.policy.lua_rules import LuaRules

JOBS = 1000
ROUND = """function(count)
    for number = 1, count do
        local desc = { user_name = "user-" .. number % 1000 .. "-7", user_id = 20000, min_nodes = 2,
            tres_per_node = "gres/gpu:2", time_limit = 4294967294 }
        assert(slurm_job_submit(desc, {}, 20000) == 0)
    end
end"""


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        rules = LuaRules(Path(folder))
        begun = time.process_time()
        rules.load(table_of(worlds.many_tenants(1000, members=20), worlds.pool()))
        loading_s = time.process_time() - begun
        run = rules.lua.eval(ROUND)
        spent = []
        for _ in range(5):
            begun = time.process_time()
            run(JOBS)
            spent.append(time.process_time() - begun)
    figures = {"tenants": 1000, "load_s": round(loading_s, 3), "judge_us": round(min(spent) / JOBS * 1e6, 1)}
    print(json.dumps(figures))
    if len(sys.argv) > 1:
        Path(sys.argv[1]).write_text(json.dumps(figures) + "\n")


if __name__ == "__main__":
    main()
