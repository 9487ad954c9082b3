"""How much and how long: what a job asks against what its tenant may use and what may go with one GPU.

Pure. A job is refused only when it could never run, or would strand GPUs. The second copy of these rules is
in ``slurm-conf/job_submit``.
"""

from __future__ import annotations

from dataclasses import dataclass

from bridge.job import UNLIMITED, Minutes
from bridge.policy.refused import Refused
from bridge.policy.request import Request
from bridge.policy.shape import least_cpus, least_memory_mib, least_nodes
from bridge.policy.table import PolicyTable, TenantRules
from bridge.policy.tenant import JobClass


@dataclass(frozen=True, slots=True, kw_only=True)
class Placed:
    """Where a job goes, and how many GPUs it asks at the least."""

    tenant: TenantRules
    job_class: JobClass
    partition: str
    flavor: str
    gpus: int


def within_limits(table: PolicyTable, request: Request, job: Placed) -> None:
    """Refuse what no limit of the tenant, or of one above it, has room for."""
    tenant, flavor, count = job.tenant, job.flavor, job.gpus
    unit = _unit(table, flavor)
    if unit == "CPUs":
        count = least_cpus(request, count)
    limit = tenant.limit[flavor]
    if count > limit:
        raise Refused(
            "flavor.limit",
            f"tenant {tenant.name} may use {limit} {flavor} {unit} at once, this job asks {count}; ask fewer"
            " or have the limit raised",
        )
    for name in tenant.ancestors:
        above = table.tenants[name].limit.get(flavor, 0)
        if count > above:
            raise Refused(
                "parent.limit",
                f"tenant {name}, which is above {tenant.name}, may use {above} {flavor} {unit} at once, this"
                f" job asks {count}; ask fewer or have its limit raised",
            )
    if tenant.max_gpus_per_job is not None and job.gpus > tenant.max_gpus_per_job:
        raise Refused(
            "job.gpus",
            f"tenant {tenant.name} allows {tenant.max_gpus_per_job} GPUs in one job, this job asks"
            f" {job.gpus}; ask fewer or have limits.max_gpus_per_job raised",
        )
    if job.job_class == "production" and count > tenant.guarantee[flavor]:
        raise Refused(
            "production.guarantee",
            f"production jobs of tenant {tenant.name} run on its {tenant.guarantee[flavor]} guaranteed"
            f" {flavor} {unit}, this job asks {count}; ask fewer or use another class",
        )


def _unit(table: PolicyTable, flavor: str) -> str:
    return "CPUs" if flavor in table.cpu_flavors else "GPUs"


def within_share(table: PolicyTable, request: Request, job: Placed) -> None:
    """Refuse what would leave GPUs without CPUs or memory; whole nodes are charged for all of their GPUs."""
    share = table.shares.get(job.flavor)
    if share is None or request.exclusive:
        return
    if job.gpus > 0:
        units, whose = job.gpus, f"{job.gpus} {job.flavor} GPUs"
        remedy = "ask for less of it, or for more GPUs"
    else:
        if share.without_gpus == "allow":
            return
        if share.without_gpus == "refuse":
            raise Refused(
                "gpu.none",
                f"partition {job.partition} is for jobs with GPUs, and this one asks for none; ask for some"
                " with --gpus, or name a partition without GPUs",
            )
        units = least_nodes(request)
        whose = f"a job without GPUs on {units} nodes of partition {job.partition}"
        remedy = "ask for less of it, or for GPUs"
    cpus = least_cpus(request, job.gpus)
    if share.cpus_per_gpu is not None and cpus > units * share.cpus_per_gpu:
        raise Refused(
            "gpu.cpus",
            f"{units * share.cpus_per_gpu} CPUs go with {whose}, so that no GPU is left without, and this job"
            f" asks {cpus}; {remedy}",
        )
    whole = table.node_memory_mib.get(first_of(job.partition), 0)
    memory = least_memory_mib(request, gpus=job.gpus, node_memory_mib=whole)
    if share.memory_mib_per_gpu is not None and memory > units * share.memory_mib_per_gpu:
        raise Refused(
            "gpu.memory",
            f"{units * share.memory_mib_per_gpu} MiB of memory go with {whose}, so that no GPU is left"
            f" without, and this job asks {memory}; {remedy}",
        )


def first_of(partition: str) -> str:
    """Return the first of the partitions that a job names."""
    return next(name for name in partition.split(",") if name)


def whole_nodes(table: PolicyTable, request: Request, job: Placed) -> None:
    """Refuse whole nodes whose GPUs the tenant may not use; Slurm allocates all of them (measured)."""
    tenant, nodes = job.tenant, least_nodes(request)
    own = tenant.guarantee if job.job_class == "production" else tenant.limit
    for flavor, held in table.node_gpus.get(first_of(job.partition), {}).items():
        unit = _unit(table, flavor)
        _whole_nodes_of(tenant.name, f"{flavor} {unit}", most=own.get(flavor, 0), held=nodes * held)
        for name in tenant.ancestors:
            above = table.tenants[name].limit.get(flavor, 0)
            _whole_nodes_of(name, f"{flavor} {unit}", most=above, held=nodes * held)


def _whole_nodes_of(name: str, what: str, *, most: int, held: int) -> None:
    if held > most:
        raise Refused(
            "node.exclusive",
            f"--exclusive takes all {held} {what} of its nodes, and tenant {name} may use {most} for this"
            " job; leave --exclusive out",
        )


def time_limit(request: Request, job: Placed) -> Minutes:
    """Return the time limit: what is asked, else the default of class and tenant."""
    asked, tenant, job_class = request.time_limit_min, job.tenant, job.job_class
    if asked is None:
        return tenant.default_min[job_class]
    longest = tenant.max_min.get(job_class)
    if request.time_settled or longest is None or (asked != UNLIMITED and int(asked) <= longest):
        return asked
    words = "no limit" if asked == UNLIMITED else f"{asked} minutes"
    raise Refused(
        "walltime.limit",
        f"jobs of class {job_class} of tenant {tenant.name} run at most {longest} minutes, this job asks"
        f" {words}; write --time={longest} or less",
    )
