"""JobSpec -> slurmrestd's job description, ``POST /slurm/V/job/submit``.

Pure. Numbers that can be unset are sent as ``{"set": true, "number": n}``: without ``set`` slurmrestd
ignores them without a word. Only fields that `bridge.agent.carriage` gives to REST come here.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from bridge.agent.carriage import CARRIAGE
from bridge.agent.derive import minimum_cpus, warning
from bridge.errors import Unsupported
from bridge.job import UNLIMITED, JobSpec, Minutes
from bridge.units import NO_VAL16, to_epoch

Body = dict[str, Any]

_NUMBERS: Final = ("memory_per_node_mib", "memory_per_cpu_mib", "priority", "switches", "segment_size")
_SWITCHES: Final = ("hold", "overcommit", "contiguous", "reboot")
_OTHERWISE: Final = frozenset(
    (
        *("script", "environment", "argv", *_NUMBERS, *_SWITCHES),
        *("time_limit_min", "time_min_min", "begin", "deadline", "delay_boot_s", "signal"),
        *("open_mode", "profile", "mail_type", "mem_bind", "gpu_freq", "site"),
        *("spread", "use_min_nodes", "gres_flags", "oversubscribe", "exclusive", "oom_kill_step"),
        *("spread_segments", "consolidate_segments", "expedited_requeue", "step_manager", "external"),
        *("kill_on_invalid_dependency", "nodelist", "exclude"),
    )
)
"""Fields that are not handed over as they are."""
_FLAGS: Final = {
    "spread": "SPREAD_JOB",
    "use_min_nodes": "PREFER_MINIMUM_NODE_COUNT",
    "spread_segments": "SPREAD_SEGMENTS",
    "consolidate_segments": "CONSOLIDATE_SEGMENTS",
    "expedited_requeue": "EXPEDITED_REQUEUE",
    "step_manager": "STEPMGR_ENABLED",
    "external": "EXTERNAL_JOB",
}
_GRES_FLAGS: Final = {"enforce-binding": "GRES_BINDING_ENFORCED", "disable-binding": "GRES_BINDING_DISABLED"}
_SHARED: Final = {"exclusive": "none", "user": "user", "mcs": "mcs", "topo": "topo", "none": "none"}
_MAIL: Final = {
    "BEGIN": ("BEGIN",),
    "END": ("END",),
    "FAIL": ("FAIL",),
    "REQUEUE": ("REQUEUE",),
    "STAGE_OUT": ("STAGE_OUT",),
    "INVALID_DEPEND": ("INVALID_DEPENDENCY",),
    "ARRAY_TASKS": ("ARRAY_TASKS",),
    "TIME_LIMIT": ("TIME=100%",),
    "TIME_LIMIT_90": ("TIME=90%",),
    "TIME_LIMIT_80": ("TIME=80%",),
    "TIME_LIMIT_50": ("TIME=50%",),
    "ALL": ("BEGIN", "END", "FAIL", "INVALID_DEPENDENCY", "REQUEUE", "STAGE_OUT"),
    "NONE": (),
}
_MEM_BIND: Final = {
    "none": "NONE",
    "rank": "RANK",
    "local": "LOCAL",
    "map_mem": "MAP",
    "mask_mem": "MASK",
    "verbose": "VERBOSE",
    "v": "VERBOSE",
    "prefer": "PREFER",
    "p": "PREFER",
}


def request(spec: JobSpec, *, uid: int, gid: int) -> Body:
    """Return the whole body of the submission of a job of `uid`."""
    script = {"script": spec.script.decode()} if spec.script else {}
    return {**script, "job": description(spec, uid=uid, gid=gid)}


def het_request(specs: Sequence[JobSpec], *, uid: int, gid: int) -> Body:
    """Return the whole body of the submission of a heterogeneous job; the script is its leader's."""
    jobs = [description(spec, uid=uid, gid=gid) for spec in specs]
    script = {"script": specs[0].script.decode()} if specs[0].script else {}
    return {**script, "jobs": jobs}


def description(spec: JobSpec, *, uid: int, gid: int) -> Body:
    """Return slurmrestd's description of one job or component."""
    job: Body = {
        "user_id": str(uid),
        "group_id": str(gid),
        "environment": [f"{name}={value}" for name, value in spec.environment.items()],
        "minimum_cpus": minimum_cpus(spec),
        # Absent, slurmrestd sends 0, which overrides the cluster's own setting.
        "oom_kill_step": NO_VAL16 if spec.oom_kill_step is None else int(spec.oom_kill_step),
    }
    for name, carried in CARRIAGE.items():
        value = getattr(spec, name)
        if carried.rest and name not in _OTHERWISE and value is not None:
            job[carried.rest] = value
    for name in _NUMBERS:
        value = getattr(spec, name)
        if value is not None:
            job[CARRIAGE[name].rest] = number(value)
    for name in _SWITCHES:
        if getattr(spec, name):
            job[CARRIAGE[name].rest] = True
    if spec.argv:
        job["argv"] = [spec.name, *spec.argv]
    _add_times(job, spec)
    _add_lists(job, spec)
    _add_flags(job, spec)
    return job


def number(value: float) -> Body:
    """Return slurmrestd's structure for a number that is set."""
    return {"set": True, "infinite": False, "number": value}


def unlimited() -> Body:
    """Return slurmrestd's structure for "no limit"."""
    return {"set": False, "infinite": True, "number": 0}


def _add_times(job: Body, spec: JobSpec) -> None:
    for name, key in (("time_limit_min", "time_limit"), ("time_min_min", "time_minimum")):
        value: Minutes | None = getattr(spec, name)
        if value is not None:
            job[key] = unlimited() if value == UNLIMITED else number(int(value))
    if spec.begin is not None:
        job["begin_time"] = number(to_epoch(spec.begin) or 0)
    if spec.deadline is not None:
        job["deadline"] = to_epoch(spec.deadline)
    if spec.delay_boot_s is not None:
        job["delay_boot"] = spec.delay_boot_s
    if spec.signal is not None:
        end = warning(spec.signal)
        job["kill_warning_signal"] = str(end.number)
        job["kill_warning_delay"] = number(end.before_s)
        flags = [("BATCH_JOB", end.batch_only), ("RESERVATION_JOB", end.overlap_reservation)]
        job["kill_warning_flags"] = [name for name, wanted in flags if wanted]


def _add_lists(job: Body, spec: JobSpec) -> None:
    if spec.open_mode is not None:
        job["open_mode"] = [spec.open_mode.upper()]
    if spec.profile is not None:
        words = [word.strip().upper() for word in spec.profile.split(",")]
        job["profile"] = ["ENERGY", "LUSTRE", "NETWORK", "TASK"] if words == ["ALL"] else words
    for key, hosts in (("required_nodes", spec.nodelist), ("excluded_nodes", spec.exclude)):
        if hosts is not None:
            job[key] = [hosts]
    if spec.mail_type:
        job["mail_type"] = list(_each(spec.mail_type, _MAIL, "mail_type"))
    if spec.mem_bind is not None:
        _add_mem_bind(job, spec.mem_bind)
    if spec.gpu_freq is not None:
        job["tres_freq"] = f"gpu:{spec.gpu_freq}"
    if spec.site:
        job["spank_environment"] = [f"{name}={value}" for name, value in spec.site.items()]


def _add_flags(job: Body, spec: JobSpec) -> None:
    flags = [flag for name, flag in _FLAGS.items() if getattr(spec, name)]
    if spec.kill_on_invalid_dependency is not None:
        flags.append(f"{'' if spec.kill_on_invalid_dependency else 'NO_'}KILL_INVALID_DEPENDENCY")
    for flag in spec.gres_flags:
        if flag not in _GRES_FLAGS:
            # slurmrestd drops a flag that it doesn't know and makes the job all the same.
            raise Unsupported(f"slurmrestd has no --gres-flags={flag}; leave it out", field="gres_flags")
        flags.append(_GRES_FLAGS[flag])
    if flags:
        job["flags"] = flags
    if spec.oversubscribe:
        job["shared"] = ["oversubscribe"]
    if spec.exclusive is not None:
        job["shared"] = [_SHARED[spec.exclusive]]


def _add_mem_bind(job: Body, text: str) -> None:
    kinds, _, value = text.partition(":")
    job["memory_binding_type"] = list(
        _each(
            [word for word in kinds.lower().split(",") if word not in ("q", "quiet")],
            {word: (name,) for word, name in _MEM_BIND.items()},
            "mem_bind",
        )
    )
    if value:
        job["memory_binding"] = value


def _each(words: list[str] | tuple[str, ...], table: dict[str, tuple[str, ...]], field: str) -> list[str]:
    found: list[str] = []
    for word in words:
        if word not in table:
            known = ", ".join(table)
            raise Unsupported(f"slurmrestd has no {field} {word!r}; it has {known}", field=field)
        found.extend(name for name in table[word] if name not in found)
    return found
