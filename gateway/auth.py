"""Who asks: an API key becomes a `Principal`; what a principal may see and do is decided here.

What flows in: the Authorization header, the keys in the store, the tenant documents. What flows out:
`Principal`, or `Unauthenticated`. Every route but the open ones takes ``Depends(current)``.

A key is ``sluice_<id>_<secret>``: the id finds the row, the secret is compared by its sha256 in constant
time. Secrets are shown once, when they are made, and are in no log.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Annotated, Final

from fastapi import Depends, Request
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer

from bridge.errors import Denied, Unauthenticated
from bridge.policy.tenant import Role
from gateway.directory import Directory
from gateway.store import keys
from gateway.store.engine import Store
from gateway.store.jobs import Visible
from gateway.store.keys import ApiKey
from gateway.track.record import JobRecord

_KEY: Final = re.compile(r"^sluice_(?P<id>[0-9a-f]{12})_(?P<secret>[A-Za-z0-9_-]{43})$")
_WRONG: Final = (
    "the API key is not valid (unknown, revoked or expired); ask for a new one "
    "(`python -m gateway.keys create --user NAME` in the gateway's container)"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Principal:
    """A known caller: a Linux user, with the tenants that the user is a member of."""

    user: str
    tenants: Mapping[str, Role] = field(default_factory=dict)
    admin: bool = False
    key_id: str = ""

    @property
    def visible(self) -> Visible:
        """Which jobs the caller may see."""
        return Visible(user=self.user, tenants=frozenset(self.tenants), everything=self.admin)

    def sees(self, job: JobRecord) -> bool:
        """Whether the job is the caller's own or of a tenant of the caller's."""
        return self.admin or job.user == self.user or job.tenant in self.tenants

    def may_cancel(self, job: JobRecord) -> bool:
        """Whether the caller may end it: the owner, a manager of its tenant, an administrator."""
        return self.admin or job.user == self.user or self.tenants.get(job.tenant) == "manager"

    def may_read_logs(self, job: JobRecord) -> bool:
        """Whether the caller may read its output: the owner or an administrator."""
        return self.admin or job.user == self.user

    def require_admin(self) -> None:
        """Raise `Denied` for everybody who isn't an administrator."""
        if not self.admin:
            raise Denied("this needs an administrator's key")


def new_key(
    user: str, *, label: str, admin: bool, now: datetime, expires_at: datetime | None = None
) -> tuple[ApiKey, str]:
    """Make a key; returns what is stored and the text that is shown once."""
    key_id, secret = secrets.token_hex(6), secrets.token_urlsafe(32)
    key = ApiKey(
        id=key_id,
        user=user,
        label=label,
        admin=admin,
        secret_sha256=_hash(secret),
        created_at=now,
        expires_at=expires_at,
    )
    return key, f"sluice_{key_id}_{secret}"


class Authenticator:
    """Finds the principal of a key; a key that was found is trusted for `cache_s` seconds.

    Only the row is kept, never the secret: each request is compared anew.
    """

    def __init__(
        self, store: Store, directory: Directory, *, clock: Callable[[], datetime], cache_s: float
    ) -> None:
        self._store = store
        self._directory = directory
        self._clock = clock
        self._cache_s = cache_s
        self._rows: dict[str, tuple[float, ApiKey]] = {}

    async def principal(self, text: str) -> Principal:
        """Return who holds the key.

        Raises
        ------
        Unauthenticated
            It isn't a key, is unknown, revoked or expired, or its secret is wrong.
        """
        match = _KEY.match(text)
        if match is None:
            raise Unauthenticated(_WRONG)
        key = await self._row(match["id"])
        stored = key.secret_sha256 if key else _hash("nobody")
        same = hmac.compare_digest(stored, _hash(match["secret"]))
        if key is None or not same or not key.valid(self._clock()):
            raise Unauthenticated(_WRONG)
        return Principal(
            user=key.user,
            tenants=self._directory.now.tenants_of(key.user),
            admin=key.admin,
            key_id=key.id,
        )

    async def _row(self, key_id: str) -> ApiKey | None:
        known = self._rows.get(key_id)
        if known is not None and time.monotonic() - known[0] < self._cache_s:
            return known[1]
        key = await self._store.read(lambda session: keys.get(session, key_id))
        if key is None:
            self._rows.pop(key_id, None)
        else:
            self._rows[key_id] = (time.monotonic(), key)
        return key


def _hash(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()


_bearer = HTTPBearer(
    auto_error=False, scheme_name="ApiKey", description="An API key, ``sluice_<id>_<secret>``"
)


async def current(
    request: Request, credentials: Annotated[HTTPAuthorizationCredentials | None, Depends(_bearer)]
) -> Principal:
    """Return the principal of a request (a FastAPI dependency)."""
    if credentials is None:
        raise Unauthenticated(
            "this route needs an API key; send it as `Authorization: Bearer sluice_...` "
            "(`sluice env` prints one on a local stack)"
        )
    authenticator: Authenticator = request.app.state.parts.authenticator
    principal = await authenticator.principal(credentials.credentials)
    request.state.user = principal.user
    return principal


Caller = Annotated[Principal, Depends(current)]
"""Type of a route's parameter that is the caller."""
