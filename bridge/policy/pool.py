"""The pool, and the rules across tenant documents that only show when all are seen together.

Pure. What flows in: nodes and partitions as Slurm shows them, documents with the files that they are in.
What flows out: `Pool`, and `PoolFault` entries (file, path, sentence). Rules inside one document are
`bridge.policy.tenant`'s.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from pydantic import BaseModel, ConfigDict

from bridge.policy.tenant import JobClass, Tenant
from bridge.slurm.port import NodeStatus, PartitionStatus

UNHEALTHY: Final = frozenset(
    {"DOWN", "DRAIN", "DRAINED", "DRAINING", "ERROR", "FAIL", "FAILING", "FUTURE", "MAINT", "UNKNOWN"}
    | {"NOT_RESPONDING", "NO_RESPOND", "POWERED_DOWN", "POWERING_DOWN"}
)
"""Node states and flags (slurm.h node_states) whose GPUs nobody can be promised."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Flavor:
    """A kind of GPU: gres type and partition in Slurm, GPUs of all nodes and of the healthy ones."""

    name: str
    gres_type: str
    partition: str
    configured: int
    healthy: int


@dataclass(frozen=True, slots=True)
class Pool:
    """The flavors by name, and what a whole node of a partition holds."""

    flavors: Mapping[str, Flavor] = field(default_factory=dict)
    node_gpus: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    """Partition to flavor to the GPUs that each of its nodes has at least."""


class Aliases(BaseModel):
    """A site's old names, which keep working: partitions mean flavors, QOS mean classes."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    partitions: dict[str, str] = {}
    """Partition to flavor. A partition of a flavor is never an alias."""
    qos: dict[str, JobClass] = {}
    """QOS to class. The name of a class is never an alias."""


NO_ALIASES: Final = Aliases()


@dataclass(frozen=True, slots=True)
class Sourced:
    """A document and the file that it was read from."""

    file: str
    tenant: Tenant


@dataclass(frozen=True, slots=True)
class PoolFault:
    """One thing that is wrong: file, path in it, and what to do."""

    file: str
    path: str
    message: str


def pool_of(nodes: Iterable[NodeStatus], partitions: Iterable[PartitionStatus]) -> Pool:
    """Find the flavors: each GPU type of a node that has a partition of the same name."""
    nodes, names = list(nodes), {partition.name for partition in partitions}
    configured: dict[str, int] = defaultdict(int)
    healthy: dict[str, int] = defaultdict(int)
    for node in nodes:
        for gres_type, count in node.gpus.items():
            configured[gres_type] += count
            if not node.state & UNHEALTHY:
                healthy[gres_type] += count
    return Pool(
        {
            name: Flavor(
                name=name, gres_type=name, partition=name, configured=configured[name], healthy=healthy[name]
            )
            for name in sorted(configured)
            if name in names and configured[name]
        },
        {name: _node_gpus([node for node in nodes if name in node.partitions]) for name in sorted(names)},
    )


def _node_gpus(nodes: Sequence[NodeStatus]) -> Mapping[str, int]:
    types = sorted({gres_type for node in nodes for gres_type in node.gpus})
    least = {gres_type: min(node.gpus.get(gres_type, 0) for node in nodes) for gres_type in types}
    return {gres_type: count for gres_type, count in least.items() if count}


def document_faults(documents: Sequence[Sourced]) -> tuple[PoolFault, ...]:
    """Check names, parents and uids across documents; the pool isn't needed."""
    return (
        *_twice(documents),
        *_parents(documents),
        *_grants_above(documents),
        *_uids(documents),
        *_defaults(documents),
        *_namespaces(documents),
    )


def ancestors_of(tenant: Tenant, by_name: Mapping[str, Tenant]) -> tuple[str, ...]:
    """Return the names of the tenants above, the nearest first; ends at one that isn't there or a circle."""
    found: list[str] = []
    step = tenant.parent
    while step is not None and step in by_name and step not in (*found, tenant.name):
        found.append(step)
        step = by_name[step].parent
    return tuple(found)


def _grants_above(documents: Sequence[Sourced]) -> Iterator[PoolFault]:
    """A tenant has no flavor that its parent lacks, and guarantees fit into the limit of each ancestor."""
    by_name = {document.tenant.name: document.tenant for document in documents}
    promised: dict[tuple[str, str], int] = defaultdict(int)
    for document in documents:
        tenant = document.tenant
        parent = by_name.get(tenant.parent or "")
        for flavor, grant in tenant.flavors.items():
            for name in (tenant.name, *ancestors_of(tenant, by_name)):
                promised[name, flavor] += grant.guarantee
            if parent is not None and flavor not in parent.flavors:
                yield PoolFault(
                    document.file,
                    f"flavors.{flavor}",
                    f"tenant {parent.name}, the parent, has no {flavor} GPUs; give it a limit of them or take"
                    " this one away",
                )
    for document in documents:
        for flavor, grant in document.tenant.flavors.items():
            total = promised[document.tenant.name, flavor]
            if total > grant.limit:
                yield PoolFault(
                    document.file,
                    f"flavors.{flavor}.limit",
                    f"this tenant and those below it are guaranteed {total} {flavor} GPUs, its limit is"
                    f" {grant.limit}; raise the limit or lower a guarantee",
                )


def capacity_faults(documents: Sequence[Sourced], pool: Pool) -> tuple[PoolFault, ...]:
    """Check the flavors and the sum of the guarantees against the healthy pool."""
    return (*_flavors(documents, pool), *_guarantees(documents, pool))


def guarantees(documents: Iterable[Sourced]) -> Mapping[str, int]:
    """Return the sum of the guarantees by flavor."""
    total: dict[str, int] = defaultdict(int)
    for document in documents:
        for flavor, grant in document.tenant.flavors.items():
            total[flavor] += grant.guarantee
    return dict(total)


def _twice(documents: Sequence[Sourced]) -> Iterator[PoolFault]:
    first: dict[str, str] = {}
    for document in documents:
        name = document.tenant.name
        if name in first:
            yield PoolFault(
                document.file,
                "name",
                f"tenant {name} is in {first[name]} already; rename or remove one of the two",
            )
        first.setdefault(name, document.file)


def _parents(documents: Sequence[Sourced]) -> Iterator[PoolFault]:
    parents = {document.tenant.name: document.tenant.parent for document in documents}
    for document in documents:
        parent = document.tenant.parent
        if parent is None:
            continue
        if parent not in parents:
            yield PoolFault(
                document.file, "parent", f"there is no tenant {parent}; add its document or leave parent out"
            )
            continue
        seen = [document.tenant.name]
        step: str | None = parent
        while step is not None and step not in seen:
            seen.append(step)
            step = parents.get(step)
        if step == document.tenant.name:
            circle = " -> ".join([*seen, step])
            yield PoolFault(document.file, "parent", f"parents go in a circle ({circle}); break it")


def _uids(documents: Sequence[Sourced]) -> Iterator[PoolFault]:
    uid_of: dict[str, int] = {}
    user_of: dict[int, str] = {}
    for document in documents:
        for index, member in enumerate(document.tenant.members):
            if member.uid is None:
                continue
            path = f"members[{index}].uid"
            if uid_of.setdefault(member.user, member.uid) != member.uid:
                yield PoolFault(
                    document.file,
                    path,
                    f"user {member.user} has uid {uid_of[member.user]} in another document and"
                    f" {member.uid} here; give one uid, or leave it out in one place",
                )
            elif user_of.setdefault(member.uid, member.user) != member.user:
                yield PoolFault(
                    document.file,
                    path,
                    f"uid {member.uid} is user {user_of[member.uid]}'s already; give {member.user} another",
                )


def _defaults(documents: Sequence[Sourced]) -> Iterator[PoolFault]:
    marked: dict[str, str] = {}
    for document in documents:
        for index, member in enumerate(document.tenant.members):
            if not member.default:
                continue
            if member.user in marked:
                yield PoolFault(
                    document.file,
                    f"members[{index}].default",
                    f"tenant {marked[member.user]} is marked as {member.user}'s default already;"
                    " keep one mark",
                )
            marked.setdefault(member.user, document.tenant.name)


def _namespaces(documents: Sequence[Sourced]) -> Iterator[PoolFault]:
    owner: dict[str, str] = {}
    for document in documents:
        for index, namespace in enumerate(document.tenant.namespaces):
            if namespace in owner:
                yield PoolFault(
                    document.file,
                    f"namespaces[{index}]",
                    f"namespace {namespace} is tenant {owner[namespace]}'s already; keep it in one document",
                )
            owner.setdefault(namespace, document.tenant.name)


def _flavors(documents: Sequence[Sourced], pool: Pool) -> Iterator[PoolFault]:
    known = ", ".join(pool.flavors) or "none"
    for document in documents:
        for flavor in document.tenant.flavors:
            if flavor not in pool.flavors:
                yield PoolFault(
                    document.file,
                    f"flavors.{flavor}",
                    f"the pool has no flavor {flavor}; its flavors are {known}",
                )


def _guarantees(documents: Sequence[Sourced], pool: Pool) -> Iterator[PoolFault]:
    for flavor, total in guarantees(documents).items():
        if flavor not in pool.flavors or total <= pool.flavors[flavor].healthy:
            continue
        givers = [document for document in documents if _guarantee(document, flavor)]
        most = max(givers, key=lambda document: _guarantee(document, flavor))
        shares = ", ".join(f"{d.tenant.name} {_guarantee(d, flavor)}" for d in givers)
        yield PoolFault(
            most.file,
            f"flavors.{flavor}.guarantee",
            f"all tenants together are guaranteed {total} {flavor} GPUs ({shares}), the pool has"
            f" {pool.flavors[flavor].healthy} healthy ones; lower a guarantee or add nodes",
        )


def _guarantee(document: Sourced, flavor: str) -> int:
    grant = document.tenant.flavors.get(flavor)
    return grant.guarantee if grant else 0
