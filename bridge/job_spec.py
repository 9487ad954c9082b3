"""What is asked of Slurm: `JobSpec`, one batch job.

Pure data; `bridge.job` hands it on with the rest of the job model. The fields are Slurm's own (names as in
slurmrestd's job description where a plain name isn't clearer) and a unit is part of a name. None means "the
user did not say": it is never sent. How each field reaches Slurm is `bridge.agent.carriage`'s table.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final, Literal

UNLIMITED: Final = "UNLIMITED"
Minutes = int | Literal["UNLIMITED"]
"""Whole minutes, or no limit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JobSpec:
    """One batch job as it is asked for.

    Everything is as sbatch would send it: `script` byte for byte, paths as written (patterns such as
    ``%j`` unexpanded), `environment` complete (what the job starts with). TRES strings carry their
    ``gres/`` prefix (``gres/gpu:h100:2``).
    """

    script: bytes
    work_dir: str
    environment: Mapping[str, str]
    argv: tuple[str, ...] = ()
    """Arguments of the script itself, without the script's name."""
    name: str = "sbatch"

    account: str | None = None
    partition: str | None = None
    qos: str | None = None
    reservation: str | None = None
    wckey: str | None = None
    comment: str | None = None
    admin_comment: str | None = None
    """Set by Sluice alone (`bridge.wellknown.ADMIN_COMMENT_PREFIX`)."""

    time_limit_min: Minutes | None = None
    time_min_min: Minutes | None = None
    begin: datetime | None = None
    deadline: datetime | None = None
    delay_boot_s: int | None = None
    """``--delay-boot`` as Slurm counts it."""

    nodes_min: int | None = None
    nodes_max: int | None = None
    node_sizes: str | None = None
    """``--nodes`` as a list of sizes (``1,2,4-8``), when it is more than a range."""
    ntasks: int | None = None
    ntasks_per_node: int | None = None
    ntasks_per_socket: int | None = None
    ntasks_per_core: int | None = None
    ntasks_per_tres: int | None = None
    """``--ntasks-per-gpu``."""
    cpus_per_task: int | None = None
    mincpus: int | None = None
    cpus_min: int | None = None
    """CPUs for the whole job as sbatch works them out from tasks, nodes and GPUs; None: nobody did."""
    sockets_per_node: int | None = None
    cores_per_socket: int | None = None
    threads_per_core: int | None = None
    core_spec: int | None = None
    thread_spec: int | None = None

    memory_per_node_mib: int | None = None
    """0 means all of each node's memory, as in sbatch."""
    memory_per_cpu_mib: int | None = None
    memory_per_tres: str | None = None
    """``gres/gpu:MIB`` (``--mem-per-gpu``)."""
    tmp_disk_per_node_mib: int | None = None

    tres_per_job: str | None = None
    tres_per_node: str | None = None
    tres_per_socket: str | None = None
    tres_per_task: str | None = None
    cpus_per_tres: str | None = None
    tres_bind: str | None = None
    tres_freq: str | None = None
    gres_flags: tuple[str, ...] = ()

    array: str | None = None
    """``--array`` as written, ``%limit`` included."""
    dependency: str | None = None
    features: str | None = None
    """``--constraint``."""
    prefer: str | None = None
    cluster_features: str | None = None
    clusters: str | None = None
    batch_features: str | None = None
    nodelist: str | None = None
    exclude: str | None = None
    licenses: str | None = None
    network: str | None = None
    burst_buffer: str | None = None
    extra: str | None = None
    segment_size: int | None = None
    """``--segment``: nodes of a segment in a block topology."""
    spread_segments: bool = False
    consolidate_segments: bool = False
    reserve_ports: int | None = None
    """``--resv-ports``; 0 means as many as tasks."""

    hold: bool = False
    requeue: bool | None = None
    expedited_requeue: bool = False
    nice: int | None = None
    priority: int | None = None
    exclusive: Literal["exclusive", "user", "mcs", "topo", "none"] | None = None
    oversubscribe: bool = False
    overcommit: bool = False
    contiguous: bool = False
    spread: bool = False
    use_min_nodes: bool = False
    reboot: bool = False
    wait_all_nodes: bool | None = None
    kill_on_node_fail: bool | None = None
    kill_on_invalid_dependency: bool | None = None
    step_manager: bool = False
    external: bool = False
    """An allocation without a script, which something else uses."""
    oom_kill_step: bool | None = None
    memory_update_margin_percent: int | None = None
    memory_update_delay_min: int | None = None
    switches: int | None = None
    switches_wait_s: int | None = None

    signal: str | None = None
    """``--signal`` as written: ``[R][B][:]NAME|NUMBER[@SECONDS]``."""
    mail_type: tuple[str, ...] = ()
    mail_user: str | None = None
    mcs_label: str | None = None

    stdin: str | None = None
    stdout: str | None = None
    stderr: str | None = None
    open_mode: Literal["append", "truncate"] | None = None

    distribution: str | None = None
    mem_bind: str | None = None
    cpu_freq: str | None = None
    gpu_freq: str | None = None
    profile: str | None = None
    acctg_freq: str | None = None
    container: str | None = None
    container_id: str | None = None
    container_type: str | None = None
    selinux_context: str | None = None
    site: Mapping[str, str] = field(default_factory=dict)
    """Options of a site's SPANK plugins, carried as sbatch carries them."""
