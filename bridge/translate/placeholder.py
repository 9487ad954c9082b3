"""The batch job that stands for a pod or a gang in Slurm.

Pure. What flows in: a shape and where it fits. What flows out: a `JobSpec` for one flavor. The script does
nothing; the job's GPUs are what counts. A gang whose members may share nodes is one task a member; one whose
members need a node each asks per node.
"""

from __future__ import annotations

from typing import Final

from bridge.job import UNLIMITED, JobSpec
from bridge.policy.classes import qos_name
from bridge.policy.table import PolicyTable
from bridge.translate.fit import Fitting
from bridge.translate.shape import Shape
from bridge.translate.walltime import Walltime
from bridge.wellknown import ADMIN_COMMENT_PREFIX

SCRIPT: Final = b'#!/bin/sh\ntrap "exit 0" TERM\nsleep infinity &\nwait\n'
DOOR: Final = "pods"
_ENVIRONMENT: Final = {"PATH": "/usr/local/bin:/usr/bin:/bin"}
_LONGEST_NAME: Final = 64


def admin_comment(key: str) -> str:
    """Return what marks a placement's job, so that it is found again after a crash."""
    return f"{ADMIN_COMMENT_PREFIX}{DOOR}:{key}"


def placeholder(
    shape: Shape,
    *,
    flavor: str,
    fitting: Fitting,
    members: int,
    key: str,
    name: str,
    walltime: Walltime,
    rules: PolicyTable,
) -> JobSpec:
    """Describe the job of `members` pods of one shape on one flavor."""
    gpus = f"gres/gpu:{rules.flavor_type[flavor]}:{fitting.gpus_per_pod}"
    each_alone = members == 1 or fitting.per_node_max[flavor] == 1
    memory = shape.memory_mib
    per_gpu = None if memory is None else f"gres/gpu:{-(-memory // fitting.gpus_per_pod)}"
    return JobSpec(
        script=SCRIPT,
        work_dir="/",
        environment=dict(_ENVIRONMENT),
        name=name[:_LONGEST_NAME],
        account=shape.tenant.name,
        partition=rules.flavor_partition[flavor],
        qos=qos_name(shape.job_class, shape.tenant.name),
        comment=f"pod {shape.pod.meta.namespace}/{name}",
        admin_comment=admin_comment(key),
        time_limit_min=UNLIMITED if walltime.minutes is None else walltime.minutes,
        nodes_min=members if each_alone else None,
        nodes_max=members if each_alone else None,
        ntasks=members,
        ntasks_per_node=1 if each_alone and members > 1 else None,
        cpus_per_task=shape.cpus,
        memory_per_node_mib=memory if each_alone else None,
        memory_per_tres=None if each_alone else per_gpu,
        tres_per_node=gpus if each_alone else None,
        tres_per_task=None if each_alone else gpus,
        features=shape.demand.feature,
        requeue=False,
        stdin="/dev/null",
        stdout="/dev/null",
        stderr="/dev/null",
        wait_all_nodes=True if members > 1 else None,
    )
