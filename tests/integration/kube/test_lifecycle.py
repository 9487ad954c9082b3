"""The test cluster as a stack: up again, status, logs, and parts that are killed."""

from __future__ import annotations

import json

import pytest

from bridge.wellknown import LABEL_STACK
from tests.support.kube import Cluster, Namespace, pod
from tests.support.stack import CHECKOUT, run
from tests.support.waiting import wait_for

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(400)]

LAUNCHER = str(CHECKOUT / "sluice")


def up(cluster: Cluster) -> str:
    words = ("up", "--kubernetes", "--cluster-only", "--stack", cluster.stack)
    return run([LAUNCHER, *words], timeout_s=300).text


def identities(cluster: Cluster) -> dict[str, tuple[str, str]]:
    """Container id and start time of each part."""
    listed = run(["docker", "ps", "-aq", "--no-trunc", "--filter", f"label={LABEL_STACK}={cluster.stack}"])
    seen = json.loads(run(["docker", "inspect", *listed.stdout.split()]).stdout)
    return {one["Name"]: (one["Id"], one["State"]["StartedAt"]) for one in seen}


def is_ready(cluster: Cluster, node: str) -> bool:
    conditions = cluster.get("node", node)["status"]["conditions"]
    return any(one["type"] == "Ready" and one["status"] == "True" for one in conditions)


def started(namespace: Namespace, name: str) -> str:
    """Id of a pod's container."""
    return str(namespace.get("pod", name)["status"]["containerStatuses"][0]["containerID"])


def test_a_second_up_changes_nothing(own_cluster: Cluster) -> None:
    before = identities(own_cluster)
    assert "nothing had to change" in up(own_cluster)
    assert identities(own_cluster) == before


def test_status_and_logs_know_every_part(own_cluster: Cluster) -> None:
    said = run([LAUNCHER, "status", "--stack", own_cluster.stack]).stdout
    for part in ("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "gpu1", "gpu2"):
        assert part in said
        words = run([LAUNCHER, "logs", part, "--tail", "5", "--stack", own_cluster.stack]).text
        assert words.strip() or part == "etcd"  # which says nothing when all is well


def test_pods_live_on_when_their_kubelet_is_killed(own_cluster: Cluster, namespace: Namespace) -> None:
    node = own_cluster.nodes()[0]
    namespace.apply(pod("steady", nodeName=node))
    namespace.running("steady")
    before = started(namespace, "steady")
    own_cluster.node_exec(node, "pkill", "-9", "-x", "kubelet")
    healthy = ("curl", "--silent", "http://127.0.0.1:10248/healthz")
    wait_for(lambda: own_cluster.node_exec(node, *healthy, check=False).stdout == "ok", "the kubelet is back")
    wait_for(
        lambda: namespace.sh("steady", "echo here", check=False).stdout == "here\n", "the pod can be reached"
    )
    assert started(namespace, "steady") == before


def test_the_api_server_comes_back_by_itself(own_cluster: Cluster, namespace: Namespace) -> None:
    run(["docker", "exec", f"{own_cluster.stack}-kube-apiserver", "pkill", "-9", "-x", "kube-apiserver"])
    wait_for(
        lambda: own_cluster.kubectl("get", "--raw", "/readyz", check=False).returncode == 0,
        "the API server answers again",
        deadline_s=120,
    )
    namespace.apply(pod("after"))
    namespace.running("after")


def test_a_node_that_was_stopped_is_started_by_up_and_its_pods_with_it(
    own_cluster: Cluster, namespace: Namespace
) -> None:
    node = own_cluster.nodes()[1]
    namespace.apply(pod("resident", nodeName=node))
    namespace.running("resident")
    run(["docker", "stop", "-t", "5", f"{own_cluster.stack}-{node}"])
    assert "nothing had to change" not in up(own_cluster)
    wait_for(lambda: is_ready(own_cluster, node), f"node {node} is Ready", deadline_s=120)
    wait_for(
        lambda: namespace.sh("resident", "echo here", check=False).stdout == "here\n",
        "the pod runs again",
        deadline_s=120,
    )
