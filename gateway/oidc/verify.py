"""A token's signature, issuer, audience and times.

What flows in: a token's text, the issuers. What flows out: `Claims`, or `Unauthenticated` with one sentence
that has nothing of the token in it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import jwt

from bridge.errors import Unauthenticated
from gateway.oidc.jwks import IssuerKeys
from gateway.oidc.settings import Issuer

LONGEST: Final = 16 * 1024
"""Characters of a token; one with hundreds of groups has about 8 KiB."""


@dataclass(frozen=True, slots=True)
class Claims:
    """What a valid token says."""

    issuer: Issuer
    subject: str
    values: Mapping[str, Any]


def issuer_of(token: str) -> str | None:
    """Return who a token says made it, unverified; None when it is no token of an issuer."""
    if len(token) > LONGEST or token.count(".") != 2:
        return None
    try:
        values = jwt.decode(token, options={"verify_signature": False})
    except (jwt.PyJWTError, ValueError, RecursionError):
        return None
    named = values.get("iss")
    return named if isinstance(named, str) else None


class Verifier:
    """Checks tokens of the site's issuers, and of nobody else."""

    def __init__(self, issuers: Sequence[Issuer]) -> None:
        self._keys = {issuer.issuer: IssuerKeys(issuer) for issuer in issuers}

    async def claims(self, token: str, named: str) -> Claims:
        """Check a token that says it is of issuer `named`.

        Raises
        ------
        Unauthenticated
            It isn't valid, for whatever reason.
        Unavailable
            The issuer's keys were never to be had.
        """
        keys = self._keys.get(named)
        if keys is None:
            raise Unauthenticated(
                "the token is of an issuer that this site does not know; its administrators list the"
                " issuers in the site file (oidc)"
            )
        issuer = keys.issuer
        algorithm, key_id = _header(token, issuer)
        key = await keys.find(key_id)
        if key is None or not key.fits(algorithm):
            raise Unauthenticated(
                "the token is signed with a key that its issuer does not publish; get a new token"
            )
        values = _decoded(token, key.key, algorithm, issuer)
        subject = values["sub"]
        if not isinstance(subject, str) or not subject:
            raise Unauthenticated("the token names no subject; get another one from its issuer")
        return Claims(issuer, subject, values)


def _header(token: str, issuer: Issuer) -> tuple[str, str | None]:
    try:
        header = jwt.get_unverified_header(token)
    except (jwt.PyJWTError, ValueError) as error:
        raise Unauthenticated("the token can't be read; get a new one") from error
    algorithm, key_id = header.get("alg"), header.get("kid")
    # The list is the site's, never the token's: "none" and HS* are in no list (RFC 8725, 3.1).
    if algorithm not in issuer.algorithms or "crit" in header:
        raise Unauthenticated(
            f"the token is signed in a way that is not accepted; {', '.join(sorted(issuer.algorithms))} are"
        )
    return str(algorithm), key_id if isinstance(key_id, str) else None


def _decoded(token: str, key: Any, algorithm: str, issuer: Issuer) -> Mapping[str, Any]:  # noqa: ANN401 - a key of the library's
    try:
        values: Mapping[str, Any] = jwt.decode(
            token,
            key,
            algorithms=[algorithm],
            audience=list(issuer.audience),
            issuer=issuer.issuer,
            leeway=issuer.leeway_s,
            options={"require": ["exp", "iss", "sub", "aud"]},
        )
    except jwt.ExpiredSignatureError as error:
        raise Unauthenticated("the token has expired; get a new one from its issuer") from error
    except (jwt.ImmatureSignatureError, jwt.InvalidIssuedAtError) as error:
        raise Unauthenticated(
            "the token is not valid yet; compare the clocks of issuer and gateway"
        ) from error
    except jwt.InvalidAudienceError as error:
        raise Unauthenticated(
            f"the token is not for this gateway; ask its issuer for one for {' or '.join(issuer.audience)}"
        ) from error
    except jwt.MissingRequiredClaimError as error:
        raise Unauthenticated(f"the token has no {error.claim}; get another one from its issuer") from error
    except (jwt.PyJWTError, ValueError, TypeError) as error:
        raise Unauthenticated("the token is not valid; get a new one from its issuer") from error
    return values
