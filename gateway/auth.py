"""Who asks: a key or a token becomes a `Principal`; what routes depend on.

What flows in: the Authorization header, the keys in the store, the site's issuers, the tenant documents.
What flows out: `Principal`, or `Unauthenticated`. Every route but the open ones takes a dependency of here,
and with it says which scope it needs: reading is ``read``, whatever else is ``submit``, unless the route
says `KeyKeeper` or `Looker`.

Three kinds of credentials, told apart by their form: an API key (``sluice_<id>_<secret>``), a signed token of
an OIDC issuer, a token of Slurm's own (`gateway.slurm_token`). None of them is ever in a log.
"""

from __future__ import annotations

from typing import Annotated, Final

from fastapi import Depends, Request
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer

from bridge.errors import Unauthenticated
from bridge.policy.tenant import Role
from bridge.slurm.port import Slurm
from gateway.api_key import PREFIX, KeyRing, new_key
from gateway.directory import Directory
from gateway.oidc.person import person_of
from gateway.oidc.settings import Oidc
from gateway.oidc.verify import Verifier, issuer_of
from gateway.principal import WHOLE, Grant, Principal, Scope, within
from gateway.slurm_token import holder, may_be_slurms

__all__ = ["Authenticator", "Caller", "KeyKeeper", "Known", "Looker", "Principal", "new_key"]

SAFE: Final = frozenset({"GET", "HEAD"})


class Authenticator:
    """Finds out whom a credential stands for."""

    def __init__(self, keys: KeyRing, oidc: Oidc, directory: Directory, slurm: Slurm) -> None:
        self._keys = keys
        self._slurm = slurm
        self._directory = directory
        self._verifier = Verifier(oidc.issuers)
        self._single = len(oidc.issuers) == 1

    async def principal(self, text: str) -> Principal:
        """Return who holds the credential.

        Raises
        ------
        Unauthenticated
            It is none that is valid now.
        Denied
            It is a valid token that no user belongs to.
        """
        if text.startswith(PREFIX):
            return self._holder(await self._keys.find(text))
        named = issuer_of(text)
        if named is not None:
            return await self._person(text, named)
        if may_be_slurms(text):
            return self._on_the_login_node(await holder(self._slurm, text))
        raise Unauthenticated(
            "that is no API key and no token that this gateway knows; send `Authorization: Bearer sluice_...`"
            " or a token of the site's sign-in"
        )

    def _holder(self, key: tuple[str, str, Grant]) -> Principal:
        key_id, user, grant = key
        return Principal(
            user=user,
            tenants=within(self._directory.now.tenants_of(user), grant.tenants),
            admin=Scope.ADMIN in grant.scopes,
            grant=grant,
            actor=f"key {key_id}",
            key_id=key_id,
        )

    def _on_the_login_node(self, user: str) -> Principal:
        return Principal(user=user, tenants=self._directory.now.tenants_of(user), actor="slurm token")

    async def _person(self, token: str, named: str) -> Principal:
        claims = await self._verifier.claims(token, named)
        snapshot = self._directory.now
        person = person_of(claims, snapshot.documents.tenants, single_issuer=self._single)
        tenants: dict[str, Role] = dict(snapshot.tenants_of(person.user))
        for tenant, role in person.roles.items():
            if tenants.get(tenant) != "manager":
                tenants[tenant] = role
        scopes = WHOLE | ({Scope.ADMIN} if person.administrator else frozenset())
        return Principal(
            user=person.user,
            tenants=within(tenants, person.only),
            admin=person.administrator,
            grant=Grant(scopes, person.only),
            actor=f"token {claims.subject} of {claims.issuer.issuer}",
        )


_bearer = HTTPBearer(
    auto_error=False,
    scheme_name="Bearer",
    description="An API key (``sluice_<id>_<secret>``) or a token of the site's OIDC issuer",
)
_Credentials = Annotated[HTTPAuthorizationCredentials | None, Depends(_bearer)]


async def _identified(request: Request, credentials: _Credentials) -> Principal:
    if credentials is None:
        raise Unauthenticated(
            "this route needs an API key or a token; send it as `Authorization: Bearer sluice_...` "
            "(`sluice env` prints one on a local stack)"
        )
    authenticator: Authenticator = request.app.state.parts.authenticator
    principal = await authenticator.principal(credentials.credentials)
    request.state.user = principal.user
    return principal


_Identified = Annotated[Principal, Depends(_identified)]


async def current(request: Request, principal: _Identified) -> Principal:
    """Return the caller: one who may read, or, for a request that writes, who may submit."""
    principal.require(Scope.READ if request.method in SAFE else Scope.SUBMIT)
    return principal


async def looking(principal: _Identified) -> Principal:
    """Return the caller, one who may read, whatever the method."""
    principal.require(Scope.READ)
    return principal


async def keeping_keys(principal: _Identified) -> Principal:
    """Return the caller, one who may make and revoke keys."""
    principal.require(Scope.KEYS)
    return principal


Caller = Annotated[Principal, Depends(current)]
"""Type of a route's parameter that is the caller."""
Looker = Annotated[Principal, Depends(looking)]
"""The same, for a POST that changes nothing."""
Known = Annotated[Principal, Depends(_identified)]
"""The same, for a route that asks for a scope itself."""
KeyKeeper = Annotated[Principal, Depends(keeping_keys)]
"""The same, for routes that write keys."""
