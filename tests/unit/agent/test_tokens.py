"""Tokens of Slurm's own: only those that this cluster's key made, for as long as they last."""

import time
from collections.abc import Callable
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import rsa

from bridge.agent.tokens import Tokens
from bridge.errors import Unauthenticated

KEY = b"k" * 32


def token(key: Any = KEY, *, algorithm: str = "HS256", **claims: Any) -> str:
    now = int(time.time())
    return jwt.encode({"iat": now, "exp": now + 60, "sun": "bela", **claims}, key, algorithm=algorithm)


def test_a_token_of_this_cluster_names_its_user() -> None:
    assert Tokens(KEY).user_of(token()) == "bela"


BAD: dict[str, Callable[[], object]] = {
    "another key": lambda: token(b"x" * 32),
    "expired": lambda: token(exp=int(time.time()) - 60),
    "nobody": lambda: token(sun=""),
    "a number": lambda: token(sun=7),
    "no signature": lambda: token(None, algorithm="none"),
    "another algorithm": lambda: token(b"k" * 64, algorithm="HS512"),
    "an issuer's": lambda: token(rsa.generate_private_key(65537, 2048), algorithm="RS256"),
    "cut": lambda: token()[:-4],
    "no token": lambda: "a.b.c",
    "empty": lambda: "",
    "None": lambda: None,
    "endless": lambda: "x" * 100_000,
}


@pytest.mark.parametrize("bad", BAD)
def test_no_other_is_believed(bad: str) -> None:
    with pytest.raises(Unauthenticated):
        Tokens(KEY).user_of(BAD[bad]())


def test_a_token_without_an_end_is_refused() -> None:
    forever = jwt.encode({"sun": "bela"}, KEY, algorithm="HS256")
    with pytest.raises(Unauthenticated):
        Tokens(KEY).user_of(forever)
