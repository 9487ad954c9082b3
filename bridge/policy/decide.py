"""Decides whether a tenant may run a job, and with which account, partition, QOS, time and GPU type.

Pure: `PolicyTable` and `Request` in, `Decision` or `Refusal` out. slurmctld's ``job_submit.lua`` is the
enforcement point and the second copy of these rules; a property test demands equal decisions, word for
word. Here they serve previews, estimates and the API's error bodies.

Limits that are sums (GPUs of all jobs at once, running jobs) are Slurm's business; here a job is refused
only when it could never run.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from bridge.job import UNLIMITED, Minutes
from bridge.policy.classes import class_of_qos, qos_name
from bridge.policy.gpus import GpuRequest, Refused, least_gpus, least_nodes, read_gpus, shown, typed
from bridge.policy.request import TRES_FIELDS, Decision, Refusal, Request, Tolerated, Verdict
from bridge.policy.table import PolicyTable, TenantRules
from bridge.policy.tenant import JobClass, Mode
from bridge.wellknown import PRODUCTION_QOS_PREFIX


def decide(table: PolicyTable, request: Request) -> Verdict:
    """Decide about one job, or one component of a het job; each array task counts as a job."""
    mode = _mode(table, request)
    verdict: Decision | Refusal
    try:
        verdict = _decide(table, request)
    except Refused as refused:
        verdict = refused.refusal
    if mode == "enforce":
        return verdict
    return Tolerated(verdict if isinstance(verdict, Refusal) else None, spoken=mode == "warn")


def decide_change(table: PolicyTable, job: Request, change: Request) -> Verdict | None:
    """Decide about a user's change of a job; None when the change touches nothing that rules are about.

    `job` is the job as it is, `change` has only what the user wants otherwise. What is decided is the
    job as it would be; its time limit is judged only when the change names one.
    """
    # 0 is something said; None and a False are not.
    values = {name: getattr(change, name) for name in _CHANGEABLE}
    wanted = {name: value for name, value in values.items() if value is not None and value is not False}
    if not wanted:
        return None
    verdict = decide(table, replace(job, **{"time_limit_min": None, **wanted}))
    if isinstance(verdict, Decision) and (
        _asks_gpus(change.tres_per_task) or _asks_gpus(change.tres_per_socket)
    ):
        # slurmctld's record has neither tasks nor sockets, so that GPUs for each of them can't be counted.
        return Refused(
            "gpu.change",
            "a change can't ask for GPUs per task or socket, since the rules don't see how many of them the"
            " job has; ask for them in all or per node, or submit the job anew",
        ).refusal
    return verdict


def _asks_gpus(text: str | None) -> bool:
    return text is not None and "gres/gpu" in text


_CHANGEABLE = (
    "account",
    "partition",
    "qos",
    "time_limit_min",
    *TRES_FIELDS,
    "nodes_min",
    "nodes_max",
    "ntasks",
    "ntasks_per_node",
    "ntasks_per_socket",
    "ntasks_per_gpu",
    "sockets_per_node",
    "exclusive",
    "private_nodes",
)


def _mode(table: PolicyTable, request: Request) -> Mode:
    """Return the mode of the tenant that is asked, else of the user's default, else that for strangers."""
    user = table.users.get(request.user)
    if user is None:
        return table.strangers
    account = request.account
    if account not in user.tenants:
        account = user.default
    return table.tenants[account].mode


def _decide(table: PolicyTable, request: Request) -> Decision:
    tenant = _tenant(table, request)
    gpus = read_gpus(request)
    partition, flavor = _placed(table, request, tenant, gpus)
    job_class = _class(table, request, tenant)
    count = least_gpus(request, gpus)
    _within_limits(table, tenant, flavor, job_class, count)
    if request.private_nodes:
        raise Refused(
            "node.private",
            "--exclusive=user, mcs or topo keeps others from GPUs that nobody is charged for;"
            " write --exclusive, or leave it out",
        )
    if request.exclusive:
        _whole_nodes(table, tenant, partition, job_class, least_nodes(request))
    strings = typed(request, gpus, table.flavor_type[flavor])
    return Decision(
        account=tenant.name,
        partition=partition,
        qos=qos_name(job_class, tenant.name),
        job_class=job_class,
        flavor=flavor,
        gpus=count,
        time_limit_min=_time_limit(request, tenant, job_class),
        **strings,
    )


def _tenant(table: PolicyTable, request: Request) -> TenantRules:
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
            f" own with --account ({_listed(user.tenants)}) or leave it out",
        )
    return table.tenants[account]


def _placed(table: PolicyTable, request: Request, tenant: TenantRules, gpus: GpuRequest) -> tuple[str, str]:
    """Choose partition and flavor: what is asked, else what the other one says, else the tenant's first."""
    asked = None
    if gpus.gres_type is not None:
        asked = table.type_flavor.get(gpus.gres_type)
        if asked is None:
            raise Refused(
                "flavor.unknown",
                f"the pool has no GPUs of type {shown(gpus.gres_type)}; its types are"
                f" {_listed(sorted(table.type_flavor))}",
            )
    partition = _real_names(table, request.partition)
    flavors = _partition_flavors(table, partition)
    if not flavors:
        flavor = asked or (tenant.flavors[0] if tenant.flavors else None)
        if flavor is None:
            raise Refused(
                "flavor.none", f"tenant {tenant.name} has no GPUs of any flavor; have a grant added to it"
            )
        _granted(tenant, flavor)
        return table.flavor_partition[flavor], flavor
    for flavor in flavors:
        _granted(tenant, flavor)
    if asked is not None and flavors != [asked]:
        raise Refused(
            "partition.contradicts",
            f"the job asks for {asked} GPUs in partition {shown(partition)}; write"
            f" --partition={table.flavor_partition[asked]}, or leave the partition out",
        )
    if gpus.wanted and len(flavors) > 1:
        raise Refused(
            "gpu.untyped",
            f"partitions {shown(partition)} have different GPUs and the job does not say"
            " which; name one partition, or write --gpus=TYPE:NUMBER and leave the partition out",
        )
    return partition, flavors[0]


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
                f" {_listed(sorted(table.partition_flavor))}",
            )
        if flavor not in flavors:
            flavors.append(flavor)
    return flavors


def _granted(tenant: TenantRules, flavor: str) -> None:
    if flavor not in tenant.limit_gpus:
        raise Refused(
            "flavor.grant",
            f"tenant {tenant.name} has no {flavor} GPUs; its flavors are {_listed(tenant.flavors)}",
        )


def _class(table: PolicyTable, request: Request, tenant: TenantRules) -> JobClass:
    if not request.qos:
        return tenant.default_class
    job_class = "production" if request.qos == "production" else class_of_qos(request.qos)
    job_class = job_class or table.qos_alias.get(request.qos)
    if job_class is None:
        raise Refused(
            "class.unknown",
            f"there is no class {shown(request.qos)}; classes of tenant {tenant.name} are"
            f" {_listed(tenant.classes)}",
        )
    if request.qos.startswith(PRODUCTION_QOS_PREFIX) and request.qos != qos_name("production", tenant.name):
        raise Refused(
            "class.foreign",
            f"QOS {shown(request.qos)} is not tenant {tenant.name}'s; write --qos=production",
        )
    if job_class not in tenant.classes:
        raise Refused(
            "class.allowed",
            f"tenant {tenant.name} may not use class {job_class}; its classes are {_listed(tenant.classes)}",
        )
    return job_class


def _within_limits(
    table: PolicyTable, tenant: TenantRules, flavor: str, job_class: JobClass, count: int
) -> None:
    limit = tenant.limit_gpus[flavor]
    if count > limit:
        raise Refused(
            "flavor.limit",
            f"tenant {tenant.name} may use {limit} {flavor} GPUs at once, this job asks {count}; ask fewer"
            " or have the limit raised",
        )
    for name in tenant.ancestors:
        above = table.tenants[name].limit_gpus.get(flavor, 0)
        if count > above:
            raise Refused(
                "parent.limit",
                f"tenant {name}, which is above {tenant.name}, may use {above} {flavor} GPUs at once, this"
                f" job asks {count}; ask fewer or have its limit raised",
            )
    if tenant.max_gpus_per_job is not None and count > tenant.max_gpus_per_job:
        raise Refused(
            "job.gpus",
            f"tenant {tenant.name} allows {tenant.max_gpus_per_job} GPUs in one job, this job asks {count};"
            " ask fewer or have limits.max_gpus_per_job raised",
        )
    if job_class == "production" and count > tenant.guarantee_gpus[flavor]:
        raise Refused(
            "production.guarantee",
            f"production jobs of tenant {tenant.name} run on its {tenant.guarantee_gpus[flavor]} guaranteed"
            f" {flavor} GPUs, this job asks {count}; ask fewer or use another class",
        )


def _whole_nodes(
    table: PolicyTable, tenant: TenantRules, partition: str, job_class: JobClass, nodes: int
) -> None:
    """Refuse whole nodes whose GPUs the tenant may not use; Slurm allocates all of them (measured)."""
    first = next(name for name in partition.split(",") if name)
    own = tenant.guarantee_gpus if job_class == "production" else tenant.limit_gpus
    for flavor, held in table.node_gpus.get(first, {}).items():
        _whole_nodes_of(tenant.name, own, flavor, nodes, held)
        for name in tenant.ancestors:
            _whole_nodes_of(name, table.tenants[name].limit_gpus, flavor, nodes, held)


def _whole_nodes_of(name: str, allowed: Mapping[str, int], flavor: str, nodes: int, held: int) -> None:
    most = allowed.get(flavor, 0)
    if nodes * held > most:
        raise Refused(
            "node.exclusive",
            f"--exclusive takes all {nodes * held} {flavor} GPUs of {nodes} nodes, and tenant {name} may use"
            f" {most} for this job; leave --exclusive out",
        )


def _time_limit(request: Request, tenant: TenantRules, job_class: JobClass) -> Minutes:
    asked = request.time_limit_min
    if asked is None:
        return tenant.default_min[job_class]
    longest = tenant.max_min.get(job_class)
    if longest is None or (asked != UNLIMITED and int(asked) <= longest):
        return asked
    words = "no limit" if asked == UNLIMITED else f"{asked} minutes"
    raise Refused(
        "walltime.limit",
        f"jobs of class {job_class} of tenant {tenant.name} run at most {longest} minutes, this job asks"
        f" {words}; write --time={longest} or less",
    )


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names) if names else "none"
