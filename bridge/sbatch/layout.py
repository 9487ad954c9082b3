"""Nodes and tasks as sbatch settles them before it sends a job: _opt_verify() of src/sbatch/opt.c.

A node list fixes the number of nodes, nodes without tasks make one task each, more nodes than tasks are
given back; the counts that slurmctld gets are these. Also what sbatch puts into the job's environment
about them.
"""

from __future__ import annotations

from bridge.sbatch import conflicts, nodes
from bridge.sbatch.distribution import plane_size
from bridge.sbatch.draft import Draft
from bridge.sbatch.refusal import bad_number, fatal

_OPEN_BRACE = "{"
"""Slurm's node sets by feature, ``{...}``: sbatch doesn't look into them."""


def settle(draft: Draft) -> str | None:
    """Check the request as a whole and fill in nodes and tasks.

    Returns
    -------
    str
        The hint that counts, None without one.

    Raises
    ------
    Refusal
        In sbatch's words.
    """
    conflicts.judge(draft)
    if draft.quiet and draft.verbose:
        raise bad_number("don't specify both --verbose (-v) and --quiet (-Q)", "quiet")
    if draft.resv_ports is not None:
        raise bad_number(
            "Slurmstepd step management must be enabled to use --resv-ports for job allocations", "resv-ports"
        )
    hint = conflicts.hint(draft)
    _count_listed_nodes(draft)
    if draft.cpus_per_task and (draft.mincpus is None or draft.mincpus < draft.cpus_per_task):
        draft.mincpus = draft.cpus_per_task
    _check_counts(draft)
    _tasks_and_nodes(draft)
    if arbitrary(draft):
        _count_arbitrary(draft)
    if draft.begin and draft.deadline and draft.deadline < draft.begin:
        raise bad_number("Incompatible begin and deadline time specification", "deadline")
    return hint


def arbitrary(draft: Draft) -> bool:
    """Whether each task goes to the node that the list names for it."""
    return (draft.distribution or "").startswith("arbitrary")


def listed(draft: Draft) -> list[str] | None:
    """Expand the node list; None without one, or when it is by feature."""
    if not draft.nodelist or _OPEN_BRACE in draft.nodelist:
        return None
    names = nodes.hosts(draft.nodelist)
    if names is None:
        raise fatal("Invalid node list specified", "nodelist")
    return names


def _count_listed_nodes(draft: Draft) -> None:
    if draft.nodes or draft.nodelist is None:
        return
    names = listed(draft)
    if names is not None or not draft.nodelist:
        draft.nodes_min = len(set(names or ()))
        draft.nodes = True


def _check_counts(draft: Draft) -> None:
    if draft.nodes_min < 0 or draft.nodes_max < 0 or 0 < draft.nodes_max < draft.nodes_min:
        raise bad_number(f"invalid number of nodes (-N {draft.nodes_min}-{draft.nodes_max})", "nodes")
    size = plane_size(draft.distribution)
    if size is None:
        return
    few = draft.nodes_min <= 0 or draft.ntasks // size < draft.nodes_min
    if few and (draft.nodes_min - 1) * size >= draft.ntasks:
        raise bad_number("Too few processes for the requested {plane,node} distribution", "distribution")


def _tasks_and_nodes(draft: Draft) -> None:
    exact = draft.nodes_max in (0, draft.nodes_min)
    counted = draft.nodes or draft.extra_node_info
    if counted and exact and draft.ntasks_per_node is None and not draft.ntasks_set:
        draft.ntasks = max(draft.nodes_min, 1)
        for factor in (draft.sockets_per_node, draft.cores_per_socket, draft.threads_per_core):
            if factor is not None:
                draft.ntasks *= factor
                draft.ntasks_set = True
    elif draft.nodes and draft.ntasks_set:
        draft.nodes_max = min(draft.nodes_max, draft.ntasks)
        if draft.ntasks < draft.nodes_min:
            draft.warnings.append(
                f"can't run {draft.ntasks} processes on {draft.nodes_min} nodes,"
                f" setting nnodes to {draft.ntasks}"
            )
            draft.nodes_min = draft.nodes_max = draft.ntasks
    per_core, threads = draft.ntasks_per_core, draft.threads_per_core
    if per_core is not None and threads is not None and threads < per_core:
        raise bad_number(
            f"--ntasks-per-core ({per_core}) can not be bigger than --threads-per-core ({threads})",
            "ntasks-per-core",
        )


def _count_arbitrary(draft: Draft) -> None:
    if draft.nodelist is None or (draft.nodes and draft.ntasks_set):
        return
    names = listed(draft) or []
    if not draft.ntasks_set:
        draft.ntasks, draft.ntasks_set = len(names), True
    if not draft.nodes:
        draft.nodes = True
        draft.nodes_min = draft.nodes_max = len(set(names))


def variables(draft: Draft) -> dict[str, str]:
    """Return what sbatch tells the job's environment about its layout (set_envs, set_env_from_opts)."""
    per_gpu = draft.ntasks_per_gpu if draft.ntasks_per_tres is None else None
    tasks = draft.ntasks if draft.ntasks_set and draft.ntasks > 0 else None
    distribution = "plane" if plane_size(draft.distribution) else draft.distribution
    values = {
        "SLURM_CPUS_PER_TASK": draft.cpus_per_task,
        "SLURM_DISTRIBUTION": distribution,
        "SLURM_DIST_PLANESIZE": plane_size(draft.distribution),
        "SLURM_NPROCS": tasks,
        "SLURM_NTASKS": tasks,
        "SLURM_NTASKS_PER_CORE": draft.ntasks_per_core,
        "SLURM_NTASKS_PER_GPU": per_gpu,
        "SLURM_NTASKS_PER_NODE": draft.ntasks_per_node,
        "SLURM_NTASKS_PER_SOCKET": draft.ntasks_per_socket,
        "SLURM_NTASKS_PER_TRES": draft.ntasks_per_tres,
        "SLURM_THREADS_PER_CORE": draft.threads_per_core,
        "SLURM_CPUS_PER_GPU": draft.cpus_per_gpu,
        "SLURM_GPUS": draft.gpus,
        "SLURM_GPU_FREQ": draft.gpu_freq,
        "SLURM_GPUS_PER_NODE": draft.gpus_per_node,
        "SLURM_GPUS_PER_SOCKET": draft.gpus_per_socket,
        "SLURM_MEM_PER_GPU": draft.memory_per_gpu_mib,
        "SLURM_TRES_PER_TASK": draft.tres_per_task,
        "SLURM_TRES_BIND": draft.tres_bind,
    }
    return {name: str(value) for name, value in values.items() if value is not None}
