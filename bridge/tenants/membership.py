"""Members by POSIX group: documents with the groups' members in them, as if they had been listed.

What flows in: documents, the site's directory, uids of local users. What flows out: `Resolved`. From here
on nobody asks how somebody became a member: associations, table and roles follow, and who leaves a group
leaves the tenant as if taken out of its document: drained first, no running job ended.

Nobody leaves because a directory is away: a group that isn't found keeps its last known members, on disk
beside the documents, until it is found again or taken out of the document. Where not even that is known (a
new disk), nobody leaves the tenant until it is.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

import structlog

from bridge.policy.documents import PoolFault, Sourced
from bridge.policy.tenant import Member, Role, Tenant, may_be_member
from bridge.tenants.directory import SiteDirectory, SiteUser
from bridge.tenants.source import replace_file

REMEMBERED: Final = ".groups.json"
"""Beside the documents: group to its last known members."""
SHOWN: Final = 5
"""Names in one sentence."""
_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolved:
    """Documents whose members are all there are."""

    documents: tuple[Sourced, ...]
    notes: Mapping[str, str] = field(default_factory=dict)
    """Tenant to what is odd about its groups."""
    faults: tuple[PoolFault, ...] = ()
    """What would be refused in a document that somebody is just writing."""
    site_users: Mapping[str, SiteUser] = field(default_factory=dict)
    """Users of the site's directory among the members."""
    unsure: frozenset[str] = frozenset()
    """Tenants with a group of which nothing is known, now or from before."""


class Membership:
    """Looks groups up, and remembers what it found."""

    def __init__(self, directory: SiteDirectory, folder: Path) -> None:
        self._directory = directory
        self._file = folder / REMEMBERED

    def resolved(self, documents: Sequence[Sourced], local: Mapping[str, int]) -> Resolved:
        """Put the groups' members into the documents; `local` are the uids of the users that Sluice made."""
        groups = {given.group for document in documents for given in document.tenant.groups}
        listed = {m.user for d in documents if d.tenant.identity == "nss" for m in d.tenant.members}
        if not groups and not listed:
            return Resolved(documents=tuple(documents))
        before = self._remembered()
        answered = self._directory.groups(groups) if groups else {}
        names = {name for members in (*answered.values(), *before.values()) for name in members} | listed
        looked_up = _Looked(
            answered=answered,
            before={group: before[group] for group in sorted(groups - answered.keys()) if group in before},
            known_before=frozenset(name for members in before.values() for name in members),
            people=self._directory.users({name for name in names if may_be_member(name)}),
            local=local,
        )
        self._remember({**looked_up.before, **answered})
        return _resolved(documents, looked_up)

    def _remembered(self) -> dict[str, tuple[str, ...]]:
        try:
            values = json.loads(self._file.read_text())
            return {str(group): tuple(map(str, members)) for group, members in values.items()}
        except FileNotFoundError:
            return {}
        except (OSError, ValueError, AttributeError, TypeError):
            _log.warning("the last known members of groups can't be read", file=str(self._file))
            return {}

    def _remember(self, members: Mapping[str, Sequence[str]]) -> None:
        self._file.parent.mkdir(parents=True, exist_ok=True)
        text = json.dumps({group: sorted(members[group]) for group in sorted(members)}, indent=1) + "\n"
        replace_file(self._file, text.encode())


@dataclass(frozen=True, slots=True, kw_only=True)
class _Looked:
    """What the directory said. `before`: last known members of groups that were not found."""

    answered: Mapping[str, Sequence[str]]
    before: Mapping[str, Sequence[str]]
    known_before: frozenset[str]
    people: Mapping[str, SiteUser]
    local: Mapping[str, int]

    def why_not(self, name: str) -> str:
        """Return why somebody in a group is no member all the same; empty when they are."""
        if not may_be_member(name):
            return "is no name that Sluice takes"
        person, uid = self.people.get(name), self.local.get(name)
        if uid is not None and (person is None or person.uid != uid):
            return "is another user of Sluice's own already"
        if person is None and name not in self.known_before:
            return "is no user of the directory"
        return ""


def _resolved(documents: Sequence[Sourced], looked: _Looked) -> Resolved:
    whole: list[Sourced] = []
    notes: dict[str, str] = {}
    faults: list[PoolFault] = []
    users: set[str] = set()
    for document in documents:
        tenant = document.tenant
        faults += _faults(document, looked)
        members, odd = _members(tenant, looked)
        if odd:
            notes[tenant.name] = "; ".join(odd)
        everybody = (*tenant.members, *members)
        users |= {member.user for member in everybody}
        whole.append(replace(document, tenant=tenant.model_copy(update={"members": everybody})))
    site = {name: looked.people[name] for name in sorted(users & looked.people.keys() - looked.local.keys())}
    known = looked.answered.keys() | looked.before.keys()
    unsure = {d.tenant.name for d in documents if {given.group for given in d.tenant.groups} - known}
    return Resolved(
        documents=tuple(whole),
        notes=notes,
        faults=tuple(faults),
        site_users=site,
        unsure=frozenset(unsure),
    )


def _members(tenant: Tenant, looked: _Looked) -> tuple[list[Member], list[str]]:
    listed = {member.user for member in tenant.members}
    roles: dict[str, Role] = {}
    left_out: dict[str, list[str]] = {}
    odd: list[str] = []
    for given in tenant.groups:
        if given.group in looked.before:
            odd.append(f"group {given.group} is not found now; its last known members stay")
        elif given.group not in looked.answered:
            odd.append(f"group {given.group} is not known to the site's directory")
        for name in (*looked.answered.get(given.group, ()), *looked.before.get(given.group, ())):
            why = looked.why_not(name)
            if name not in listed and not why and roles.get(name) != "manager":
                roles[name] = given.role
            elif why:
                left_out.setdefault(why, []).append(name)
    odd += [_left_out(names, why) for why, names in sorted(left_out.items())]
    return [Member(user=name, role=roles[name]) for name in sorted(roles)], odd


def _left_out(names: Sequence[str], why: str) -> str:
    some = sorted(set(names))
    more = f" and {len(some) - SHOWN} more" if len(some) > SHOWN else ""
    return f"{', '.join(name[:40] for name in some[:SHOWN])}{more} {why}, and is left out"


def _faults(document: Sourced, looked: _Looked) -> Iterator[PoolFault]:
    for index, given in enumerate(document.tenant.groups):
        if given.group not in looked.answered and given.group not in looked.before:
            words = f"group {given.group} is not known here (getent group); correct its name, or see SSSD"
            yield PoolFault(document.file, f"groups[{index}].group", words)
    if document.tenant.identity != "nss":
        return
    for index, member in enumerate(document.tenant.members):
        if member.user not in looked.people:
            words = f"user {member.user} is not known here (getent passwd); correct the name, or see SSSD"
            yield PoolFault(document.file, f"members[{index}].user", words)
