"""Which way carries which field of a `JobSpec` to Slurm: one total table.

Pure. In: a JobSpec. Out: the ways that carry all of its set fields, native first. The table is the one
source for the choice, for `docs/reference/carriage.md` (``python -m bridge.agent.carriage_page``) and
for the contract test that submits one spec by both ways and compares the records.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from bridge.errors import Unsupported
from bridge.job import JobSpec


class Way(StrEnum):
    """A way that a job takes to slurmctld."""

    NATIVE = "native"
    REST = "rest"


@dataclass(frozen=True, slots=True)
class Carried:
    """What carries one field: pyslurm's attribute, slurmrestd's key; empty where a way can't."""

    native: str = ""
    rest: str = ""
    why: str = ""
    """Why a way is left out."""


_NONE = "pyslurm has none"
_ZERO = "0 is 'not set' for pyslurm"
_SWITCHES = "pyslurm's own reading of it fails"
_REWRITTEN = "pyslurm rewrites the value"
_RECORD = "the record differs from sbatch's"

CARRIAGE: Final[dict[str, Carried]] = {
    "script": Carried("script", "script"),
    "work_dir": Carried("working_directory", "current_working_directory"),
    "environment": Carried("environment", "environment"),
    "argv": Carried("script_args", "argv"),
    "name": Carried("name", "name"),
    "account": Carried("account", "account"),
    "partition": Carried("partitions", "partition"),
    "qos": Carried("qos", "qos"),
    "reservation": Carried("reservations", "reservation"),
    "wckey": Carried("wckey", "wckey"),
    "comment": Carried("comment", "comment"),
    "admin_comment": Carried("admin_comment", "admin_comment"),
    "time_limit_min": Carried("time_limit", "time_limit"),
    "time_min_min": Carried("time_limit_min", "time_minimum"),
    "begin": Carried("begin_time", "begin_time"),
    "deadline": Carried("deadline", "deadline"),
    "delay_boot_s": Carried("", "delay_boot", _REWRITTEN),
    "nodes_min": Carried("nodes", "minimum_nodes"),
    "nodes_max": Carried("nodes", "maximum_nodes"),
    "node_sizes": Carried("", "nodes", "pyslurm has no list of sizes"),
    "ntasks": Carried("ntasks", "tasks"),
    "ntasks_per_node": Carried("ntasks_per_node", "tasks_per_node"),
    "ntasks_per_socket": Carried("ntasks_per_socket", "tasks_per_socket"),
    "ntasks_per_core": Carried("ntasks_per_core", "tasks_per_core"),
    "ntasks_per_tres": Carried("", "ntasks_per_tres", "pyslurm adds a binding"),
    "cpus_per_task": Carried("cpus_per_task", "cpus_per_task"),
    "mincpus": Carried("", "minimum_cpus_per_node", "pyslurm sets another field"),
    "cpus_min": Carried("min_cpus", "minimum_cpus"),
    "sockets_per_node": Carried("sockets_per_node", "sockets_per_node"),
    "cores_per_socket": Carried("cores_per_socket", "cores_per_socket"),
    "threads_per_core": Carried("threads_per_core", "threads_per_core"),
    "core_spec": Carried("", "core_specification", _ZERO),
    "thread_spec": Carried("", "thread_specification", _ZERO),
    "memory_per_node_mib": Carried("memory_per_node", "memory_per_node"),
    "memory_per_cpu_mib": Carried("memory_per_cpu", "memory_per_cpu"),
    "memory_per_tres": Carried("", "memory_per_tres", _REWRITTEN),
    "tmp_disk_per_node_mib": Carried("temporary_disk_per_node", "temporary_disk_per_node"),
    "tres_per_job": Carried("gpus", "tres_per_job"),
    "tres_per_node": Carried("gres_per_node", "tres_per_node"),
    "tres_per_socket": Carried("gpus_per_socket", "tres_per_socket"),
    "tres_per_task": Carried("gpus_per_task", "tres_per_task"),
    "cpus_per_tres": Carried("cpus_per_gpu", "cpus_per_tres"),
    "tres_bind": Carried("gpu_binding", "tres_bind"),
    "tres_freq": Carried("", "tres_freq", _NONE),
    "gres_flags": Carried("", "flags", "pyslurm has two of the four"),
    "array": Carried("array", "array"),
    "dependency": Carried("dependencies", "dependency"),
    "features": Carried("constraints", "constraints"),
    "prefer": Carried("", "prefer", _NONE),
    "cluster_features": Carried("cluster_constraints", "cluster_constraint"),
    "clusters": Carried(why="Sluice serves one cluster"),
    "batch_features": Carried("batch_constraints", "batch_features"),
    "nodelist": Carried("required_nodes", "required_nodes"),
    "exclude": Carried("excluded_nodes", "excluded_nodes"),
    "licenses": Carried("licenses", "licenses"),
    "network": Carried("network", "network"),
    "burst_buffer": Carried("", "burst_buffer", _NONE),
    "extra": Carried("extra", "extra"),
    "segment_size": Carried("", "segment_size", _NONE),
    "spread_segments": Carried("", "flags", _NONE),
    "consolidate_segments": Carried("", "flags", _NONE),
    "reserve_ports": Carried(why="neither way has it (slurmrestd's key of that name is another field)"),
    "hold": Carried("priority", "hold"),
    "requeue": Carried("is_requeueable", "requeue"),
    "expedited_requeue": Carried("", "flags", _NONE),
    "nice": Carried("nice", "nice"),
    "priority": Carried("priority", "priority"),
    "exclusive": Carried("", "shared", _RECORD),
    "oversubscribe": Carried("", "shared", _RECORD),
    "overcommit": Carried("overcommit", "overcommit"),
    "contiguous": Carried("requires_contiguous_nodes", "contiguous"),
    "spread": Carried("spreads_over_nodes", "flags"),
    "use_min_nodes": Carried("use_min_nodes", "flags"),
    "reboot": Carried("requires_node_reboot", "reboot"),
    "wait_all_nodes": Carried("wait_all_nodes", "wait_all_nodes"),
    "kill_on_node_fail": Carried("kill_on_node_fail", "kill_on_node_fail"),
    "kill_on_invalid_dependency": Carried("", "flags", _NONE),
    "step_manager": Carried("", "flags", _NONE),
    "external": Carried("", "flags", _NONE),
    "oom_kill_step": Carried("", "oom_kill_step", _NONE),
    "memory_update_margin_percent": Carried("", "memory_update_margin", _NONE),
    "memory_update_delay_min": Carried("", "memory_update_delay", _NONE),
    "switches": Carried("", "required_switches", _SWITCHES),
    "switches_wait_s": Carried("", "wait_for_switch", _SWITCHES),
    "signal": Carried("signal", "kill_warning_signal"),
    "mail_type": Carried("", "mail_type", "pyslurm lacks INVALID_DEPEND, which ALL means too"),
    "mail_user": Carried("mail_user", "mail_user"),
    "mcs_label": Carried("mcs_label", "mcs_label"),
    "stdin": Carried("standard_in", "standard_input"),
    "stdout": Carried("standard_output", "standard_output"),
    "stderr": Carried("standard_error", "standard_error"),
    "open_mode": Carried("log_files_open_mode", "open_mode"),
    "distribution": Carried("", "distribution", _REWRITTEN),
    "mem_bind": Carried("", "memory_binding", _NONE),
    "cpu_freq": Carried("", "cpu_frequency", _REWRITTEN),
    "gpu_freq": Carried("", "tres_freq", _NONE),
    "profile": Carried("", "profile", _REWRITTEN),
    "acctg_freq": Carried("accounting_gather_frequency", "account_gather_frequency"),
    "container": Carried("container", "container"),
    "container_id": Carried("container_id", "container_id"),
    "container_type": Carried("", "container_type", _NONE),
    "selinux_context": Carried("selinux_context", "selinux_context"),
    "site": Carried("", "spank_environment", _NONE),
}
"""JobSpec field -> what carries it. Held total by a test."""

_COUNTS: Final = tuple(
    field.name
    for field in dataclasses.fields(JobSpec)
    if field.type in ("int | None", "Minutes | None") and field.name not in ("priority", "nice")
)


def set_fields(spec: JobSpec) -> Iterator[str]:
    """Yield the names of fields that differ from "the user did not say"."""
    for field in dataclasses.fields(spec):
        if field.default is not dataclasses.MISSING:
            default: object = field.default
        elif field.default_factory is not dataclasses.MISSING:
            default = field.default_factory()
        else:
            yield field.name
            continue
        if getattr(spec, field.name) != default:
            yield field.name


def ways(spec: JobSpec) -> tuple[Way, ...]:
    """Return the ways that carry this job whole, the preferred one first.

    Raises
    ------
    Unsupported
        A set field that no single way carries; `details["field"]` is its name.
    """
    wanted = list(set_fields(spec))
    for name in wanted:
        carried = CARRIAGE[name]
        if not carried.native and not carried.rest:
            raise Unsupported(f"{name} can't be sent to Slurm: {carried.why}; leave it out", field=name)
    _refuse_nul(spec)
    found = tuple(way for way in Way if not any(obstacles(spec, wanted, way)))
    if not found:
        fields = sorted({name for way in Way for name in obstacles(spec, wanted, way)})
        raise Unsupported(
            f"no single way to Slurm carries {' and '.join(fields)} together; leave one out", field=fields[0]
        )
    return found


def require_rest(specs: Sequence[JobSpec]) -> None:
    """Do nothing when slurmrestd, the only way of a heterogeneous job, carries each component whole.

    Raises
    ------
    Unsupported
        With the name of the first field that it does not carry, and the component's place.
    """
    for place, spec in enumerate(specs):
        if Way.REST not in ways(spec):
            wanted = list(set_fields(spec))
            field = next(obstacles(spec, wanted, Way.REST))
            raise Unsupported(
                f"component {place}: slurmrestd, which takes heterogeneous jobs, does not carry {field}; "
                "leave it out",
                field=field,
            )


def obstacles(spec: JobSpec, wanted: list[str], way: Way) -> Iterator[str]:
    """Yield the set fields that keep the job from taking this way."""
    for name in wanted:
        if not getattr(CARRIAGE[name], way.value):
            yield name
    for name, hindered in _VALUES[way].items():
        if hindered(spec):
            yield name


def _zero(spec: JobSpec) -> bool:
    return any(getattr(spec, name) == 0 for name in _COUNTS)


def _not_utf8(spec: JobSpec) -> bool:
    try:
        spec.script.decode()
    except UnicodeDecodeError:
        return True
    return False


_VALUES: Final[dict[Way, dict[str, Callable[[JobSpec], bool]]]] = {
    # pyslurm takes 0 for "not set", and no script that doesn't begin as one: it could be a file's name.
    Way.NATIVE: {
        "script": lambda spec: not spec.script.startswith(b"#!"),
        "a count of 0": _zero,
        "ntasks": lambda spec: (spec.ntasks or 0) * (spec.cpus_per_task or 1) >= 0xFFFE,
    },
    # slurmrestd takes JSON.
    Way.REST: {"a script that is not UTF-8": _not_utf8},
}


def _refuse_nul(spec: JobSpec) -> None:
    """A script is a C string on its way."""
    if b"\0" in spec.script:
        raise Unsupported("the script contains a NUL character; remove it", field="script")
