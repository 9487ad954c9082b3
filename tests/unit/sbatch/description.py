"""A JobSpec in the words of Slurm's job description, as job_submit.lua shows them: to compare with sbatch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bridge.errors import ScriptError
from bridge.job import UNLIMITED, JobSpec, Minutes
from bridge.sbatch import FileWanted, ParsedScript, SubmitContext, parse

DATA = Path(__file__).parents[2] / "data" / "sbatch"

Answer = dict[str, Any]
"""What real sbatch said to one case: `tests.integration.sbatch_oracle.oracle` records it."""

HOME = {"HOME": "/home/ada", "USER": "ada", "LOGNAME": "ada", "SHELL": "/bin/bash"}
LOGIN = {**HOME, "PATH": "/usr/local/bin:/usr/bin:/bin"}
CALLER = {"ZZ_KEEP": "keep", "ZZ_B": "bee"}
HOST = "h3oracle"
GRES_TYPES = frozenset({"gpu", "shard"})

_NICE_OFFSET = 0x80000000
_SHARED = {"exclusive": 0, "user": 2, "mcs": 3, "topo": 4}
_MAIL = {
    "BEGIN": 1,
    "END": 2,
    "FAIL": 4,
    "REQUEUE": 8,
    "TIME_LIMIT": 0x10,
    "TIME_LIMIT_90": 0x20,
    "TIME_LIMIT_80": 0x40,
    "TIME_LIMIT_50": 0x80,
    "STAGE_OUT": 0x100,
    "ARRAY_TASKS": 0x200,
    "INVALID_DEPEND": 0x400,
}
_SAME = (
    *("account", "acctg_freq", "batch_features", "burst_buffer", "comment", "container", "core_spec"),
    *("thread_spec", "cores_per_socket", "cpus_per_task", "cpus_per_tres", "dependency", "features"),
    *("licenses", "mail_user", "mcs_label", "name", "network", "ntasks_per_core", "ntasks_per_node"),
    *("ntasks_per_socket", "ntasks_per_tres", "partition", "prefer", "qos", "reservation"),
    *("sockets_per_node", "threads_per_core", "tres_bind", "tres_freq", "tres_per_job", "tres_per_node"),
    *("tres_per_socket", "tres_per_task", "work_dir", "wckey"),
)
_RENAMED = {
    "array_inx": "array",
    "delay_boot": "delay_boot_s",
    "exc_nodes": "exclude",
    "max_nodes": "nodes_max",
    "mem_per_tres": "memory_per_tres",
    "min_cpus": "cpus_min",
    "min_nodes": "nodes_min",
    "min_mem_per_node": "memory_per_node_mib",
    "min_mem_per_cpu": "memory_per_cpu_mib",
    "num_tasks": "ntasks",
    "pn_min_cpus": "mincpus",
    "pn_min_tmp_disk": "tmp_disk_per_node_mib",
    "req_nodes": "nodelist",
    "req_switch": "switches",
    "wait4switch": "switches_wait_s",
    "std_err": "stderr",
    "std_in": "stdin",
    "std_out": "stdout",
}
_SEEN = ("SLURM", "ZZ_", "OMPI", "PRTE", "HYDRA", "I_MPI")
"""Variables that the recording asked for."""

NOT_SEEN = ("begin_time", "environment")
"""Keys that are compared on their own."""


def description(spec: JobSpec) -> dict[str, Any]:
    """Return what Lua would show of the job, without what was not said."""
    found: dict[str, Any] = {name: getattr(spec, name) for name in _SAME}
    found |= {theirs: getattr(spec, ours) for theirs, ours in _RENAMED.items()}
    shared = 1 if spec.oversubscribe else _SHARED.get(spec.exclusive or "")
    found |= {
        "contiguous": 1 if spec.contiguous else None,
        "mail_type": sum(_MAIL[event] for event in spec.mail_type) or None,
        "nice": None if spec.nice is None else spec.nice + _NICE_OFFSET,
        "requeue": None if spec.requeue is None else int(spec.requeue),
        "shared": shared,
        "hold": spec.hold or None,
        "time_limit": _minutes(spec.time_limit_min),
        "time_min": _minutes(spec.time_min_min),
    }
    return {name: value for name, value in found.items() if value is not None}


def _minutes(value: Minutes | None) -> int | None:
    return 0xFFFFFFFF if value == UNLIMITED else value


def differences(spec: JobSpec, sent: Mapping[str, Any]) -> list[str]:
    """Say what differs from what real sbatch sent; a begin that hangs on the clock may be 2 s off."""
    ours = description(spec)
    found = [
        f"{key}: ours {ours.get(key)!r}, sbatch {sent.get(key)!r}"
        for key in sorted({*ours, *sent} - set(NOT_SEEN))
        if ours.get(key) != sent.get(key)
    ]
    begin = 0 if spec.begin is None else int(spec.begin.timestamp())
    if abs(begin - sent.get("begin_time", 0)) > 2:
        found.append(f"begin_time: ours {begin}, sbatch {sent.get('begin_time', 0)}")
    theirs: Mapping[str, str] = sent["environment"]
    own = {name: value for name, value in spec.environment.items() if name.startswith(_SEEN)}
    found += [
        f"environment {name}: ours {own.get(name)!r}, sbatch {theirs.get(name)!r}"
        for name in sorted({*own, *theirs})
        if own.get(name) != theirs.get(name)
    ]
    return found


def context_of(name: str | None, **changes: Any) -> SubmitContext:
    """Return the submit context in which the recorded answers were given."""
    said: dict[str, Any] = {
        "user": "ada",
        "home": "/home/ada",
        "work_dir": "/home/ada",
        "host": HOST,
        "file_name": name,
        "login_environment": LOGIN,
        "gres_types": GRES_TYPES,
        "limits": {},
        **changes,
    }
    return SubmitContext(**said)


def script_of(answer: Answer) -> bytes:
    if "script" in answer:
        text: str = answer["script"]
        return text.encode("latin-1")
    return (DATA / "scripts" / str(answer["name"])).read_bytes()


def variables_of(name: str) -> dict[str, str]:
    beside = (DATA / "scripts" / name).with_suffix(".env")
    if not beside.exists():
        return {}
    return dict(line.split("=", 1) for line in beside.read_text().splitlines() if line)


def judge(answer: Answer) -> list[str]:
    """Return how the parser differs from real sbatch."""
    variables = {**CALLER, **answer.get("variables", {})}
    if "script" not in answer:
        variables |= variables_of(answer["name"])
    context = context_of(
        None if answer.get("stdin") else answer["name"],
        environment=variables,
        now=datetime.fromtimestamp(answer["asked_at"], UTC),
    )
    try:
        parsed = _parsed(
            script_of(answer), context, arguments=answer.get("arguments", []), variables=variables
        )
    except ScriptError as error:
        said = (error.details["exit_code"], error.details["slurm_words"])
        wanted = (answer["exit_code"], answer.get("words"))
        return [] if said == wanted else [f"ours {said}, sbatch {wanted}"]
    if "sent" not in answer:
        return [f"we take what sbatch refuses: {answer['words']}"]
    sent = [answer["sent"], *answer.get("others", [])]
    if answer.get("taken") and len(parsed.specs) != len(sent):
        return [f"ours has {len(parsed.specs)} components, sbatch's {len(sent)}"]
    pairs = list(zip(parsed.specs, sent, strict=False))  # slurmctld may refuse the first and see no other
    if len(parsed.specs) > 1 and any(spec.nodelist for spec in parsed.specs):
        # It keeps the nodes that one component names from the others.
        pairs = [(replace(spec, exclude=each.get("exc_nodes")), each) for spec, each in pairs]
    found = [_compared(spec, theirs) for spec, theirs in pairs]
    return [f"{said} (component {at})" for at, each in enumerate(found) for said in each]


def _parsed(script: bytes, context: SubmitContext, **said: Any) -> ParsedScript:
    """Parse; sbatch was asked in a folder without the files that an option may name."""
    try:
        return parse(script, context=context, **said)
    except FileWanted as wanted:
        return _parsed(script, replace(context, files={**context.files, wanted.path: None}), **said)


def _compared(spec: JobSpec, theirs: Mapping[str, Any]) -> list[str]:
    sent = dict(theirs)
    outer = ("SLURM_MEM_PER_CPU", "SLURM_TIMELIMIT", "SLURM_JOB_NAME", "SLURM_JOB_ID", "SLURM_NNODES")
    known = {name: value for name, value in spec.environment.items() if name not in outer}
    known = {name: value for name, value in known.items() if not name.startswith("SBATCH_")}
    sent["environment"] = {k: v for k, v in sent["environment"].items() if k not in outer}
    return differences(replace(spec, environment=known), sent)
