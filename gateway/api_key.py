"""API keys: made, and found again by what a client sends.

A key is ``sluice_<id>_<secret>``: the id finds the row, the secret is compared by its sha256 in constant
time. Secrets are shown once, when they are made, and are in no log.
"""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import re
import secrets
import time
from collections.abc import Callable
from datetime import datetime, timedelta
from functools import partial
from typing import Final

from bridge.errors import InputError, Unauthenticated, Unavailable
from gateway.principal import WHOLE, Grant, Scope, grant_of
from gateway.store import keys
from gateway.store.engine import Store
from gateway.store.keys import ApiKey

PREFIX: Final = "sluice_"
_KEY: Final = re.compile(r"^sluice_(?P<id>[0-9a-f]{12})_(?P<secret>[A-Za-z0-9_-]{43})$")
_WRONG: Final = (
    "the API key is not valid (unknown, revoked or expired); make a new one with `sluice keys create`, or"
    " have an administrator make it (`python -m gateway.keys create --user NAME` in the gateway's container)"
)
MAX_LABEL: Final = 200
USE_NOTED_EVERY: Final = timedelta(hours=1)


def new_key(
    user: str,
    *,
    label: str,
    now: datetime,
    grant: Grant | None = None,
    admin: bool = False,
    expires_at: datetime | None = None,
) -> tuple[ApiKey, str]:
    """Make a key; returns what is stored and the text that is shown once.

    Without a `grant` it may what its user may; with `admin` everything.
    """
    if len(label) > MAX_LABEL or not label.isprintable():
        raise InputError(f"label takes at most {MAX_LABEL} printable characters", parameter="label")
    grant = grant or Grant(frozenset({Scope.ADMIN}) if admin else WHOLE)
    key_id, secret = secrets.token_hex(6), secrets.token_urlsafe(32)
    key = ApiKey(
        id=key_id,
        user=user,
        label=label,
        scopes=grant.words(),
        secret_sha256=_hash(secret),
        created_at=now,
        expires_at=expires_at,
    )
    return key, f"{PREFIX}{key_id}_{secret}"


class KeyRing:
    """Finds a key; a row that was found is trusted for `cache_s` seconds.

    Only the row is kept, never the secret: each request is compared anew.
    """

    def __init__(self, store: Store, *, clock: Callable[[], datetime], cache_s: float) -> None:
        self._store = store
        self._clock = clock
        self._cache_s = cache_s
        self._rows: dict[str, tuple[float, ApiKey]] = {}

    async def find(self, text: str) -> tuple[str, str, Grant]:
        """Return id, user and grant of a key.

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
        now = self._clock()
        if key is None or not same or not key.valid(now):
            raise Unauthenticated(_WRONG)
        if key.last_used_at is None or now - key.last_used_at >= USE_NOTED_EVERY:
            await self._note_use(key, now)
        return key.id, key.user, grant_of(key.scopes)

    def forget(self, key_id: str) -> None:
        """Trust a key no longer without looking: it was revoked by this process."""
        self._rows.pop(key_id, None)

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

    async def _note_use(self, key: ApiKey, now: datetime) -> None:
        self._rows.pop(key.id, None)  # read again, with the time of this use
        with contextlib.suppress(Unavailable):  # a store that can't write still answers readers
            await self._store.write(partial(keys.used, key_id=key.id, now=now))


def _hash(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()
