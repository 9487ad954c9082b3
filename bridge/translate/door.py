"""What stands between a pod and its placement: ways around the pool, and duties that can't be held.

Pure. Each check ends the translation with its sentence (`ending`), or lets the pod pass. Every member of a
gang passes them all.
"""

from __future__ import annotations

from bridge.translate import marks
from bridge.translate.ending import Refused, Waits
from bridge.translate.pods import Pod
from bridge.translate.security import safety_faults
from bridge.translate.world import World

_OWN_SCHEDULERS = ("", "default-scheduler", marks.SCHEDULER)


def not_on_pool_by_hand(pod: Pod, world: World) -> None:
    """Refuse a node of the pool as nodeName, GPUs or not."""
    node = world.inventory.nodes.get(pod.node_name)
    if node is not None and node.pooled:
        raise Refused(
            "node.byhand",
            f"nodeName {pod.node_name} is a node of the pool, which only its scheduler sets; leave it out",
        )


def safe(pod: Pod) -> None:
    """Refuse marks of ours, and what no tenant's pod may ask."""
    mark = marks.foreign(pod.meta, allowed=marks.OWN_ON_PODS)
    if mark is not None:
        raise Refused("marks", f"{mark} is written by Sluice alone; leave it out")
    for fault in safety_faults(pod):
        raise Refused(fault.rule, fault.sentence)


def placeable(pod: Pod) -> None:
    """Refuse what a scheduler should heed and this one can't; wait for scheduling gates."""
    _scheduler(pod)
    _beyond_slurm(pod)
    if pod.gates:
        raise Waits("gates", f"the pod has scheduling gates ({', '.join(pod.gates)})")


def _scheduler(pod: Pod) -> None:
    if pod.scheduler_name not in _OWN_SCHEDULERS:
        raise Refused(
            "scheduler",
            f"scheduler {pod.scheduler_name} doesn't manage the pool; remove schedulerName",
        )
    if pod.node_name:
        raise Refused("node.byhand", "nodeName is the scheduler's to set for a pod with GPUs; leave it out")


def _beyond_slurm(pod: Pod) -> None:
    """Refuse what a scheduler should heed and this one can't."""
    for container in pod.all_containers:
        if container.host_ports:
            raise Refused(
                "host.port",
                f"container {container.name} asks for host port {container.host_ports[0]}, which isn't"
                " counted"
                " here; use a Service",
            )
    if pod.spreads:
        raise Refused(
            "spread",
            f"topology spread over {pod.spreads[0].topology_key} with DoNotSchedule isn't held here; write"
            " whenUnsatisfiable: ScheduleAnyway",
        )
    if pod.pod_affinity:
        raise Refused(
            "pod.affinity",
            "required podAffinity isn't held here; name the nodes by nodeSelector or nodeAffinity, or prefer"
            " instead of requiring",
        )
