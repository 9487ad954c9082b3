"""The table that decisions are made from: what slurmctld's Lua and `bridge.policy.decide` both read.

Pure. What flows in: tenant documents and the pool. What flows out: `PolicyTable`, made for lookups by
name. `bridge.policy.lua` renders it for slurmctld; the decision itself is `bridge.policy.decide`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from bridge.policy.classes import walltime
from bridge.policy.documents import ancestors_of
from bridge.policy.moment import NO_MOMENT, Maintenance, Moment
from bridge.policy.pool import Pool
from bridge.policy.site import NO_SITE, Share, Site
from bridge.policy.tenant import JobClass, Mode, Tenant


@dataclass(frozen=True, slots=True)
class UsedUp:
    """A budget that is used up until a moment (UTC)."""

    budget: str
    until: datetime
    blocks: bool
    """Whether no new job is taken; else the user is told."""


@dataclass(frozen=True, slots=True)
class Window:
    """A maintenance of some nodes of a partition, and how many of its nodes stay out of it."""

    name: str
    starts_at: datetime
    ends_at: datetime
    nodes_left: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TenantRules:
    """What one tenant may do, times in minutes by class.

    Limit and guarantee are GPUs by flavor, CPUs where its nodes have no GPUs.
    `flavors` is in the document's order; the first is taken when a job says nothing about GPUs' kind.
    """

    name: str
    flavors: tuple[str, ...]
    limit: Mapping[str, int]
    guarantee: Mapping[str, int]
    classes: tuple[JobClass, ...]
    default_class: JobClass
    default_min: Mapping[JobClass, int]
    max_min: Mapping[JobClass, int]
    """Classes without an entry have no limit."""
    max_gpus_per_job: int | None
    mode: Mode = "enforce"
    ancestors: tuple[str, ...] = ()
    """The tenants above this one, the nearest first; a job has to fit into the limits of each."""
    used_up: UsedUp | None = None
    """Its own budget, when that is used up."""


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
    """Partition to flavor to GPUs (CPUs) that a whole node of it has at least; flavors sorted."""
    cpu_flavors: frozenset[str] = frozenset()
    """Flavors of nodes without GPUs."""
    shares: Mapping[str, Share] = field(default_factory=dict)
    """Flavor to what may go with one GPU of it."""
    node_memory_mib: Mapping[str, int] = field(default_factory=dict)
    """Partition to the memory of its largest node."""
    maintenance: Mapping[str, tuple[Window, ...]] = field(default_factory=dict)
    """Partition to its maintenance windows, the first one first."""
    partition_alias: Mapping[str, str] = field(default_factory=dict)
    """A site's old partition to the flavor's partition that it means."""
    qos_alias: Mapping[str, JobClass] = field(default_factory=dict)
    strangers: Mode = "enforce"
    """Mode for users of no tenant: enforced, unless a site still has accounts that Sluice doesn't manage."""
    tenants: Mapping[str, TenantRules] = field(default_factory=dict)
    users: Mapping[str, UserRules] = field(default_factory=dict)


def table_of(
    tenants: Iterable[Tenant], pool: Pool, site: Site = NO_SITE, moment: Moment = NO_MOMENT
) -> PolicyTable:
    """Build the table; a grant or an alias of a flavor that the pool lacks is left out."""
    documents = sorted(tenants, key=lambda tenant: tenant.name)
    by_name = {tenant.name: tenant for tenant in documents}
    flavors = sorted(pool.flavors.values(), key=lambda flavor: flavor.name)
    return PolicyTable(
        flavor_partition={flavor.name: flavor.partition for flavor in flavors},
        flavor_type={flavor.name: flavor.gres_type for flavor in flavors if flavor.gres_type},
        partition_flavor={flavor.partition: flavor.name for flavor in flavors},
        type_flavor={flavor.gres_type: flavor.name for flavor in flavors if flavor.gres_type},
        node_gpus={flavor.partition: _node_gpus(pool, flavor.partition) for flavor in flavors},
        cpu_flavors=frozenset(flavor.name for flavor in flavors if flavor.kind == "cpu"),
        shares={flavor.name: flavor.share for flavor in flavors if flavor.share},
        node_memory_mib={
            flavor.partition: pool.node_memory_mib[flavor.partition]
            for flavor in flavors
            if flavor.partition in pool.node_memory_mib
        },
        maintenance={
            flavor.partition: windows
            for flavor in flavors
            if (windows := _windows(pool.node_names.get(flavor.partition), moment.maintenance))
        },
        partition_alias={
            name: pool.flavors[flavor].partition
            for name, flavor in sorted(site.aliases.partitions.items())
            if flavor in pool.flavors
        },
        qos_alias=dict(sorted(site.aliases.qos.items())),
        strangers="enforce" if all(tenant.managed for tenant in documents) else "observe",
        tenants={
            tenant.name: _tenant_rules(
                tenant, pool, ancestors=ancestors_of(tenant, by_name), used_up=_used_up(tenant, moment)
            )
            for tenant in documents
        },
        users=_users(documents),
    )


def _node_gpus(pool: Pool, partition: str) -> Mapping[str, int]:
    held = pool.node_gpus.get(partition, {})
    return {
        name: held[flavor.gres_type or name]
        for name, flavor in sorted(pool.flavors.items())
        if held.get(flavor.gres_type or name)
    }


def _windows(nodes: frozenset[str] | None, maintenance: Iterable[Maintenance]) -> tuple[Window, ...]:
    if not nodes:
        return ()
    return tuple(
        Window(each.name, each.starts_at, each.ends_at, len(nodes - each.nodes))
        for each in sorted(maintenance, key=lambda each: (each.starts_at, each.name))
        if nodes & each.nodes
    )


def _used_up(tenant: Tenant, moment: Moment) -> UsedUp | None:
    said, budget = moment.exhausted.get(tenant.name), tenant.budget
    if said is None or budget is None or said.budget != budget.text:
        return None
    return UsedUp(budget.text, said.until, blocks=budget.when_exhausted == "block")


def _tenant_rules(
    tenant: Tenant, pool: Pool, *, ancestors: tuple[str, ...], used_up: UsedUp | None
) -> TenantRules:
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
        limit={name: grant.limit for name, grant in grants.items()},
        guarantee={name: grant.guarantee for name, grant in grants.items()},
        classes=tuple(dict.fromkeys(tenant.classes.allowed)),
        default_class=tenant.classes.default,
        default_min=default_min,
        max_min=max_min,
        max_gpus_per_job=tenant.limits.max_gpus_per_job,
        mode=tenant.rules,
        ancestors=ancestors,
        used_up=used_up,
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
