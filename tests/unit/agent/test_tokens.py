"""Tokens of Slurm's own: only those that this cluster's key made, for as long as they last."""

import time
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


@pytest.mark.parametrize(
    "bad",
    [
        token(b"x" * 32),
        token(exp=int(time.time()) - 60),
        token(sun=""),
        token(sun=7),
        token(None, algorithm="none"),
        token(b"k" * 64, algorithm="HS512"),
        token(rsa.generate_private_key(65537, 2048), algorithm="RS256"),
        token()[:-4],
        "a.b.c",
        "",
        None,
        "x" * 100_000,
    ],
)
def test_no_other_is_believed(bad: object) -> None:
    with pytest.raises(Unauthenticated):
        Tokens(KEY).user_of(bad)


def test_a_token_without_an_end_is_refused() -> None:
    forever = jwt.encode({"sun": "bela"}, KEY, algorithm="HS256")
    with pytest.raises(Unauthenticated):
        Tokens(KEY).user_of(forever)
