"""The stages of the contract suite: ``scene`` runs each test on the fake and on the real cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from tests.contract.scenes import RealScene, Scene, fake_scene, real_scene
from tests.support.stack import OwnTenant, Stack


@pytest.fixture(params=["fake", pytest.param("real", marks=pytest.mark.cluster)])
def scene(request: pytest.FixtureRequest) -> Iterator[Scene]:
    """A stage on each Slurm in turn."""
    if request.param == "fake":
        yield fake_scene()
        return
    real: RealScene = request.getfixturevalue("real")
    yield real


@pytest.fixture
def real(stack: Stack, make_tenant: Callable[..., OwnTenant]) -> Iterator[RealScene]:
    """A stage on the real cluster alone."""
    ours, theirs = make_tenant(members=2), make_tenant(members=1)
    with real_scene(stack, ours, theirs) as stage:
        yield stage
