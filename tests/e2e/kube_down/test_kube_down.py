"""`./sluice down` on a Kubernetes cluster in containers: nothing of it is left on the machine."""

from __future__ import annotations

from pathlib import Path

import pytest

from bridge.wellknown import LABEL_STACK
from tests.support.kube import Cluster
from tests.support.stack import CHECKOUT, run
from tests.support.waiting import wait_for

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(300)]

HOSTS_SETTINGS = ("vm/overcommit_memory", "kernel/panic", "kernel/panic_on_oops")


def ours(cluster: Cluster) -> set[str]:
    """What Docker has with the stack's label."""
    label = f"label={LABEL_STACK}={cluster.stack}"
    listings = (["ps", "-aq"], ["volume", "ls", "-q"], ["network", "ls", "-q"])
    return {
        word for listing in listings for word in run(["docker", *listing, "--filter", label]).stdout.split()
    }


def cgroups(containers: list[str]) -> list[Path]:
    """Folders of cgroups that are named after the containers."""
    root = Path("/sys/fs/cgroup")
    return [found for one in containers for found in root.glob(f"*/docker/{one}")]


def test_down_leaves_nothing_behind(own_cluster: Cluster) -> None:
    label = f"label={LABEL_STACK}={own_cluster.stack}"
    containers = run(["docker", "ps", "-q", "--no-trunc", "--filter", label]).stdout.split()
    nodes = [f"{own_cluster.stack}-{node}" for node in own_cluster.nodes()]
    said = [run(["docker", "exec", nodes[0], "cat", f"/proc/sys/{one}"]).stdout for one in HOSTS_SETTINGS]
    assert said == ["1\n", "10\n", "1\n"]  # what the kubelet is shown
    run([str(CHECKOUT / "sluice"), "down", "--stack", own_cluster.stack], timeout_s=250)
    assert ours(own_cluster) == set()
    wait_for(lambda: not cgroups(containers), "the nodes' cgroups are gone")
    assert not own_cluster.kubeconfig.exists()
