"""Whose token: the API server's word, for our audience alone, asked once a minute."""

from __future__ import annotations

import pytest

from bridge.errors import Unauthenticated
from bridge.kube.fake import FakeCluster
from bridge.kube.kinds import Kind, Object
from bridge.kube.tokens import TokenReviews


class Server(FakeCluster):
    status: dict[str, object]
    asked = 0

    def create(self, kind: Kind, item: Object, *, namespace: str = "") -> Object:
        self.asked += 1
        return {**item, "status": self.status}  # type: ignore[dict-item]


def reviews(status: dict[str, object]) -> tuple[Server, TokenReviews]:
    server = Server()
    server.status = status
    return server, TokenReviews(server, audience="sluice-bridge")


GOOD = {
    "authenticated": True,
    "user": {"username": "system:serviceaccount:sluice:gateway"},
    "audiences": ["sluice-bridge"],
}


def test_a_good_token_is_asked_about_once() -> None:
    server, found = reviews(GOOD)
    assert found.user_of("t") == "system:serviceaccount:sluice:gateway"
    assert found.user_of("t") == "system:serviceaccount:sluice:gateway"
    assert server.asked == 1


@pytest.mark.parametrize(
    "status", [{}, {**GOOD, "authenticated": False}, {**GOOD, "audiences": ["other"]}, {**GOOD, "user": {}}]
)
def test_anything_else_is_nobody(status: dict[str, object]) -> None:
    _, found = reviews(status)
    with pytest.raises(Unauthenticated):
        found.user_of("t")
