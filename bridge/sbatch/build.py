"""From a settled draft to the `JobSpec` that sbatch would send: slurm_opt_create_job_desc()."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from bridge.job import JobSpec
from bridge.sbatch import gres, layout, limits, nodes, site
from bridge.sbatch.context import SubmitContext
from bridge.sbatch.draft import Draft
from bridge.sbatch.gres_counts import Counts
from bridge.sbatch.integers import short, uint32
from bridge.sbatch.refusal import Refusal, bad_number
from bridge.sbatch.tres import prefixed
from bridge.units import NO_VAL

_AS_THEY_ARE: Final = (
    *("account", "acctg_freq", "array", "batch_features", "begin", "burst_buffer", "cluster_features"),
    *("comment", "container", "container_id", "contiguous"),
    *("cpu_freq", "deadline", "delay_boot_s", "dependency", "distribution", "exclude", "features"),
    *("gres_flags", "hold", "mail_type", "mail_user", "mcs_label", "mem_bind", "memory_per_cpu_mib"),
    *("memory_per_node_mib", "network", "nice", "open_mode", "overcommit"),
    *("partition", "prefer", "profile", "qos", "reboot", "requeue", "reservation"),
    *("spread", "switches", "switches_wait_s", "time_limit_min"),
    *("time_min_min", "tres_bind", "tres_freq", "tres_per_task", "use_min_nodes"),
    *("wait_all_nodes", "wckey", "extra", "segment_size", "spread_segments", "consolidate_segments"),
    *("reserve_ports", "expedited_requeue", "kill_on_invalid_dependency", "step_manager", "oom_kill_step"),
    "external",
    *("memory_update_margin_percent", "memory_update_delay_min", "container_type", "selinux_context"),
)
"""Fields that a draft and a JobSpec call alike."""

_SHORTS: Final = (
    "core_spec",
    "thread_spec",
    "cores_per_socket",
    "mincpus",
    "ntasks_per_core",
    "threads_per_core",
)

_COUNTS: Final = (
    *("cpus_min", "cpus_per_task", "nodes_min", "nodes_max", "ntasks", "ntasks_per_node"),
    *("ntasks_per_socket", "ntasks_per_tres", "sockets_per_node"),
)

Environment = Callable[[str | None], Mapping[str, str]]
"""Makes the job's environment of the node list as it is sent."""


def build(
    draft: Draft,
    context: SubmitContext,
    *,
    script: bytes,
    argv: tuple[str, ...],
    environment: Environment,
) -> JobSpec:
    """Make the JobSpec of one component.

    Raises
    ------
    Refusal
        What sbatch finds only now: limits, node list, generic resources.
    """
    limits.check(draft)
    required = _required_nodes(draft)
    texts = _texts(draft)
    counts = _counts(draft)
    if draft.clusters is None:
        gres.validate(texts, counts, context.gres_types)
    work_dir = draft.chdir or context.work_dir
    # By name, since a draft and a JobSpec share most of them; a test holds the types.
    fields: dict[str, Any] = {name: getattr(draft, name) for name in _AS_THEY_ARE}
    fields |= {name: getattr(counts, name) for name in _COUNTS} | _files(draft, work_dir)
    fields |= _renamed(draft, texts, context) | {name: short(getattr(draft, name)) for name in _SHORTS}
    return JobSpec(
        script=script,
        work_dir=work_dir,
        environment=environment(required),
        argv=argv,
        name=_name(draft, context),
        nodelist=required,
        **fields,
    )


def _renamed(draft: Draft, texts: gres.Texts, context: SubmitContext) -> dict[str, object]:
    return {
        "site": site.of_prolog(draft.site),
        "licenses": _joined(draft.licenses, draft.resources),
        "clusters": _other_clusters(draft.clusters, context.cluster),
        "node_sizes": draft.node_sizes if draft.nodes and draft.nodes_max else None,
        "kill_on_node_fail": False if draft.no_kill else None,
        "priority": None if draft.hold else draft.priority or None,
        "exclusive": None if draft.shared == "oversubscribe" else draft.shared,
        "oversubscribe": draft.shared == "oversubscribe",
        "signal": str(draft.signal) if draft.signal else None,
        "tmp_disk_per_node_mib": _long(draft.tmp_disk_per_node_mib),
        "memory_per_tres": texts.memory_per_tres,
        "cpus_per_tres": texts.cpus_per_tres,
        "tres_per_job": texts.per_job,
        "tres_per_node": texts.per_node,
        "tres_per_socket": texts.per_socket,
    }


def _other_clusters(wanted: str | None, own: str | None) -> str | None:
    """Return the clusters when this one is not among them; this one needs no saying."""
    return None if wanted is None or own in wanted.split(",") else wanted


def _joined(licenses: str | None, resources: str | None) -> str | None:
    if licenses is None or resources is None:
        return resources if licenses is None else licenses
    return f"{licenses},{resources}"


def _name(draft: Draft, context: SubmitContext) -> str:
    if draft.name is not None:
        return draft.name
    if draft.external:
        return "external"
    if draft.wrap is not None:
        return "wrap"
    return (context.file_name or "sbatch").rpartition("/")[2]


def _files(draft: Draft, work_dir: str) -> dict[str, str | None]:
    def full(path: str | None) -> str | None:
        return path if path is None or path.startswith("/") else f"{work_dir}/{path}"

    stdin = "/dev/null" if draft.stdin is None else draft.stdin
    return {"stdin": full(stdin), "stdout": full(draft.stdout), "stderr": full(draft.stderr)}


def _required_nodes(draft: Draft) -> str | None:
    """Write the node list as sbatch does: sorted and without repeats, unless tasks follow its order."""
    if draft.nodelist is None:
        if layout.arbitrary(draft):
            raise bad_number(
                "With Arbitrary distribution you need to specify a nodelist or hostfile with the -w option",
                "distribution",
            )
        return None
    try:
        names = nodes.hosts(draft.nodelist)
    except Refusal as refusal:  # sbatch says it as an error here, not as fatal
        raise bad_number("Invalid node list specified", "nodelist").after(*refusal.words[:-1]) from None
    return nodes.host_list(names if layout.arbitrary(draft) else nodes.distinct(names))


def _texts(draft: Draft) -> gres.Texts:
    per_node = prefixed("gres/gpu", draft.gpus_per_node)
    wanted = draft.gres if (draft.gres or "none").lower() != "none" else None
    return gres.Texts(
        cpus_per_tres=f"gres/gpu:{draft.cpus_per_gpu}" if draft.cpus_per_gpu else None,
        memory_per_tres=_per_gpu(draft.memory_per_gpu_mib),
        tres_freq=draft.tres_freq,
        per_job=prefixed("gres/gpu", draft.gpus),
        per_node=",".join(filter(None, (per_node, wanted))) or None,
        per_socket=prefixed("gres/gpu", draft.gpus_per_socket),
        per_task=draft.tres_per_task,
    )


def _per_gpu(size_mib: int | None) -> str | None:
    return None if size_mib is None else f"gres/gpu:{size_mib}"


def _counts(draft: Draft) -> Counts:
    """Fill in the counts as sbatch sends them, with its estimate of CPUs."""
    least: int | None = draft.nodes_min if draft.nodes else None
    per_node = draft.ntasks_per_node
    if not draft.nodes and draft.ntasks_set and per_node is not None:
        least = -(-draft.ntasks // per_node)
    if not draft.nodes and draft.ntasks_set and draft.ntasks == 0:
        least = 0
    per_tres = draft.ntasks_per_tres if draft.ntasks_per_tres is not None else draft.ntasks_per_gpu
    return Counts(
        cpus_min=uint32(_cpus(draft)),
        cpus_per_task=short(draft.cpus_per_task),
        nodes_min=least,
        nodes_max=(draft.nodes_max or None) if draft.nodes else None,
        ntasks=_long(draft.ntasks) if draft.ntasks_set else None,
        ntasks_per_node=short(per_node),
        ntasks_per_socket=short(draft.ntasks_per_socket),
        ntasks_per_tres=short(per_tres),
        sockets_per_node=short(draft.sockets_per_node),
    )


def _long(value: int | None) -> int | None:
    """Cut to 32 bits, as `short` to 16."""
    cut = None if value is None else uint32(value)
    return None if cut == NO_VAL else cut


def _cpus(draft: Draft) -> int:
    tasks = draft.ntasks
    exact = draft.nodes_max in (0, draft.nodes_min)
    if draft.ntasks_per_node and not draft.ntasks_set and exact:
        tasks = draft.nodes_min * draft.ntasks_per_node
    if draft.overcommit:
        return max(draft.nodes_min, 1)
    if draft.cpus_per_task:
        return tasks * draft.cpus_per_task
    return 0 if draft.nodes and draft.nodes_min == 0 else tasks
