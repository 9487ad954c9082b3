"""Whose ServiceAccount token this is: asked of the API server (TokenReview), remembered for a while.

What flows in: a token and the audience that it must be for. What flows out: the user name that the API
server gives it (``system:serviceaccount:NAMESPACE:NAME``), or `Unauthenticated`.
"""

from __future__ import annotations

import hashlib
import threading
import time
from collections.abc import Callable
from typing import Final

from bridge.errors import Unauthenticated
from bridge.kube.kinds import TOKEN_REVIEW, section, text, texts
from bridge.kube.port import Cluster

REMEMBERED_S: Final = 60.0
"""A token of a deleted pod is taken for so long at most."""
MOST: Final = 10_000


class TokenReviews:
    """Asks and remembers; thread-safe. Only digests of tokens are kept."""

    def __init__(
        self, cluster: Cluster, *, audience: str, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._cluster = cluster
        self._audience = audience
        self._clock = clock
        self._lock = threading.Lock()
        self._known: dict[str, tuple[float, str]] = {}

    def user_of(self, token: str) -> str:
        """Return the token's user; raises `Unauthenticated`, or `Unavailable` without an answer."""
        digest = hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()
        with self._lock:
            at, user = self._known.get(digest, (float("-inf"), ""))
        if self._clock() - at < REMEMBERED_S:
            return user
        review = self._cluster.create(
            TOKEN_REVIEW, {"metadata": {}, "spec": {"token": token, "audiences": [self._audience]}}
        )
        user = text(review, "status", "user", "username")
        known = section(review, "status").get("authenticated") is True
        if not known or not user or self._audience not in texts(review, "status", "audiences"):
            raise Unauthenticated(
                f"the ServiceAccount token is not valid for audience {self._audience}; mount a projected one"
            )
        with self._lock:
            if len(self._known) >= MOST:
                self._known.clear()
            self._known[digest] = (self._clock(), user)
        return user
