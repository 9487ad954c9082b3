"""JobSpec -> the attributes of pyslurm's job description.

Pure. Only fields that `bridge.agent.carriage` gives to the native way come here. Every attribute whose
absence pyslurm would fill in is set, in the form that the child hands through unchanged.
"""

from __future__ import annotations

from typing import Any, Final

from bridge.agent.carriage import CARRIAGE
from bridge.agent.derive import minimum_cpus, warning
from bridge.job import UNLIMITED, JobSpec
from bridge.units import INFINITE, NO_VAL, to_epoch

_OTHERWISE: Final = frozenset(
    (
        "script",
        "environment",
        "argv",
        "nodes_min",
        "nodes_max",
        "hold",
        "priority",
        "begin",
        "deadline",
        "signal",
    )
)
"""Fields that are not handed over as they are."""
_MEM_PER_CPU: Final = 1 << 63
_SHARED: Final = {"exclusive": 0, "user": 2, "mcs": 3, "topo": 4}
"""slurm.h's JOB_SHARED_*."""
_YES_OR_NO: Final = frozenset(("requeue", "wait_all_nodes", "kill_on_node_fail"))
"""Fields whose False is a wish of its own, not "the user did not say"."""


def attributes(spec: JobSpec, *, uid: int, gid: int) -> dict[str, Any]:
    """Return pyslurm's attributes for a job of `uid`; keys are attribute names, values plain."""
    found: dict[str, Any] = {
        "user_id": uid,
        "group_id": gid,
        "script": spec.script,
        "environment": dict(spec.environment),
        "nodes": (_or_unset(spec.nodes_min), _or_unset(spec.nodes_max)),
        # pyslurm's name for the job's total (slurm.h min_cpus), not for --mincpus.
        "min_cpus_per_node": minimum_cpus(spec),
    }
    for name, carried in CARRIAGE.items():
        value = getattr(spec, name)
        if not carried.native or name in _OTHERWISE or value is None:
            continue
        if value is not False or name in _YES_OR_NO:
            found[carried.native] = value
    if spec.argv:
        found["script_args"] = [spec.name, *spec.argv]
    if spec.hold or spec.priority is not None:
        found["priority"] = 0 if spec.hold else spec.priority
    if spec.begin is not None:
        found["begin_time"] = to_epoch(spec.begin)
    if spec.deadline is not None:
        found["deadline"] = to_epoch(spec.deadline)
    if spec.signal is not None:
        end = warning(spec.signal)
        found["signal"] = {
            "signal": end.number,
            "time": end.before_s,
            "batch_only": end.batch_only,
            "allow_reservation_overlap": end.overlap_reservation,
        }
    return found


def judged(spec: JobSpec, *, uid: int, gid: int) -> dict[str, Any]:
    """Return slurm.h's fields (job_desc_msg_t) of what policy looks at: texts, bytes and whole numbers."""
    return {
        "user_id": uid,
        "group_id": gid,
        "account": spec.account,
        "partition": spec.partition,
        "qos": spec.qos,
        "reservation": spec.reservation,
        "name": spec.name,
        "features": spec.features,
        "comment": spec.comment,
        "admin_comment": spec.admin_comment,
        "work_dir": spec.work_dir,
        "script": spec.script or None,
        "array_inx": spec.array,
        "tres_per_job": spec.tres_per_job,
        "tres_per_node": spec.tres_per_node,
        "tres_per_socket": spec.tres_per_socket,
        "tres_per_task": spec.tres_per_task,
        "req_nodes": spec.nodelist,
        "exc_nodes": spec.exclude,
        "licenses": spec.licenses,
        "min_nodes": spec.nodes_min,
        "max_nodes": spec.nodes_max,
        "num_tasks": spec.ntasks,
        "min_cpus": minimum_cpus(spec),
        "cpus_per_task": spec.cpus_per_task,
        "ntasks_per_node": spec.ntasks_per_node,
        "time_limit": INFINITE if spec.time_limit_min == UNLIMITED else spec.time_limit_min,
        "time_min": INFINITE if spec.time_min_min == UNLIMITED else spec.time_min_min,
        "begin_time": to_epoch(spec.begin),
        "deadline": to_epoch(spec.deadline),
        "dependency": spec.dependency,
        "cpus_per_tres": spec.cpus_per_tres,
        "mem_per_tres": spec.memory_per_tres,
        "ntasks_per_tres": spec.ntasks_per_tres,
        "pn_min_cpus": spec.mincpus,
        "pn_min_memory": _memory(spec),
        "pn_min_tmp_disk": spec.tmp_disk_per_node_mib,
        "sockets_per_node": spec.sockets_per_node,
        "cores_per_socket": spec.cores_per_socket,
        "threads_per_core": spec.threads_per_core,
        "contiguous": 1 if spec.contiguous else None,
        "shared": 1 if spec.oversubscribe else _SHARED.get(spec.exclusive or ""),
        "wckey": spec.wckey,
        "priority": 0 if spec.hold else spec.priority,
    }


def _memory(spec: JobSpec) -> int | None:
    """Return slurm.h's pn_min_memory: of a node, or with MEM_PER_CPU of a CPU."""
    if spec.memory_per_cpu_mib is not None:
        return spec.memory_per_cpu_mib | _MEM_PER_CPU
    return spec.memory_per_node_mib


def _or_unset(count: int | None) -> int:
    return NO_VAL if count is None else count
