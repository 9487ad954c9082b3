"""Tokens of Slurm's own (auth/jwt, `scontrol token`): whom one stands for.

What flows in: the cluster's JWT key, a token. What flows out: a user's name. slurmctld gives everybody a
token for themselves alone, and it is as good as the user's word at slurmrestd: so it is at the gateway, which
has no key of Slurm's and asks here. Tokens of OIDC issuers never come here: these are HS256, those never.
"""

from __future__ import annotations

from typing import Final

import jwt

from bridge.errors import Unauthenticated

_LEEWAY_S: Final = 5.0
_LONGEST: Final = 4096


class Tokens:
    """Checks tokens with the cluster's key."""

    def __init__(self, key: bytes) -> None:
        self._key = key

    def user_of(self, token: object) -> str:
        """Return the user (Slurm's claim ``sun``).

        Raises
        ------
        Unauthenticated
            It has another key's signature, has expired, or names nobody.
        """
        if not isinstance(token, str) or len(token) > _LONGEST:
            raise Unauthenticated("that is no token of Slurm")
        try:
            claims = jwt.decode(
                token,
                self._key,
                algorithms=["HS256"],
                leeway=_LEEWAY_S,
                options={"require": ["exp", "sun"], "verify_aud": False},
            )
        except jwt.ExpiredSignatureError as error:
            raise Unauthenticated(
                "the token of Slurm has expired; `scontrol token` gives a new one"
            ) from error
        except (jwt.PyJWTError, ValueError) as error:
            raise Unauthenticated(
                "the token of Slurm is not valid here; `scontrol token` on the login node gives one"
            ) from error
        user = claims["sun"]
        if not isinstance(user, str) or not user:
            raise Unauthenticated("the token of Slurm names nobody")
        return user
