"""Who and where: which tenant, partition, flavor and class a job is for.

Pure. What is asked, else what something else that is asked says, else the tenant's default. The second copy
of these rules is in ``slurm-conf/job_submit``.
"""

from __future__ import annotations

from bridge.policy.classes import class_of_qos, qos_name
from bridge.policy.gpus import GpuRequest
from bridge.policy.refused import Refused, listed, shown
from bridge.policy.request import Request
from bridge.policy.table import PolicyTable, TenantRules
from bridge.policy.tenant import JobClass, Mode
from bridge.wellknown import PRODUCTION_QOS_PREFIX


def mode_of(table: PolicyTable, request: Request) -> Mode:
    """Return the mode of the tenant that is asked, else of the user's default, else that for strangers."""
    user = table.users.get(request.user)
    if user is None:
        return table.strangers
    account = request.account
    if account not in user.tenants:
        account = user.default
    return table.tenants[account].mode


def tenant_of(table: PolicyTable, request: Request) -> TenantRules:
    """Return the tenant."""
    user = table.users.get(request.user)
    if user is None:
        raise Refused(
            "user.unknown",
            f"user {shown(request.user)} is not a member of any tenant; ask a manager of your tenant to"
            " add you",
        )
    account = request.account or user.default
    if account not in user.tenants:
        raise Refused(
            "account.foreign",
            f"user {shown(request.user)} is not a member of a tenant {shown(account)}; name one of your"
            f" own with --account ({listed(user.tenants)}) or leave it out",
        )
    return table.tenants[account]


def placed(table: PolicyTable, request: Request, tenant: TenantRules, gpus: GpuRequest) -> tuple[str, str]:
    """Choose partition and flavor: what is asked, else what the other one says, else the tenant's first."""
    asked = None
    if gpus.gres_type is not None:
        asked = table.type_flavor.get(gpus.gres_type)
        if asked is None:
            raise Refused(
                "flavor.unknown",
                f"the pool has no GPUs of type {shown(gpus.gres_type)}; its types are"
                f" {listed(sorted(table.type_flavor))}",
            )
    partition = _real_names(table, request.partition)
    flavors = _partition_flavors(table, partition)
    if not flavors:
        flavor = asked or _first(table, tenant, gpus)
        if flavor is None:
            raise Refused(
                "flavor.none", f"tenant {tenant.name} has no GPUs of any flavor; have a grant added to it"
            )
        _granted(tenant, flavor)
        return table.flavor_partition[flavor], flavor
    for flavor in flavors:
        _granted(tenant, flavor)
    _one_kind(table, gpus, asked, partition=partition, flavors=flavors)
    return partition, flavors[0]


def _first(table: PolicyTable, tenant: TenantRules, gpus: GpuRequest) -> str | None:
    """Choose the first flavor with GPUs for a job that wants some, else one without, so that none idle."""
    bare = [flavor for flavor in tenant.flavors if flavor in table.cpu_flavors]
    if bare and not gpus.wanted:
        return bare[0]
    return next((flavor for flavor in tenant.flavors if flavor not in table.cpu_flavors), None)


def _one_kind(
    table: PolicyTable, gpus: GpuRequest, asked: str | None, *, partition: str, flavors: list[str]
) -> None:
    if asked is not None and flavors != [asked]:
        raise Refused(
            "partition.contradicts",
            f"the job asks for {asked} GPUs in partition {shown(partition)}; write"
            f" --partition={table.flavor_partition[asked]}, or leave the partition out",
        )
    if gpus.wanted and any(flavor in table.cpu_flavors for flavor in flavors):
        raise Refused(
            "partition.gpus",
            f"the job asks for GPUs, and partition {shown(partition)} has nodes without any; name another"
            " one, or leave the partition out",
        )
    if gpus.wanted and len(flavors) > 1:
        raise Refused(
            "gpu.untyped",
            f"partitions {shown(partition)} have different GPUs and the job does not say"
            " which; name one partition, or write --gpus=TYPE:NUMBER and leave the partition out",
        )


def _real_names(table: PolicyTable, partition: str | None) -> str:
    names = (partition or "").split(",")
    return ",".join(
        name if name in table.partition_flavor else table.partition_alias.get(name, name) for name in names
    )


def _partition_flavors(table: PolicyTable, partition: str) -> list[str]:
    flavors: list[str] = []
    for name in filter(None, partition.split(",")):
        flavor = table.partition_flavor.get(name)
        if flavor is None:
            raise Refused(
                "partition.unknown",
                f"there is no partition {shown(name)} for tenants; partitions are"
                f" {listed(sorted(table.partition_flavor))}",
            )
        if flavor not in flavors:
            flavors.append(flavor)
    return flavors


def _granted(tenant: TenantRules, flavor: str) -> None:
    if flavor not in tenant.limit:
        raise Refused(
            "flavor.grant",
            f"tenant {tenant.name} has no {flavor} GPUs; its flavors are {listed(tenant.flavors)}",
        )


def class_of(table: PolicyTable, request: Request, tenant: TenantRules) -> JobClass:
    """Return the class."""
    if not request.qos:
        return tenant.default_class
    job_class = "production" if request.qos == "production" else class_of_qos(request.qos)
    job_class = job_class or table.qos_alias.get(request.qos)
    if job_class is None:
        raise Refused(
            "class.unknown",
            f"there is no class {shown(request.qos)}; classes of tenant {tenant.name} are"
            f" {listed(tenant.classes)}",
        )
    if request.qos.startswith(PRODUCTION_QOS_PREFIX) and request.qos != qos_name("production", tenant.name):
        raise Refused(
            "class.foreign",
            f"QOS {shown(request.qos)} is not tenant {tenant.name}'s; write --qos=production",
        )
    if job_class not in tenant.classes:
        raise Refused(
            "class.allowed",
            f"tenant {tenant.name} may not use class {job_class}; its classes are {listed(tenant.classes)}",
        )
    return job_class
