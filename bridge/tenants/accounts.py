"""What Slurm's accounting should hold for the tenants: accounts, associations, QOS, partitions' accounts.

Pure. What flows in: documents and the pool. What flows out: `Desired`. This and `bridge.tenants.plan` are
the one writer of associations: each is desired whole, with all its limits. What Sluice made carries a mark
(an account's organization, a QOS's description); whatever has none is never touched.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from bridge.policy.classes import CLASS_RULES, ClassRules, qos_name, walltime
from bridge.policy.pool import Pool
from bridge.policy.table import PolicyTable
from bridge.policy.tenant import JobClass, Tenant
from bridge.slurm.port import Account, Association, Qos
from bridge.wellknown import CLASSES

ORGANIZATION: Final = "sluice"
"""Organization of each account that Sluice made."""
QOS_MARK: Final = "Sluice "
"""How the description of each QOS that Sluice made begins."""
NOBODY: Final = frozenset({"root"})
"""AllowAccounts of a partition that no tenant may use: an empty list would mean everybody."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Desired:
    """All that Sluice wants in Slurm. Accounts and associations stand parents first."""

    qos: tuple[Qos, ...]
    accounts: tuple[Account, ...]
    associations: tuple[Association, ...]
    partition_accounts: Mapping[str, frozenset[str]]
    adopted: frozenset[str] = frozenset()
    """Accounts that Sluice takes over, whoever made them."""
    unmanaged: Mapping[str, Unmanaged] = field(default_factory=dict)
    """Accounts that are described and left alone."""
    unsure: frozenset[str] = frozenset()
    """Accounts that no user leaves now: who belongs to them can't be looked up."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Unmanaged:
    """What a document says of an account that it does not manage."""

    association: Association
    members: frozenset[str]
    pool_gpus: Mapping[str, int]
    """TRES of each flavor to the GPUs that there are: a limit of that many is as good as none."""


def desired(
    tenants: Iterable[Tenant],
    pool: Pool,
    table: PolicyTable,
    classes: Mapping[JobClass, ClassRules] = CLASS_RULES,
) -> Desired:
    """Derive everything from the documents.

    `table` says which of several tenants is a user's default, `classes` what a class means in Slurm.
    """
    everybody = parents_first(tenants)
    ordered = tuple(tenant for tenant in everybody if tenant.managed)
    return Desired(
        qos=(
            *(_shared_qos(classes) if ordered or not everybody else ()),
            *(_production_qos(t, pool, classes) for t in ordered if "production" in t.classes.allowed),
        ),
        accounts=tuple(
            Account(
                name=tenant.name,
                parent=tenant.parent or "root",
                description=tenant.display_name or tenant.name,
                organization=ORGANIZATION,
            )
            for tenant in ordered
        ),
        associations=(
            *(_account(tenant, pool) for tenant in ordered),
            *(_user(tenant, member.user, table) for tenant in ordered for member in tenant.members),
        ),
        partition_accounts={
            flavor.partition: frozenset(t.name for t in ordered if flavor.name in t.flavors) or NOBODY
            for flavor in pool.flavors.values()
        },
        adopted=frozenset(tenant.name for tenant in ordered if tenant.adopts),
        unmanaged={
            tenant.name: Unmanaged(
                association=_account(tenant, pool),
                members=frozenset(member.user for member in tenant.members),
                pool_gpus={
                    f"gres/gpu:{f.gres_type}": f.configured for f in pool.flavors.values() if f.gres_type
                },
            )
            for tenant in everybody
            if not tenant.managed
        },
    )


def parents_first(tenants: Iterable[Tenant]) -> tuple[Tenant, ...]:
    """Order tenants by depth, then name."""
    by_name = {tenant.name: tenant for tenant in tenants}

    def depth(tenant: Tenant) -> int:
        above = by_name.get(tenant.parent or "")
        return 0 if above is None else depth(above) + 1

    return tuple(sorted(by_name.values(), key=lambda tenant: (depth(tenant), tenant.name)))


def _shared_qos(classes: Mapping[JobClass, ClassRules]) -> tuple[Qos, ...]:
    return tuple(_qos(name, "", {}, classes[name]) for name in CLASSES if name != "production")


def _production_qos(tenant: Tenant, pool: Pool, classes: Mapping[JobClass, ClassRules]) -> Qos:
    # A flavor without a guarantee has 0: production never runs on what isn't guaranteed.
    guarantee = {
        f"gres/gpu:{flavor.gres_type}": grant.guarantee if (grant := tenant.flavors.get(name)) else 0
        for name, flavor in pool.flavors.items()
        if flavor.kind == "gpu"
    }
    limits = {"gres/gpu": sum(guarantee.values()), **guarantee}
    return _qos("production", tenant.name, limits, classes["production"])


def _qos(job_class: JobClass, tenant: str, grp_tres: Mapping[str, int], rules: ClassRules) -> Qos:
    return Qos(
        name=qos_name(job_class, tenant),
        description=f"{QOS_MARK}class {job_class}{f' of {tenant}' if tenant else ''}",
        priority=rules.priority,
        preempt=frozenset(rules.preempts),
        preempt_mode=rules.preempt_mode,
        preempt_exempt_s=rules.exempt_s,
        grace_s=rules.grace_s,
        usage_factor=rules.usage_factor,
        max_wall_min=rules.max_walltime_min,
        grp_tres=grp_tres,
    )


def _account(tenant: Tenant, pool: Pool) -> Association:
    # Limits on each type and on the total: a request that came untyped past everything still meets one.
    limits = {
        f"gres/gpu:{flavor.gres_type}": grant.limit if (grant := tenant.flavors.get(name)) else 0
        for name, flavor in pool.flavors.items()
        if flavor.kind == "gpu"
    }
    return Association(
        account=tenant.name,
        parent=tenant.parent or "root",
        shares=tenant.weight,
        qos=_qos_names(tenant),
        default_qos=qos_name(tenant.classes.default, tenant.name),
        grp_tres={
            "gres/gpu": sum(limits.values()),
            **limits,
            **_tres(tenant.limits.max_nodes, _cpus(tenant, pool), tenant.limits.max_memory_mib),
        },
        grp_jobs=tenant.limits.max_running_jobs,
        max_jobs=tenant.limits.max_running_jobs_per_user,
        grp_submit_jobs=tenant.limits.max_submitted_jobs,
        max_submit_jobs=tenant.limits.max_submitted_jobs_per_user,
        max_wall_min=_longest(tenant),
    )


def _user(tenant: Tenant, user: str, table: PolicyTable) -> Association:
    # What an account's users would inherit is written out: accounting shows the same either way.
    return Association(
        account=tenant.name,
        user=user,
        qos=_qos_names(tenant),
        default_qos=qos_name(tenant.classes.default, tenant.name),
        grp_tres=_tres(
            tenant.limits.max_nodes_per_user,
            tenant.limits.max_cpus_per_user,
            tenant.limits.max_memory_mib_per_user,
        ),
        max_jobs=tenant.limits.max_running_jobs_per_user,
        max_submit_jobs=tenant.limits.max_submitted_jobs_per_user,
        max_wall_min=_longest(tenant),
        is_default=table.users[user].default == tenant.name,
    )


def _cpus(tenant: Tenant, pool: Pool) -> int | None:
    """Return the CPUs that all jobs may use at once: the tenant's own limit, and what its grants add up to.

    Slurm has no limit on the CPUs of one partition; with a grant of CPU-only nodes, the sum of that grant and
    of the CPUs that go with the tenant's GPUs is as near as it gets.
    """
    found = [] if tenant.limits.max_cpus is None else [tenant.limits.max_cpus]
    if not tenant.managed:
        return tenant.limits.max_cpus
    flavors = [(pool.flavors[name], grant) for name, grant in tenant.flavors.items() if name in pool.flavors]
    shares = [flavor.share.cpus_per_gpu if flavor.share else 1 for flavor, _grant in flavors]
    if any(flavor.kind == "cpu" for flavor, _grant in flavors) and None not in shares:
        found.append(
            sum(grant.limit * (share or 0) for (_flavor, grant), share in zip(flavors, shares, strict=True))
        )
    return min(found, default=None)


def _tres(nodes: int | None, cpus: int | None, memory_mib: int | None) -> dict[str, int]:
    values = {"node": nodes, "cpu": cpus, "mem": memory_mib}
    return {name: value for name, value in values.items() if value is not None}


def _qos_names(tenant: Tenant) -> frozenset[str]:
    return frozenset(qos_name(job_class, tenant.name) for job_class in tenant.classes.allowed)


def _longest(tenant: Tenant) -> int | None:
    longest = [
        walltime(job_class, default_min=None, max_min=tenant.limits.max_walltime_min)[1]
        for job_class in tenant.classes.allowed
    ]
    numbers = [minutes for minutes in longest if minutes is not None]
    return max(numbers) if len(numbers) == len(longest) else None
