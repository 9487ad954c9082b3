"""Where a caller stands: limits of each tenant, what is used of them now, what is left.

Pure. What flows in: the principal, the documents with their table, `AssociationUse` of slurmctld. What flows
out: `Standing`, one a tenant. What is left is the least of what the user, the tenant and the tenants above it
have left: that is what a job would meet.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from bridge.policy.classes import walltime
from bridge.policy.documents import ancestors_of
from bridge.policy.table import PolicyTable
from bridge.policy.tenant import Role, Tenant
from bridge.slurm.port import AssociationUse

OTHER_TRES = {"cpu": "cpus", "mem": "memory_mib", "node": "nodes"}
"""TRES beside GPUs that documents limit, with their names in answers."""


@dataclass(frozen=True, slots=True)
class Amount:
    """One limit; None is no limit. `left` counts the limits above this one too."""

    limit: int | None
    used: int
    left: int | None


@dataclass(frozen=True, slots=True)
class ClassRule:
    """A class that the tenant may use; minutes."""

    name: str
    default_min: int
    max_min: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """One tenant of the caller's."""

    tenant: str
    role: Role
    default: bool
    """Whether a job that names no tenant is this one's."""
    classes: tuple[ClassRule, ...]
    default_class: str
    guarantees: Mapping[str, int]
    """Guaranteed GPUs by flavor."""
    max_gpus_per_job: int | None
    budget: str = ""
    """Of a calendar month, as people read it; empty for none."""
    gpus: Mapping[str, Amount] = field(default_factory=dict)
    """By flavor; empty while slurmctld doesn't answer."""
    others: Mapping[str, Amount] = field(default_factory=dict)
    """``cpus``, ``memory_mib``, ``nodes``: all jobs of the tenant."""
    own: Mapping[str, Amount] = field(default_factory=dict)
    """The same and jobs of the caller alone."""
    jobs: Mapping[str, Amount] = field(default_factory=dict)
    """``running`` and ``submitted`` (queued and running) of all jobs of the tenant."""


def accounts_to_ask(names: Iterable[str], tenants: Iterable[Tenant]) -> tuple[str, ...]:
    """Return the accounts whose use is needed: the tenants' own and those above them."""
    by_name = {tenant.name: tenant for tenant in tenants}
    found = dict.fromkeys(name for name in names if name in by_name)
    for name in tuple(found):
        found.update(dict.fromkeys(ancestors_of(by_name[name], by_name)))
    return tuple(found)


def standings(
    user: str,
    roles: Mapping[str, Role],
    tenants: Iterable[Tenant],
    table: PolicyTable | None,
    uses: Sequence[AssociationUse],
) -> tuple[Standing, ...]:
    """Work out where `user` stands in each tenant of `roles`, by name."""
    by_name = {tenant.name: tenant for tenant in tenants}
    return tuple(
        _standing(user, by_name[name], role, by_name=by_name, table=table, uses=uses)
        for name, role in sorted(roles.items())
        if name in by_name
    )


def _standing(
    user: str,
    tenant: Tenant,
    role: Role,
    *,
    by_name: Mapping[str, Tenant],
    table: PolicyTable | None,
    uses: Sequence[AssociationUse],
) -> Standing:
    rules = table.users.get(user) if table else None
    chain = (tenant.name, *ancestors_of(tenant, by_name))
    accounts = [use for name in chain for use in uses if use.account == name and not use.user]
    mine = [use for use in uses if use.account == tenant.name and use.user == user]
    known = bool(accounts) and accounts[0].account == tenant.name
    return Standing(
        tenant=tenant.name,
        role=role,
        default=rules is not None and rules.default == tenant.name,
        classes=_classes(tenant),
        default_class=tenant.classes.default,
        guarantees={name: grant.guarantee for name, grant in tenant.flavors.items() if grant.guarantee},
        max_gpus_per_job=tenant.limits.max_gpus_per_job,
        budget=tenant.budget.text if tenant.budget else "",
        gpus=_gpus(tenant, table, accounts) if known else {},
        others={shown: _tres(name, accounts) for name, shown in OTHER_TRES.items()} if known else {},
        own={**{shown: _tres(name, mine) for name, shown in OTHER_TRES.items()}, **_jobs(mine)}
        if mine
        else {},
        jobs=_jobs(accounts) if known else {},
    )


def _classes(tenant: Tenant) -> tuple[ClassRule, ...]:
    rules = []
    for name in tenant.classes.allowed:
        default_min, max_min = walltime(
            name, default_min=tenant.limits.default_walltime_min, max_min=tenant.limits.max_walltime_min
        )
        rules.append(ClassRule(name, default_min, max_min))
    return tuple(rules)


def _gpus(
    tenant: Tenant, table: PolicyTable | None, accounts: Sequence[AssociationUse]
) -> Mapping[str, Amount]:
    types = table.flavor_type if table else {}
    return {
        flavor: _tres(f"gres/gpu:{types.get(flavor, flavor)}", accounts, at_most=grant.limit)
        for flavor, grant in tenant.flavors.items()
    }


def _tres(name: str, chain: Sequence[AssociationUse], *, at_most: int | None = None) -> Amount:
    first = chain[0]
    limit = first.limit.get(name, at_most)
    return Amount(
        limit, first.used.get(name, 0), _least((use.limit.get(name), use.used.get(name, 0)) for use in chain)
    )


def _jobs(chain: Sequence[AssociationUse]) -> Mapping[str, Amount]:
    first = chain[0]
    return {
        "running": Amount(
            first.max_running_jobs,
            first.running_jobs,
            _least((use.max_running_jobs, use.running_jobs) for use in chain),
        ),
        "submitted": Amount(
            first.max_submitted_jobs,
            first.submitted_jobs,
            _least((use.max_submitted_jobs, use.submitted_jobs) for use in chain),
        ),
    }


def _least(pairs: Iterable[tuple[int | None, int]]) -> int | None:
    left = [max(0, limit - used) for limit, used in pairs if limit is not None]
    return min(left) if left else None
