"""Runs job_submit.lua as slurmctld does: the same Lua, the same entry points, unset numbers."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from lupa import lua51

from bridge.job import UNLIMITED
from bridge.policy.lua import render
from bridge.policy.request import TRES_FIELDS, Request
from bridge.policy.script import script_text
from bridge.policy.table import PolicyTable

SOURCE = script_text()
NOW = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)
NO_VAL, NO_VAL16, INFINITE = 4294967294, 65534, 4294967295

_SLURM = """
slurm = { SUCCESS = 0, ERROR = -1, said = {}, logged = {}, numbers = {} }
for number, name in ipairs({ "INVALID_PARTITION_NAME",
    "ACCESS_DENIED", "INVALID_ACCOUNT", "ACCOUNTING_POLICY"
    , "INVALID_TIME_LIMIT", "INVALID_QOS", "INVALID_GRES" }) do
    slurm["ESLURM_" .. name] = 2000 + number
end
function slurm.log_user(...) table.insert(slurm.said, string.format(...)) end
function slurm.log_info(...) table.insert(slurm.logged, string.format(...)) end
slurm.log_error = slurm.log_info
os.time = function() return slurm.now end
function judge(desc, submit_uid)
    slurm.said = {}
    local code = slurm_job_submit(desc, {}, submit_uid)
    return code, slurm.said[1] and table.concat(slurm.said, "\\n")
end
function judge_change(desc, job, uid)
    slurm.said = {}
    local code = slurm_job_modify(desc, job, {}, uid)
    return code, slurm.said[1] and table.concat(slurm.said, "\\n")
end
"""


class LuaRules:
    """One slurmctld's worth of Lua: the source, and a table in `folder`."""

    def __init__(self, folder: Path, source: str | None = None) -> None:
        self.folder = folder
        self.lua = lua51.LuaRuntime(unpack_returned_tuples=True)
        self.lua.globals().SLUICE_POLICY_DIR = str(folder)
        self.lua.globals().SLUICE_SAID_DIR = str(folder)
        self.lua.globals().SLUICE_SITE_SCRIPT = str(folder / "site.lua")
        self.lua.execute(_SLURM)
        self.lua.globals().slurm.now = int(NOW.timestamp())
        self.source = source if source is not None else SOURCE

    def load(self, table: PolicyTable | None = None) -> None:
        """Load the script again, with another table first when one is given."""
        if table is not None:
            (self.folder / "table.lua").write_text(render(table))
        self.lua.execute(self.source)

    def submit(self, request: Request, *, uid: int = 20000) -> tuple[int, Any, str | None]:
        """Return (code, desc after the call, sentence)."""
        desc = self.lua.table_from(description(request) | {"user_name": request.user, "user_id": uid})
        code, sentence = self._pair(self.lua.globals().judge(desc, uid))
        return code, desc, sentence

    def modify(self, job: Request, change: Request, *, uid: int = 20000) -> tuple[int, Any, str | None]:
        """Return (code, desc after the call, sentence) of a user's update."""
        # As slurmctld does: the record knows the uid alone, the description gets the owner's.
        desc = self.lua.table_from(description(change) | {"user_name": job.user, "user_id": 20000})
        record = self.lua.table_from(description(job) | counted(job) | {"user_id": 20000})
        code, sentence = self._pair(self.lua.globals().judge_change(desc, record, uid))
        return code, desc, sentence

    @property
    def logged(self) -> list[str]:
        return list(self.lua.globals().slurm.logged.values())

    @staticmethod
    def _pair(answer: Any) -> tuple[int, str | None]:
        return answer if isinstance(answer, tuple) else (answer, None)


def description(request: Request) -> dict[str, Any]:
    """Return the fields of slurmctld's job description; what is unset is NO_VAL or nil."""
    limit = request.time_limit_min
    fields: dict[str, Any] = {
        "time_limit": NO_VAL if limit is None else INFINITE if limit == UNLIMITED else limit,
        "min_nodes": _or(request.nodes_min, NO_VAL),
        "max_nodes": _or(request.nodes_max, NO_VAL),
        "num_tasks": _or(request.ntasks, NO_VAL),
        "ntasks_per_node": _or(request.ntasks_per_node, NO_VAL16),
        "ntasks_per_socket": _or(request.ntasks_per_socket, NO_VAL16),
        "ntasks_per_tres": _or(request.ntasks_per_gpu, NO_VAL16),
        "shared": 0 if request.exclusive else 2 if request.private_nodes else NO_VAL16,
        "sockets_per_node": _or(request.sockets_per_node, NO_VAL16),
        "min_cpus": _or(request.cpus_min, NO_VAL),
        "cpus_per_task": _or(request.cpus_per_task, NO_VAL16),
        "pn_min_cpus": _or(request.cpus_per_node, NO_VAL16),
    }
    texts = {name: getattr(request, name) for name in ("account", "partition", "qos", *TRES_FIELDS)}
    texts |= {
        "cpus_per_tres": request.cpus_per_gpu,
        "mem_per_tres": request.memory_per_gpu,
        "min_mem_per_node": request.memory_per_node_mib,
        "min_mem_per_cpu": request.memory_per_cpu_mib,
    }
    return fields | {name: text for name, text in texts.items() if text is not None}


def counted(job: Request) -> dict[str, Any]:
    """Return what slurmctld's record shows of its own counts (seen on 26.05.5)."""
    cpus, memory, gpus = job.cpus_counted or 1, job.memory_counted_mib or 1, job.gpus_counted
    shown = f",gres/gpu={gpus},gres/gpu:h100={gpus}" if gpus else ""
    ids = f",1001={gpus},1003={gpus}" if gpus else ""
    return {
        "tres_fmt_req_str": f"cpu={cpus},mem={memory}M,node=1,billing=20{shown}",
        "tres_req_str": f"1={cpus},2={memory},4=1,5=20{ids}",
    }


def _or(value: int | None, unset: int) -> int:
    return unset if value is None else value
