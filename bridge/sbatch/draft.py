"""The request while it is being read: what sbatch keeps in its slurm_opt_t.

Fields are named as `JobSpec`'s where they mean the same; None is "not said". A draft also remembers for
each option whether it was said, and whether the environment said it last, because sbatch's checks of
combinations ask that (slurm_option_set_by_cli, slurm_option_set_by_env of src/common/slurm_opt.c; a
directive counts as command line).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final, Literal

from bridge.job import Minutes
from bridge.sbatch.context import Origin
from bridge.sbatch.options import BY_KEY, OF_ONE_COMPONENT
from bridge.sbatch.signals import SignalAhead

Shared = Literal["exclusive", "oversubscribe", "user", "mcs", "topo"]


@dataclass(slots=True)
class Draft:
    """One component's options so far."""

    account: str | None = None
    acctg_freq: str | None = None
    array: str | None = None
    batch_features: str | None = None
    begin: datetime | None = None
    burst_buffer: str | None = None
    burst_buffer_file: str | None = None
    chdir: str | None = None
    cluster_features: str | None = None
    clusters: str | None = None
    comment: str | None = None
    container: str | None = None
    container_id: str | None = None
    consolidate_segments: bool = False
    container_type: str | None = None
    contiguous: bool = False
    core_spec: int | None = None
    thread_spec: int | None = None
    cores_per_socket: int | None = None
    cpu_freq: str | None = None
    cpus_per_gpu: int | None = None
    cpus_per_task: int | None = None
    cpus_min: int | None = None
    deadline: datetime | None = None
    delay_boot_s: int | None = None
    dependency: str | None = None
    distribution: str | None = None
    exclude: str | None = None
    export: str | None = None
    export_file: str | None = None
    expedited_requeue: bool = False
    external: bool = False
    extra: str | None = None
    extra_node_info: bool = False
    features: str | None = None
    get_user_env: bool = False
    gpu_freq: str | None = None
    gpus: str | None = None
    gpus_per_node: str | None = None
    gpus_per_socket: str | None = None
    gpus_per_task: str | None = None
    gres: str | None = None
    gres_flags: tuple[str, ...] = ()
    hint: str | None = None
    hold: bool = False
    ignore_pbs: bool = False
    kill_on_invalid_dependency: bool | None = None
    licenses: str | None = None
    mail_type: tuple[str, ...] = ()
    mail_user: str | None = None
    mcs_label: str | None = None
    mem_bind: str | None = None
    memory_per_cpu_mib: int | None = None
    memory_per_gpu_mib: int | None = None
    memory_per_node_mib: int | None = None
    memory_update_delay_min: int | None = None
    memory_update_margin_percent: int | None = None
    mincpus: int | None = None
    name: str | None = None
    network: str | None = None
    nice: int | None = None
    no_kill: bool = False
    nodelist: str | None = None
    nodes: bool = False
    nodes_min: int = 1
    nodes_max: int = 0
    node_sizes: str | None = None
    ntasks: int = 1
    ntasks_set: bool = False
    ntasks_per_core: int | None = None
    ntasks_per_gpu: int | None = None
    ntasks_per_node: int | None = None
    ntasks_per_socket: int | None = None
    ntasks_per_tres: int | None = None
    oom_kill_step: bool | None = None
    open_mode: Literal["append", "truncate"] | None = None
    overcommit: bool = False
    parsable: bool = False
    partition: str | None = None
    prefer: str | None = None
    priority: int | None = None
    profile: str | None = None
    propagate: str | None = None
    qos: str | None = None
    quiet: int = 0
    reboot: bool = False
    requeue: bool | None = None
    reservation: str | None = None
    resources: str | None = None
    reserve_ports: int | None = None
    segment_size: int | None = None
    selinux_context: str | None = None
    shared: Shared | None = None
    signal: SignalAhead | None = None
    sockets_per_node: int | None = None
    spread: bool = False
    spread_segments: bool = False
    step_manager: bool = False
    stdin: str | None = None
    stdout: str | None = None
    stderr: str | None = None
    switches: int | None = None
    switches_wait_s: int | None = None
    test_only: bool = False
    threads_per_core: int | None = None
    time_limit_min: Minutes | None = None
    time_min_min: Minutes | None = None
    tmp_disk_per_node_mib: int | None = None
    tres_bind: str | None = None
    tres_freq: str | None = None
    tres_per_task: str | None = None
    umask: int | None = None
    use_min_nodes: bool = False
    verbose: int = 0
    wait: bool = False
    wait_all_nodes: bool | None = None
    wckey: str | None = None
    wrap: str | None = None

    site: dict[str, str | None] = field(default_factory=dict)
    """Variables of the site's SPANK options to what was said."""
    said: dict[str, bool] = field(default_factory=dict)
    """Option key to whether the environment said it last; an option that was reset isn't in it."""
    by_variable: set[str] = field(default_factory=set)
    """Options that the environment said last; a reset doesn't take them out (sbatch's neither)."""
    origins: dict[str, Origin] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    work_dir: str = ""
    """The submit directory, in which a relative ``--chdir`` begins."""
    planesize: str = ""
    """The caller's SLURM_DIST_PLANESIZE."""
    now: datetime | None = None
    files: Mapping[str, bytes | None] = field(default_factory=dict)
    """What is in files that options name, by the path as it was written; None = it can't be read."""

    def reset(self, key: str) -> None:
        """Forget an option: its fields go back to "not said"."""
        for name in BY_KEY[key].into:
            setattr(self, name, getattr(_UNSAID, name))
        self.said.pop(key, None)

    def next_component(self) -> None:
        """Forget what a component of a het job says for itself alone."""
        for key in OF_ONE_COMPONENT:
            self.reset(key)

    def by_cli(self, *keys: str) -> bool:
        """Whether a directive or argument was the last to say one of these options."""
        return any(self.said.get(key) is False for key in keys)

    def by_env(self, *keys: str) -> bool:
        """Whether a variable was the last to say one of these options."""
        return any(key in self.by_variable for key in keys)

    def isset(self, key: str) -> bool:
        """Whether the option was said at all."""
        return key in self.said


_UNSAID: Final = Draft()
