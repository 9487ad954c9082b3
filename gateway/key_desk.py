"""API keys over HTTP: who may make, see and revoke which; each write is in the audit log.

Everybody keeps their own keys. A key never makes one that may more or lasts longer than itself: a stolen one
can't be made permanent. A manager sees and revokes keys that are limited (``tenant=``) to tenants of theirs,
and makes none for others: a key acts as its user, and what a member's output says is no manager's business.
An administrator sees, makes and revokes all.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from typing import Final

from bridge.errors import Denied, InputError, NotFound
from gateway.api_key import KeyRing, new_key
from gateway.principal import Grant, Principal, Scope, grant_of
from gateway.store import keys
from gateway.store.audit import Action, Entry
from gateway.store.engine import Store
from gateway.store.keys import ApiKey

USUAL: Final = frozenset({Scope.READ, Scope.SUBMIT})
"""Scopes of a key that names none."""
MAX_USER: Final = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """The key that somebody asks for."""

    user: str | None = None
    """None: the caller's own."""
    label: str = ""
    scopes: tuple[str, ...] = ()
    expires_at: datetime | None = None


class KeyDesk:
    """Makes, lists and revokes keys for callers.

    Parameters
    ----------
    max_age
        Longest life of a key; None is no limit.
    """

    def __init__(
        self, store: Store, ring: KeyRing, *, clock: Callable[[], datetime], max_age: timedelta | None
    ) -> None:
        self._store = store
        self._ring = ring
        self._clock = clock
        self._max_age = max_age

    async def create(self, caller: Principal, wish: Wish) -> tuple[ApiKey, str]:
        """Make a key; returns it and the text that is shown once.

        Raises
        ------
        Denied
            It is for somebody else, or may more or lasts longer than the caller's own credential.
        InputError
            A scope, user or time is wrong.
        """
        user = wish.user or caller.user
        if user != caller.user and not caller.admin:
            raise Denied(f"a key for {user} is made by {user} or by an administrator")
        if len(user) > MAX_USER or not user.isprintable() or any(letter.isspace() for letter in user):
            raise InputError(f"{user[:MAX_USER]!r} is not a user's name", parameter="user")
        now = self._clock()
        grant = self._granted(caller, wish.scopes)
        expires_at = self._until(await self._own(caller), wish.expires_at, now)
        key, text = new_key(user, label=wish.label, grant=grant, now=now, expires_at=expires_at)
        entry = _entry(caller, "key.create", key, now, after=_told(key))
        await self._store.write(partial(keys.add, key=key, audit_entry=entry))
        return key, text

    async def listing(self, caller: Principal, *, user: str | None = None) -> Sequence[ApiKey]:
        """Return the keys that the caller may see, oldest first."""
        found = await self._store.read(partial(keys.listing, user=user))
        return [key for key in found if _sees(caller, key)]

    async def get(self, caller: Principal, key_id: str) -> ApiKey:
        """Return one key; `NotFound` also for one that is none of the caller's business."""
        key = await self._store.read(partial(keys.get, key_id=key_id))
        if key is None or not _sees(caller, key):
            raise NotFound(f"there is no API key {key_id[:16]!r} that you can see; GET /v1/keys lists them")
        return key

    async def revoke(self, caller: Principal, key_id: str) -> ApiKey:
        """Revoke a key for ever and return it; one that is revoked already stays as it was."""
        key = await self.get(caller, key_id)
        if key.revoked_at is None:
            now = self._clock()
            entry = _entry(caller, "key.revoke", key, now, before=_told(key))
            await self._store.write(partial(keys.revoke, key_id=key.id, now=now, audit_entry=entry))
            self._ring.forget(key.id)
        return await self.get(caller, key_id)

    def _granted(self, caller: Principal, words: Sequence[str]) -> Grant:
        grant = grant_of(words) if words else Grant(USUAL, caller.grant.tenants)
        if grant.tenants is None and Scope.ADMIN not in grant.scopes:
            grant = Grant(grant.scopes, caller.grant.tenants)
        if not caller.grant.covers(grant):
            raise Denied(
                f"your credential may {', '.join(caller.grant.words())}, and no key that may more can be made"
                f" with it ({', '.join(grant.words())} is asked)"
            )
        strange = sorted((grant.tenants or frozenset()) - caller.tenants.keys())
        if strange and not caller.admin:
            raise InputError(f"you are no member of {', '.join(strange)}; leave it out", parameter="scopes")
        return grant

    async def _own(self, caller: Principal) -> ApiKey | None:
        return await self._store.read(partial(keys.get, key_id=caller.key_id)) if caller.key_id else None

    def _until(self, own: ApiKey | None, wished: datetime | None, now: datetime) -> datetime | None:
        if wished is not None and wished <= now:
            raise InputError("expires_at has passed already; give a later moment", parameter="expires_at")
        ends = [moment for moment in (own.expires_at if own else None, self._longest(now)) if moment]
        if not ends:
            return wished
        last = min(ends)
        if wished is not None and wished > last:
            raise Denied(f"no key made now lasts beyond {last.isoformat()}; give an earlier expires_at")
        return wished or last

    def _longest(self, now: datetime) -> datetime | None:
        return None if self._max_age is None else now + self._max_age


def _sees(caller: Principal, key: ApiKey) -> bool:
    if caller.admin:
        return True
    bound = grant_of(key.scopes).tenants
    limited = caller.grant.tenants
    if key.user == caller.user:
        return limited is None or (bound is not None and bound <= limited)
    return bound is not None and caller.manages(bound)


def _told(key: ApiKey) -> dict[str, object]:
    return {
        "user": key.user,
        "label": key.label,
        "scopes": list(key.scopes),
        "expires_at": key.expires_at.isoformat() if key.expires_at else None,
    }


def _entry(
    caller: Principal,
    action: Action,
    key: ApiKey,
    now: datetime,
    *,
    before: dict[str, object] | None = None,
    after: dict[str, object] | None = None,
) -> Entry:
    bound = grant_of(key.scopes).tenants or frozenset()
    return Entry(
        at=now,
        user=caller.user,
        actor=caller.actor,
        action=action,
        object=key.id,
        tenant=next(iter(bound)) if len(bound) == 1 else "",
        before=before,
        after=after,
    )
