"""Who asks, and what they may: `Principal`, and the scopes that narrow a credential. Pure.

What flows in: a user, the user's tenants with a role in each, what the credential was narrowed to. What
flows out: answers to "may they". How a credential becomes a principal is `gateway.auth`'s.

Roles: a *member* sees the jobs of the tenant and ends their own; a *manager* ends the tenant's jobs; an
*administrator* sees and ends everything, and writes tenants. A credential never may more than its user.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from bridge.errors import Denied, InputError
from bridge.policy.tenant import Role, may_be_tenant
from gateway.store.jobs import Visible
from gateway.track.record import JobRecord

TENANT_PREFIX: Final = "tenant="


class Scope(StrEnum):
    """What a credential may be used for."""

    READ = "read"
    """Look at jobs, output, tenants, reports; test and lint scripts."""
    SUBMIT = "submit"
    """Submit jobs, and end those that the user may end."""
    KEYS = "keys"
    """Make and revoke the user's API keys."""
    ADMIN = "admin"
    """Everything, of all tenants."""


WHOLE: Final = frozenset({Scope.READ, Scope.SUBMIT, Scope.KEYS})
"""All that a user may who isn't an administrator."""


@dataclass(frozen=True, slots=True)
class Grant:
    """What a credential was made for: scopes, and the tenants it is limited to (None: all of its user's).

    As words: ``read``, ``submit``, ``keys``, ``admin``, ``tenant=astro``.
    """

    scopes: frozenset[Scope] = WHOLE
    tenants: frozenset[str] | None = None

    def words(self) -> tuple[str, ...]:
        """Return it as words, scopes first."""
        scopes = [scope.value for scope in Scope if scope in self.scopes]
        return (*scopes, *(f"{TENANT_PREFIX}{name}" for name in sorted(self.tenants or ())))

    def covers(self, other: Grant) -> bool:
        """Whether `other` allows nothing that this one doesn't."""
        if Scope.ADMIN in self.scopes:
            return True
        within = self.tenants is None or (other.tenants is not None and other.tenants <= self.tenants)
        return other.scopes <= self.scopes and within


def grant_of(words: Iterable[str]) -> Grant:
    """Read a grant from its words.

    Raises
    ------
    InputError
        A word is none, there is no scope, or ``admin`` is limited to tenants.
    """
    scopes: set[Scope] = set()
    tenants: set[str] = set()
    for word in words:
        name = word.removeprefix(TENANT_PREFIX)
        if name != word:
            if not may_be_tenant(name):
                raise InputError(f"{word!r}: {name!r} can't be a tenant's name", parameter="scopes")
            tenants.add(name)
        elif word in frozenset(Scope):
            scopes.add(Scope(word))
        else:
            raise InputError(
                f"{word!r} is not a scope; give some of {', '.join(Scope)}, tenant=NAME", parameter="scopes"
            )
    if not scopes:
        raise InputError(f"no scope is given; name some of {', '.join(Scope)}", parameter="scopes")
    if Scope.ADMIN in scopes and tenants:
        raise InputError(
            "admin is for all tenants and can't be limited to one; leave tenant= or admin out",
            parameter="scopes",
        )
    return Grant(frozenset(scopes), frozenset(tenants) or None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Principal:
    """A known caller: a Linux user, the tenants in reach with the role in each, the credential's grant."""

    user: str
    tenants: Mapping[str, Role] = field(default_factory=dict)
    admin: bool = False
    grant: Grant = Grant()
    actor: str = ""
    """The credential, for the audit log: ``key 1f2e3d4c5b6a``, ``token SUBJECT of ISSUER``."""
    key_id: str = ""

    @property
    def visible(self) -> Visible:
        """Which jobs the caller may see."""
        own = self.user if self.grant.tenants is None else ""
        return Visible(user=own, tenants=frozenset(self.tenants), everything=self.admin)

    def sees(self, job: JobRecord) -> bool:
        """Whether the job is the caller's own or of a tenant of the caller's."""
        return self.admin or self._owns(job) or job.tenant in self.tenants

    def may_cancel(self, job: JobRecord) -> bool:
        """Whether the caller may end it: the owner, a manager of its tenant, an administrator."""
        return self.admin or self._owns(job) or self.tenants.get(job.tenant) == "manager"

    def may_read_logs(self, job: JobRecord) -> bool:
        """Whether the caller may read its output: the owner or an administrator."""
        return self.admin or self._owns(job)

    def manages(self, tenants: Iterable[str]) -> bool:
        """Whether the caller manages all of these tenants."""
        return self.admin or all(self.tenants.get(name) == "manager" for name in tenants)

    def require_admin(self) -> None:
        """Raise `Denied` for everybody who isn't an administrator."""
        if not self.admin:
            raise Denied("this needs an administrator's key")

    def require(self, scope: Scope) -> None:
        """Raise `Denied` when the credential wasn't made for this."""
        if not self.admin and scope not in self.grant.scopes:
            raise Denied(
                f"this credential may {', '.join(self.grant.words())}, and this needs {scope.value};"
                " use one that has it (`sluice keys create` makes keys)",
                scope=scope.value,
            )

    def require_tenant(self, tenant: str) -> None:
        """Raise `Denied` when the credential is limited to other tenants."""
        limited = self.grant.tenants
        if not self.admin and limited is not None and tenant not in limited:
            raise Denied(
                f"this credential is limited to {', '.join(sorted(limited))}, and the job would be"
                f" {tenant}'s; name the tenant (--account) or use another credential",
                tenant=tenant,
            )

    def _owns(self, job: JobRecord) -> bool:
        limited = self.grant.tenants
        return job.user == self.user and (limited is None or job.tenant in limited)


def within(tenants: Mapping[str, Role], limited: frozenset[str] | None) -> Mapping[str, Role]:
    """Return the tenants that a credential limited to `limited` reaches."""
    if limited is None:
        return tenants
    return {name: role for name, role in tenants.items() if name in limited}
