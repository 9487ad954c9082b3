"""Nodes and tasks as sbatch settles them before it sends a job: _opt_verify() of src/sbatch/opt.c.

A node list fixes the number of nodes, nodes without tasks make one task each, more nodes than tasks are
given back; the counts that slurmctld gets are these. Also what sbatch puts into the job's environment
about them.
"""

from __future__ import annotations

from bridge.sbatch import conflicts, nodes
from bridge.sbatch.distribution import plane_size
from bridge.sbatch.draft import Draft
from bridge.sbatch.integers import int32, short
from bridge.sbatch.refusal import BAD_REQUEST, Refusal, bad_number

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
    said: list[str] = []
    try:
        hint = _settle(draft, said)
    except Refusal as refusal:
        raise refusal.after(*said) from None
    if said:
        raise Refusal(*said, exit_code=BAD_REQUEST)
    return hint


def _settle(draft: Draft, said: list[str]) -> str | None:
    """Settle; faults after which sbatch goes on looking are added to `said`."""
    if draft.quiet and draft.verbose:
        said.append("sbatch: error: don't specify both --verbose (-v) and --quiet (-Q)")
    if draft.reserve_ports is not None and not draft.step_manager:
        said.append(
            "sbatch: error: Slurmstepd step management must be enabled to use --resv-ports for job"
            " allocations"
        )
    hint = conflicts.hint(draft)
    _count_listed_nodes(draft)
    if draft.cpus_per_task and (draft.mincpus is None or draft.mincpus < draft.cpus_per_task):
        draft.mincpus = draft.cpus_per_task
    if draft.nodes_min < 0 or draft.nodes_max < 0 or 0 < draft.nodes_max < draft.nodes_min:
        said.append(f"sbatch: error: invalid number of nodes (-N {draft.nodes_min}-{draft.nodes_max})")
    _check_planes(draft)
    _tasks_and_nodes(draft)
    if arbitrary(draft):
        _count_arbitrary(draft)
    per_core, threads = draft.ntasks_per_core, draft.threads_per_core
    if per_core is not None and threads is not None and threads < per_core:
        said.append(
            f"sbatch: error: --ntasks-per-core ({per_core}) can not be bigger than"
            f" --threads-per-core ({threads})"
        )
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
    return nodes.hosts(draft.nodelist)


def _count_listed_nodes(draft: Draft) -> None:
    if draft.nodes or draft.nodelist is None:
        return
    names = listed(draft)
    if names is not None or not draft.nodelist:
        draft.nodes_min = len(set(names or ()))
        draft.nodes = True


def _check_planes(draft: Draft) -> None:
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
                draft.ntasks = int32(draft.ntasks * factor)
                draft.ntasks_set = True
    elif draft.nodes and draft.ntasks_set:
        draft.nodes_max = min(draft.nodes_max, draft.ntasks)
        if draft.ntasks < draft.nodes_min:
            draft.warnings.append(
                f"sbatch: warning: can't run {draft.ntasks} processes on {draft.nodes_min} nodes,"
                f" setting nnodes to {draft.ntasks}"
            )
            draft.nodes_min = draft.nodes_max = draft.ntasks


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
        "SLURM_THREADS_PER_CORE": short(draft.threads_per_core),
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
