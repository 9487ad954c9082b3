"""Whom a valid token stands for: subjects that documents name, services, or a claim; groups give roles.

Pure. What flows in: `Claims` and the tenant documents. What flows out: `Person`, or `Denied`. What documents
name counts more than a claim: it was written for this very subject.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from bridge.errors import Denied
from bridge.policy.tenant import Role, Tenant, may_be_member
from gateway.oidc.settings import PLACE, GroupClaim, UserClaim
from gateway.oidc.verify import Claims

LONGEST_CLAIM: Final = 256
"""Characters of a claim that becomes a user; a longer one is nobody."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Person:
    """The user behind a token."""

    user: str
    only: frozenset[str] | None = None
    """Tenants that the token is limited to: those that name a service; None for people."""
    roles: Mapping[str, Role] = field(default_factory=dict)
    """Roles by groups of the token, beside those of the documents."""
    administrator: bool = False


def person_of(claims: Claims, tenants: Iterable[Tenant], *, single_issuer: bool) -> Person:
    """Find the user.

    Parameters
    ----------
    single_issuer
        Whether the site has one issuer alone: a subject that a document names without an issuer is then that
        one's. With several it is nobody's, or each of them could give out everybody's subject.

    Raises
    ------
    Denied
        The token is good, and no user of Sluice belongs to it.
    """
    known = tuple(tenants)
    person = _named(claims, known, single_issuer=single_issuer)
    if person is None:
        if claims.issuer.user is None:
            raise _nobody(claims, "no document names that subject (members[].subject, services)")
        person = Person(user=_from_claim(claims, claims.issuer.user))
    if person.only is not None or claims.issuer.groups is None:
        return person
    return _with_groups(person, claims, claims.issuer.groups, {tenant.name for tenant in known})


def _named(claims: Claims, tenants: tuple[Tenant, ...], *, single_issuer: bool) -> Person | None:
    issuer, subject = claims.issuer.issuer, claims.subject
    people = {
        member.user
        for tenant in tenants
        for member in tenant.members
        if member.subject == subject
        and (member.issuer == issuer or (member.issuer is None and single_issuer))
    }
    services = {
        (service.user, tenant.name)
        for tenant in tenants
        for service in tenant.services
        if service.token_subject == subject and service.issuer == issuer
    }
    users = people | {user for user, _tenant in services}
    if len(users) > 1:
        raise _nobody(claims, f"documents name it for several users ({', '.join(sorted(users))})")
    if people:
        return Person(user=next(iter(people)))
    if services:
        return Person(user=next(iter(users)), only=frozenset(tenant for _user, tenant in services))
    return None


def _from_claim(claims: Claims, how: UserClaim) -> str:
    value = claims.values.get(how.claim)
    if not isinstance(value, str) or not value:
        raise _nobody(claims, f"it has no claim {how.claim}")
    if how.claim == "email" and claims.values.get("email_verified") is not True:
        raise _nobody(claims, "its issuer has not verified the email")
    match = re.fullmatch(how.pattern, value) if len(value) <= LONGEST_CLAIM else None
    if match is None:
        raise _nobody(claims, f"claim {how.claim} does not match the site's pattern")
    found = match

    def put(place: re.Match[str]) -> str:
        name = place[1]
        return found[int(name) if name.isdigit() else name] or ""

    user = PLACE.sub(put, how.template)
    if not may_be_member(user):
        raise _nobody(claims, f"claim {how.claim} gives {user[:40]!r}, which can't be a user here")
    return user


def _with_groups(person: Person, claims: Claims, how: GroupClaim, tenants: set[str]) -> Person:
    held = groups_in(claims.values, how.claim)
    roles: dict[str, Role] = {}
    for given in how.roles:
        if given.group in held and given.tenant in tenants and roles.get(given.tenant) != "manager":
            roles[given.tenant] = given.role
    return Person(user=person.user, roles=roles, administrator=bool(held & how.administrators))


def groups_in(values: Mapping[str, Any], claim: str) -> frozenset[str]:
    """Return the groups that a token names: a list of texts, or one text, at a claim or a path of claims."""
    found: object = values.get(claim)
    if found is None:
        found = values
        for step in claim.split("."):
            found = found.get(step) if isinstance(found, Mapping) else None
    if isinstance(found, str):
        return frozenset({found})
    if not isinstance(found, list):
        return frozenset()
    return frozenset(name for name in found if isinstance(name, str))


def _nobody(claims: Claims, why: str) -> Denied:
    return Denied(
        f"the token of subject {claims.subject[:LONGEST_CLAIM]!r} is valid, but no user of Sluice belongs to"
        f" it: {why}; ask an administrator",
        subject=claims.subject[:LONGEST_CLAIM],
    )
