"""Rules across tenant documents that only show when all are seen together.

Pure. What flows in: documents with the files that they are in, the pool. What flows out: `PoolFault` entries
(file, path, sentence). Rules inside one document are `bridge.policy.tenant`'s.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from bridge.policy.pool import Flavor, Pool
from bridge.policy.tenant import Tenant


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


def document_faults(documents: Sequence[Sourced]) -> tuple[PoolFault, ...]:
    """Check names, parents and uids across documents; the pool isn't needed."""
    return (
        *_twice(documents),
        *_parents(documents),
        *_grants_above(documents),
        *_uids(documents),
        *_defaults(documents),
        *_namespaces(documents),
        *_subjects(documents),
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
    """Check the flavors, and the sum of the guarantees against what is assured of the pool."""
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


def _subjects(documents: Sequence[Sourced]) -> Iterator[PoolFault]:
    """A subject of an issuer is one user: a token with it must not be two people."""
    user_of: dict[tuple[str | None, str], str] = {}
    for document in documents:
        named = [
            *(
                (f"members[{index}].subject", member.issuer, member.subject, member.user)
                for index, member in enumerate(document.tenant.members)
                if member.subject is not None
            ),
            *(
                (f"services[{index}]", service.issuer, service.token_subject, service.user)
                for index, service in enumerate(document.tenant.services)
            ),
        ]
        for path, issuer, subject, user in named:
            known = user_of.setdefault((issuer, subject), user)
            if known != user:
                yield PoolFault(
                    document.file,
                    path,
                    f"{subject} is user {known} already; a subject is one user, everywhere",
                )


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
    for name, total in guarantees(documents).items():
        flavor = pool.flavors.get(name)
        if flavor is None or total <= (flavor.assured if flavor.kind == "gpu" else 0):
            continue
        givers = [document for document in documents if _guarantee(document, name)]
        most = max(givers, key=lambda document: _guarantee(document, name))
        path = f"flavors.{name}.guarantee"
        if flavor.kind == "cpu":
            message = f"flavor {name} has no GPUs, and only GPUs are guaranteed; leave guarantee out"
            yield PoolFault(most.file, path, message)
            continue
        shares = ", ".join(f"{d.tenant.name} {_guarantee(d, name)}" for d in givers)
        less = "" if flavor.assured == flavor.healthy else _when_nodes_fail(flavor)
        yield PoolFault(
            most.file,
            path,
            f"all tenants together are guaranteed {total} {name} GPUs ({shares}), the pool has"
            f" {flavor.healthy} healthy ones{less}; lower a guarantee or add nodes",
        )


def _when_nodes_fail(flavor: Flavor) -> str:
    return f", {flavor.assured} of them when as many nodes fail as the site's spare_nodes says"


def _guarantee(document: Sourced, flavor: str) -> int:
    grant = document.tenant.flavors.get(flavor)
    return grant.guarantee if grant else 0
