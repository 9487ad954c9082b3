"""Public keys of one issuer: read over HTTP, kept, read anew.

What flows in: the issuer's settings, the id of a key. What flows out: `VerifyingKey`, or None for an unknown
id. The last good keys stay for as long as the issuer is away; a key that the issuer takes back is gone with
the next reading. Whatever tokens come, the issuer is asked at most once in `keys_pause_s`, by one request.
"""

from __future__ import annotations

import asyncio
import ssl
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import httpx
import jwt
import structlog
from anyio.to_thread import run_sync

from bridge.errors import Unavailable
from gateway.oidc.settings import Issuer

MAX_BYTES: Final = 1024 * 1024
"""Of a discovery document or a key set; larger ones are refused."""
CURVE: Final = {"ES256": "P-256", "ES384": "P-384", "ES512": "P-521"}
_log = structlog.get_logger(__name__)


class _Unusable(Exception):
    """What the issuer gave can't be used; the text says why."""


@dataclass(frozen=True, slots=True)
class VerifyingKey:
    """A public key, with what its issuer allows it for."""

    key: Any
    """As `jwt.decode` takes it."""
    kind: str
    """``RSA``, ``EC`` or ``OKP`` (RFC 7517)."""
    curve: str = ""
    algorithm: str | None = None
    """The one algorithm that the issuer names for it, if it names one."""

    def fits(self, algorithm: str) -> bool:
        """Whether a token's algorithm can be this key's."""
        if self.algorithm is not None and self.algorithm != algorithm:
            return False
        match self.kind:
            case "RSA":
                return algorithm[:2] in ("RS", "PS")
            case "EC":
                return CURVE.get(algorithm) == self.curve
            case "OKP":
                return algorithm == "EdDSA"
            case _:
                return False


class IssuerKeys:
    """Keeps one issuer's keys.

    Parameters
    ----------
    clock
        Monotonic seconds.
    """

    def __init__(self, issuer: Issuer, *, clock: Callable[[], float] = time.monotonic) -> None:
        self.issuer = issuer
        self._clock = clock
        self._keys: Mapping[str | None, VerifyingKey] | None = None
        self._read_at = float("-inf")
        self._tried_at = float("-inf")
        self._reading: asyncio.Task[None] | None = None

    async def find(self, key_id: str | None) -> VerifyingKey | None:
        """Return the key of an id; a token without an id means the only key.

        Raises
        ------
        Unavailable
            No keys are known at all, and the issuer doesn't give them.
        """
        if self._keys is None or self._named(key_id) is None:
            await self._refresh()
        elif self._clock() - self._read_at >= self.issuer.keys_fresh_s:
            self._begin()  # nobody waits for what is only due
        if self._keys is None:
            raise Unavailable(
                f"the keys of issuer {self.issuer.issuer} can't be read, so that its tokens can't be checked;"
                " try again soon",
                part="issuer",
                retry_after_s=round(self.issuer.keys_pause_s),
            )
        return self._named(key_id)

    def _named(self, key_id: str | None) -> VerifyingKey | None:
        keys = self._keys or {}
        if key_id is None:
            return next(iter(keys.values())) if len(keys) == 1 else None
        return keys.get(key_id)

    async def _refresh(self) -> None:
        reading = self._begin()
        if reading is not None:
            await asyncio.shield(reading)

    def _begin(self) -> asyncio.Task[None] | None:
        if self._reading is not None and not self._reading.done():
            return self._reading
        if self._clock() - self._tried_at < self.issuer.keys_pause_s:
            return None
        self._tried_at = self._clock()
        self._reading = asyncio.create_task(self._read())
        return self._reading

    async def _read(self) -> None:
        try:
            self._keys = await self._fetch()
        except (httpx.HTTPError, _Unusable, OSError, ValueError) as error:
            kept = 0 if self._keys is None else len(self._keys)
            _log.warning(
                "keys of an issuer can't be read", issuer=self.issuer.issuer, reason=str(error), kept=kept
            )
        else:
            self._read_at = self._clock()

    async def _fetch(self) -> Mapping[str | None, VerifyingKey]:
        # Trust stores are files: building the context reads them.
        context = await run_sync(_context, self.issuer)
        timeout = httpx.Timeout(self.issuer.timeout_s)
        async with httpx.AsyncClient(verify=context, timeout=timeout, follow_redirects=False) as http:
            url = self.issuer.jwks_url or await self._discovered(http)
            return usable_keys(await self._json(http, url))

    async def _discovered(self, http: httpx.AsyncClient) -> str:
        base = self.issuer.issuer.rstrip("/")
        document = await self._json(http, f"{base}/.well-known/openid-configuration")
        # OpenID Connect Discovery 1.0, 4.3: another issuer's document must not be taken.
        if document.get("issuer") != self.issuer.issuer:
            raise _Unusable(f"its discovery document is of issuer {document.get('issuer')!r}")
        url = document.get("jwks_uri")
        if not isinstance(url, str):
            raise _Unusable("its discovery document has no jwks_uri")
        self.issuer.check_address(url)
        return url

    async def _json(self, http: httpx.AsyncClient, url: str) -> Mapping[str, Any]:
        # A Kubernetes API server answers 406 to who doesn't name its own type (measured on 1.37).
        headers = {"Accept": "application/jwk-set+json, application/json"}
        if self.issuer.token_file is not None:
            token = await run_sync(self.issuer.token_file.read_text)
            headers["Authorization"] = f"Bearer {token.strip()}"
        async with http.stream("GET", url, headers=headers) as answer:
            if answer.status_code != httpx.codes.OK:
                raise _Unusable(f"{url} answers {answer.status_code}")
            body = b""
            async for piece in answer.aiter_bytes():
                body += piece
                if len(body) > MAX_BYTES:
                    raise _Unusable(f"{url} answers more than {MAX_BYTES} bytes")
        return _mapping(body, url)


def _mapping(body: bytes, url: str) -> Mapping[str, Any]:
    found = httpx.Response(200, content=body).json()
    if not isinstance(found, dict):
        raise _Unusable(f"{url} answers no JSON object")
    return found


def _context(issuer: Issuer) -> ssl.SSLContext:
    return ssl.create_default_context(cafile=str(issuer.ca_file) if issuer.ca_file else None)


def usable_keys(document: Mapping[str, Any]) -> Mapping[str | None, VerifyingKey]:
    """Return the keys of a set that can verify signatures; symmetric ones and those we don't know are left.

    Raises
    ------
    ValueError
        It is no key set, or no key of it can be used: then what was known is better.
    """
    listed = document.get("keys")
    if not isinstance(listed, list):
        raise ValueError("it gives no list of keys")  # noqa: TRY004 - a document, not an argument
    found: dict[str | None, VerifyingKey] = {}
    for raw in listed:
        if not isinstance(raw, dict) or raw.get("use") not in (None, "sig") or raw.get("kty") == "oct":
            continue
        try:
            key = jwt.PyJWK(raw, algorithm=raw.get("alg") or _likely(raw)).key
        except (jwt.PyJWTError, ValueError, TypeError, KeyError):
            continue
        identity = raw.get("kid")
        found[str(identity) if identity is not None else None] = VerifyingKey(
            key, str(raw.get("kty")), str(raw.get("crv") or ""), raw.get("alg")
        )
    if not found:
        raise ValueError("none of its keys can be used")
    return found


def _likely(raw: Mapping[str, Any]) -> str | None:
    by_curve = {curve: algorithm for algorithm, curve in CURVE.items()}
    return {"RSA": "RS256", "OKP": "EdDSA"}.get(str(raw.get("kty"))) or by_curve.get(str(raw.get("crv")))
