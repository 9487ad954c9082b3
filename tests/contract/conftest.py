"""The stages of the contract suite: ``scene`` runs each test on the fake and on the real cluster."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.contract.scenes import RealScene, Scene, fake_scene, real_scene, two_tenants
from tests.support.stack import Stack


@pytest.fixture(params=["fake", pytest.param("real", marks=pytest.mark.cluster)])
def scene(request: pytest.FixtureRequest) -> Iterator[Scene]:
    """A stage on each Slurm in turn."""
    if request.param == "fake":
        yield fake_scene()
        return
    real: RealScene = request.getfixturevalue("real")
    yield real


@pytest.fixture(scope="session")
def real(stack: Stack) -> Iterator[RealScene]:
    """A stage on the real cluster alone; its two tenants are this worker's own."""
    with two_tenants(stack) as (ours, theirs), real_scene(stack, ours, theirs) as stage:
        yield stage
