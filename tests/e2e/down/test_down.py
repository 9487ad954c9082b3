"""`./sluice down`, the last thing of a run: all that is ours is gone, and nothing of anybody else."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator

import pytest

from bridge.wellknown import LABEL_STACK
from tests.support.stack import CHECKOUT, Stack, run

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(300)]

LAUNCHER = str(CHECKOUT / "sluice")


@pytest.fixture
def bystander(stack: Stack) -> Iterator[str]:
    """A container and a volume of the user's own, made from the same image."""
    name = f"bystander-{uuid.uuid4().hex[:8]}"
    (gateway,) = json.loads(run(["docker", "inspect", stack.container("gateway")]).stdout)
    run(["docker", "volume", "create", name])
    run(
        [
            "docker",
            "run",
            "-d",
            "--name",
            name,
            "--entrypoint",
            "sleep",
            "-v",
            f"{name}:/data",
            gateway["Image"],
            "600",
        ]
    )
    yield name
    run(["docker", "rm", "-f", name])
    run(["docker", "volume", "rm", name])


def ours(stack: Stack) -> dict[str, str]:
    """What Docker has with the stack's label."""
    label = f"label={LABEL_STACK}={stack.name}"
    return {
        "containers": run(["docker", "ps", "-aq", "--filter", label]).stdout.strip(),
        "volumes": run(["docker", "volume", "ls", "-q", "--filter", label]).stdout.strip(),
        "networks": run(["docker", "network", "ls", "-q", "--filter", label]).stdout.strip(),
    }


def test_down_removes_what_up_made_and_nothing_else(stack: Stack, bystander: str) -> None:
    assert all(ours(stack).values())
    run([LAUNCHER, "down", "--stack", stack.name], timeout_s=200)
    assert not any(ours(stack).values())
    (left,) = json.loads(run(["docker", "inspect", bystander]).stdout)
    assert left["State"]["Running"]
    run(["docker", "volume", "inspect", bystander])
    again = run([LAUNCHER, "down", "--stack", stack.name], check=False)
    assert again.returncode == 0, again.text
