"""How long a pod's job may run.

Pure. The kubelet's deadline comes first and Slurm's limit is the backstop, so the job gets the deadline, the
grace and the slack until the pod starts. Without a deadline: a lease for production, the class's maximum for
the tenant, the partition's.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from bridge.policy.classes import CLASS_RULES
from bridge.policy.table import TenantRules
from bridge.policy.tenant import JobClass
from bridge.translate.ending import Refused
from bridge.translate.pods import Pod
from bridge.translate.verdict import WalltimeSource
from bridge.translate.world import DoorSettings


@dataclass(frozen=True, slots=True)
class Walltime:
    """Minutes (None: no limit) and where they come from."""

    minutes: int | None
    source: WalltimeSource


def grace_cap_s(job_class: JobClass, pod: Pod) -> int:
    """Return the seconds that a pod gets to end when Slurm ends its job: its own, capped by its class."""
    cap = CLASS_RULES[job_class].grace_s or 60
    return min(pod.grace_s, cap)


def walltime_of(
    pod: Pod,
    owner_deadline_s: int | None,
    *,
    tenant: TenantRules,
    job_class: JobClass,
    settings: DoorSettings,
) -> Walltime:
    """Return a pod's time limit.

    Raises
    ------
    Refused
        Its deadline is above what the tenant may use for this class.
    """
    longest = tenant.max_min.get(job_class)
    deadlines = [seconds for seconds in (pod.deadline_s, owner_deadline_s) if seconds is not None]
    if deadlines:
        deadline_s = max(1, min(deadlines))
        bare = _minutes(deadline_s)
        if longest is not None and bare > longest:
            raise Refused(
                "walltime.limit",
                f"activeDeadlineSeconds {deadline_s} is {bare} minutes, and class {job_class} of tenant"
                f" {tenant.name} runs at most {longest}; write {longest * 60} or less",
            )
        wanted = _minutes(deadline_s + pod.grace_s + settings.start_slack_s)
        return Walltime(wanted if longest is None else min(wanted, longest), "deadline")
    if job_class == "production":
        return Walltime(settings.lease_min if longest is None else min(settings.lease_min, longest), "lease")
    return Walltime(longest, "class") if longest is not None else Walltime(None, "none")


def on_partition(walltime: Walltime, partition: str, maxima: Mapping[str, int]) -> Walltime:
    """Cut a limit that nobody wrote to the partition's; one that is written is the user's to change."""
    most = maxima.get(partition)
    if most is None or (walltime.minutes is not None and walltime.minutes <= most):
        return walltime
    if walltime.source == "deadline":
        raise Refused(
            "walltime.partition",
            f"the pod may run {walltime.minutes} minutes by its deadline, and partition {partition} gives at"
            f" most {most}; shorten activeDeadlineSeconds",
        )
    return Walltime(most, "partition")


def _minutes(seconds: int) -> int:
    return -(-seconds // 60)
