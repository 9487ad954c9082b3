"""The four classes: their QOS in Slurm, who preempts whom, and their times.

Pure. One table, read by the desired state in Slurm (`bridge.tenants.accounts`), by the decision
(`bridge.policy.decide`) and by whoever shows a class.

production is never preempted: no class names it in `preempts`, and its QOS is one a tenant whose GrpTRES
is the tenant's guarantee, so that all production together fits in what is guaranteed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

from bridge.policy.site import ClassTimes, Stoppable
from bridge.policy.tenant import JobClass
from bridge.wellknown import PRODUCTION_QOS_PREFIX


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassRules:
    """What a class means in Slurm. Times in minutes or seconds as named; None is no limit."""

    priority: int
    """QOS priority, a factor of multifactor priority; a larger one is earlier."""
    preempts: tuple[JobClass, ...]
    """Classes whose jobs may be stopped for a job of this one."""
    preempt_mode: str
    """What happens to a job of this class that is preempted; "" where it never is."""
    exempt_s: int
    """Seconds of running before a job of this class may be preempted (PreemptExemptTime)."""
    grace_s: int
    """Seconds from the notice to the end of a preempted job (GraceTime)."""
    usage_factor: float
    """What a used TRES-second counts for in fair-share (UsageFactor)."""
    default_walltime_min: int
    max_walltime_min: int | None


CLASS_RULES: Final[Mapping[JobClass, ClassRules]] = {
    "production": ClassRules(
        priority=1000,
        preempts=("training", "development", "batch"),
        preempt_mode="",
        exempt_s=0,
        grace_s=0,
        usage_factor=1.0,
        default_walltime_min=1440,
        max_walltime_min=None,
    ),
    "training": ClassRules(
        priority=300,
        preempts=("batch",),
        preempt_mode="REQUEUE",
        exempt_s=60,
        grace_s=60,
        usage_factor=1.0,
        default_walltime_min=720,
        max_walltime_min=None,
    ),
    "development": ClassRules(
        priority=200,
        preempts=("batch",),
        preempt_mode="REQUEUE",
        exempt_s=60,
        grace_s=30,
        usage_factor=1.0,
        default_walltime_min=60,
        max_walltime_min=480,
    ),
    "batch": ClassRules(
        priority=100,
        preempts=(),
        preempt_mode="REQUEUE",
        exempt_s=0,
        grace_s=10,
        usage_factor=1.0,
        default_walltime_min=240,
        max_walltime_min=None,
    ),
}


def with_times(times: Mapping[Stoppable, ClassTimes]) -> Mapping[JobClass, ClassRules]:
    """Return the rules of all classes, with a site's own times where it has settled them."""
    return {**CLASS_RULES, **{name: _timed(CLASS_RULES[name], own) for name, own in times.items()}}


def _timed(rules: ClassRules, times: ClassTimes) -> ClassRules:
    return replace(
        rules,
        exempt_s=rules.exempt_s if times.exempt_s is None else times.exempt_s,
        grace_s=rules.grace_s if times.grace_s is None else times.grace_s,
    )


def qos_name(job_class: JobClass, tenant: str) -> str:
    """Return the QOS of a class for a tenant: ``training``, or ``production-<tenant>``."""
    return f"{PRODUCTION_QOS_PREFIX}{tenant}" if job_class == "production" else job_class


def class_of_qos(qos: str) -> JobClass | None:
    """Return the class that a QOS is, None for a QOS that isn't Sluice's."""
    if qos.startswith(PRODUCTION_QOS_PREFIX):
        return "production"
    for job_class in CLASS_RULES:
        if qos == job_class:
            return job_class
    return None


def walltime(job_class: JobClass, *, default_min: int | None, max_min: int | None) -> tuple[int, int | None]:
    """Return (default, maximum) minutes of a class for a tenant with these limits of its own."""
    rules = CLASS_RULES[job_class]
    limits = [limit for limit in (rules.max_walltime_min, max_min) if limit is not None]
    longest = min(limits) if limits else None
    default = default_min if default_min is not None else rules.default_walltime_min
    return (default if longest is None else min(default, longest)), longest
