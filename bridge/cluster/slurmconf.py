"""Renders Slurm's configuration files from the templates in ``slurm-conf/`` and a `Pool`.

Pure. What flows in: templates as text (``string.Template``), the pool, the confinement. What flows out:
files of /etc/slurm by name. Secrets don't flow through here: they are made inside the stack's volumes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import timedelta
from string import Template
from typing import Final

from bridge.cluster.pool import Confinement, Node, Pool
from bridge.cluster.subnet import Subnet

TEMPLATES: Final = ("slurm.conf", "gres.conf", "cgroup.conf", "slurmdbd.conf")
"""Files rendered; each has a template ``slurm-conf/NAME.in``."""

MIB_PER_GPU: Final = 8192
"""DefMemPerGPU: memory of a GPU job that names none, 8 GPUs of a 64 GiB node."""

MIB_PER_CPU: Final = 1024
"""DefMemPerCPU; without one a job takes the whole node's memory and nothing shares the node."""

SCHEDULER: Final = (
    # Few nodes: a whole look costs nothing, and a user waits for the first start.
    "batch_sched_delay=0",
    "sched_interval=5",
    "bf_interval=5",
    "bf_continue",
    "bf_window=10080",
)

_PLUGINS: Final[Mapping[Confinement, Mapping[str, str]]] = {
    Confinement.CGROUP_V2: {"proctrack": "proctrack/cgroup", "task": "task/cgroup"},
    Confinement.NONE: {"proctrack": "proctrack/linuxproc", "task": "task/none"},
}

_CGROUP: Final[Mapping[Confinement, str]] = {
    # Cores aren't confined: a simulated node has more of them than the host.
    Confinement.CGROUP_V2: "CgroupPlugin=cgroup/v2\nIgnoreSystemd=yes\nEnableControllers=yes\n"
    "ConstrainDevices=yes\nConstrainRAMSpace=yes\nConstrainCores=no",
    Confinement.NONE: "CgroupPlugin=disabled",
}


def render(
    pool: Pool, confinement: Confinement, subnet: Subnet, templates: Mapping[str, str]
) -> dict[str, str]:
    """Render all files.

    Parameters
    ----------
    subnet
        Addresses of the parts: Slurm is told addresses, so that it never waits for a name.
    templates
        Text of each template by the name of the file that it makes; a name or value that a template
        asks for and this module doesn't know is a `KeyError` (held by a test).

    Returns
    -------
    dict
        Text by file name. ``slurmdbd.conf`` still has ``@PASSWORD@``.
    """
    values = {
        "cluster": pool.cluster,
        "slurmctld_host": "slurmctld",
        **{f"{part}_address": subnet.of_part(part) for part in ("slurmctld", "slurmdbd", "mariadb")},
        **_PLUGINS[confinement],
        "cgroup": _CGROUP[confinement],
        "tres": ",".join(["gres/gpu", *(f"gres/gpu:{flavor}" for flavor in pool.flavors)]),
        "mib_per_cpu": str(MIB_PER_CPU),
        "scheduler": ",".join(SCHEDULER),
        "kill_wait_s": _seconds(pool.timing.kill_wait),
        "min_job_age_s": _seconds(pool.timing.min_job_age),
        "slurmd_timeout_s": _seconds(pool.timing.slurmd_timeout),
        "priority_calc_min": str(max(1, round(pool.timing.priority_calc / timedelta(minutes=1)))),
        "nodes": "\n".join(_node(node, subnet.of_node(i)) for i, node in enumerate(pool.nodes)),
        "partitions": "\n".join(_partition(pool, flavor) for flavor in pool.flavors),
        "devices": "\n".join(line for node in pool.nodes for line in _devices(node)),
    }
    return {name: Template(templates[name]).substitute(values) for name in TEMPLATES}


def _seconds(duration: timedelta) -> str:
    return str(round(duration.total_seconds()))


def _node(node: Node, address: str) -> str:
    gres = ",".join(f"gpu:{flavor}:{count}" for flavor, count in node.gpus.items())
    return (
        f"NodeName={node.name} NodeAddr={address} CPUs={node.cpus} Boards=1 SocketsPerBoard={node.sockets}"
        f" CoresPerSocket={node.cores_per_socket} ThreadsPerCore=1 RealMemory={node.memory_mib}"
        f" Gres={gres} State=UNKNOWN"
    )


def _partition(pool: Pool, flavor: str) -> str:
    weights = [
        f"CPU={pool.billing.cpu:g}",
        f"Mem={pool.billing.memory_gib:g}G",
        *(f"GRES/gpu:{name}={pool.billing.gpus[name]:g}" for name in pool.flavors),
    ]
    nodes = ",".join(node.name for node in pool.nodes_with(flavor))
    default = "YES" if flavor == pool.flavors[0] else "NO"
    return (
        f"PartitionName={flavor} Nodes={nodes} Default={default} State=UP MaxTime=INFINITE"
        f" DefaultTime={round(pool.default_time / timedelta(minutes=1))} DefMemPerGPU={MIB_PER_GPU}"
        f' TRESBillingWeights="{",".join(weights)}"'
    )


def _devices(node: Node) -> Iterator[str]:
    first = 0
    for flavor, count in node.gpus.items():
        last = first + count - 1
        span = f"{first}" if count == 1 else f"[{first}-{last}]"
        yield f"NodeName={node.name} Name=gpu Type={flavor} File=/dev/fgpu{span}"
        first = last + 1
