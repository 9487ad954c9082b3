"""The table that decisions are made from: what slurmctld's Lua and `bridge.policy.decide` both read.

Pure. What flows in: tenant documents and the pool. What flows out: `PolicyTable`, made for lookups by
name. `bridge.policy.lua` renders it for slurmctld; the decision itself is `bridge.policy.decide`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from bridge.policy.classes import walltime
from bridge.policy.pool import NO_ALIASES, Aliases, Pool, ancestors_of
from bridge.policy.tenant import JobClass, Mode, Tenant


@dataclass(frozen=True, slots=True, kw_only=True)
class TenantRules:
    """What one tenant may do. GPUs by flavor, times in minutes by class.

    `flavors` is in the document's order; the first is taken when a job says nothing about GPUs' kind.
    """

    name: str
    flavors: tuple[str, ...]
    limit_gpus: Mapping[str, int]
    guarantee_gpus: Mapping[str, int]
    classes: tuple[JobClass, ...]
    default_class: JobClass
    default_min: Mapping[JobClass, int]
    max_min: Mapping[JobClass, int]
    """Classes without an entry have no limit."""
    max_gpus_per_job: int | None
    mode: Mode = "enforce"
    ancestors: tuple[str, ...] = ()
    """The tenants above this one, the nearest first; a job has to fit into the limits of each."""


@dataclass(frozen=True, slots=True)
class UserRules:
    """Tenants of a user, sorted, and the one that is meant when a job names none."""

    default: str
    tenants: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyTable:
    """All rules, by name. `partition_flavors` and `type_flavors` give the flavor of each."""

    flavor_partition: Mapping[str, str] = field(default_factory=dict)
    flavor_type: Mapping[str, str] = field(default_factory=dict)
    partition_flavor: Mapping[str, str] = field(default_factory=dict)
    type_flavor: Mapping[str, str] = field(default_factory=dict)
    node_gpus: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    """Partition to flavor to GPUs that a whole node of it has at least; flavors sorted."""
    partition_alias: Mapping[str, str] = field(default_factory=dict)
    """A site's old partition to the flavor's partition that it means."""
    qos_alias: Mapping[str, JobClass] = field(default_factory=dict)
    strangers: Mode = "enforce"
    """Mode for users of no tenant: enforced, unless a site still has accounts that Sluice doesn't manage."""
    tenants: Mapping[str, TenantRules] = field(default_factory=dict)
    users: Mapping[str, UserRules] = field(default_factory=dict)


def table_of(tenants: Iterable[Tenant], pool: Pool, aliases: Aliases = NO_ALIASES) -> PolicyTable:
    """Build the table; a grant or an alias of a flavor that the pool lacks is left out."""
    documents = sorted(tenants, key=lambda tenant: tenant.name)
    by_name = {tenant.name: tenant for tenant in documents}
    flavors = sorted(pool.flavors.values(), key=lambda flavor: flavor.name)
    return PolicyTable(
        flavor_partition={flavor.name: flavor.partition for flavor in flavors},
        flavor_type={flavor.name: flavor.gres_type for flavor in flavors},
        partition_flavor={flavor.partition: flavor.name for flavor in flavors},
        type_flavor={flavor.gres_type: flavor.name for flavor in flavors},
        node_gpus={flavor.partition: _node_gpus(pool, flavor.partition) for flavor in flavors},
        partition_alias={
            name: pool.flavors[flavor].partition
            for name, flavor in sorted(aliases.partitions.items())
            if flavor in pool.flavors
        },
        qos_alias=dict(sorted(aliases.qos.items())),
        strangers="enforce" if all(tenant.managed for tenant in documents) else "observe",
        tenants={
            tenant.name: _tenant_rules(tenant, pool, ancestors_of(tenant, by_name)) for tenant in documents
        },
        users=_users(documents),
    )


def _node_gpus(pool: Pool, partition: str) -> Mapping[str, int]:
    held = pool.node_gpus.get(partition, {})
    return {
        name: held[flavor.gres_type]
        for name, flavor in sorted(pool.flavors.items())
        if held.get(flavor.gres_type)
    }


def _tenant_rules(tenant: Tenant, pool: Pool, ancestors: tuple[str, ...]) -> TenantRules:
    grants = {name: grant for name, grant in tenant.flavors.items() if name in pool.flavors}
    default_min: dict[JobClass, int] = {}
    max_min: dict[JobClass, int] = {}
    for job_class in tenant.classes.allowed:
        default, longest = walltime(
            job_class,
            default_min=tenant.limits.default_walltime_min,
            max_min=tenant.limits.max_walltime_min,
        )
        default_min[job_class] = default
        if longest is not None:
            max_min[job_class] = longest
    return TenantRules(
        name=tenant.name,
        flavors=tuple(grants),
        limit_gpus={name: grant.limit for name, grant in grants.items()},
        guarantee_gpus={name: grant.guarantee for name, grant in grants.items()},
        classes=tuple(dict.fromkeys(tenant.classes.allowed)),
        default_class=tenant.classes.default,
        default_min=default_min,
        max_min=max_min,
        max_gpus_per_job=tenant.limits.max_gpus_per_job,
        mode=tenant.rules,
        ancestors=ancestors,
    )


def _users(documents: Iterable[Tenant]) -> Mapping[str, UserRules]:
    # A default by name is one that Sluice manages, if there is one: describing an account changes nothing.
    managed: dict[str, str] = {}
    tenants_of: dict[str, list[str]] = {}
    marked: dict[str, str] = {}
    for tenant in documents:
        for member in tenant.members:
            tenants_of.setdefault(member.user, []).append(tenant.name)
            if tenant.managed:
                managed.setdefault(member.user, tenant.name)
            if member.default:
                marked.setdefault(member.user, tenant.name)
    return {
        user: UserRules(default=marked.get(user) or managed.get(user, names[0]), tenants=tuple(names))
        for user, names in sorted(tenants_of.items())
    }
