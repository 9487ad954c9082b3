"""The test cluster's network: names, pods over nodes, services, the world outside."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.kube import Cluster, Namespace, make_namespace, pod, remove_namespaces
from tests.support.waiting import wait_for

pytestmark = [pytest.mark.cluster, pytest.mark.xdist_group("kube-network"), pytest.mark.timeout(300)]

SERVE = "mkdir -p /tmp/www && hostname > /tmp/www/index.html && httpd -f -p 8080 -h /tmp/www"


@pytest.fixture(scope="module")
def web(cluster: Cluster) -> Iterator[Namespace]:
    """One web server on each node, and a service over both."""
    made = make_namespace(cluster)
    nodes = cluster.nodes()
    made.apply(
        *(pod(f"web-{node}", script=SERVE, labels={"app": "web"}, nodeName=node) for node in nodes),
        {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {"name": "web"},
            "spec": {"selector": {"app": "web"}, "ports": [{"port": 80, "targetPort": 8080}]},
        },
    )
    made.running(*(f"web-{node}" for node in nodes))
    yield made
    remove_namespaces(cluster, [made.name])


def fetch(web: Namespace, node: str, url: str) -> str:
    return web.sh(f"web-{node}", f"wget -q -T 5 -O - {url}", check=False).stdout.strip()


def wait_fetched(web: Namespace, node: str, url: str, start: str) -> None:
    wait_for(lambda: fetch(web, node, url).startswith(start), f"a pod on {node} reaches {url}")


def test_both_nodes_are_ready(cluster: Cluster) -> None:
    nodes = cluster.get("nodes")["items"]
    assert len(nodes) == 2
    for node in nodes:
        ready = {one["type"]: one["status"] for one in node["status"]["conditions"]}
        assert ready["Ready"] == "True", node["metadata"]["name"]
        assert node["status"]["nodeInfo"]["kubeletVersion"].startswith("v1.37.")


def test_pods_reach_each_other_over_nodes(cluster: Cluster, web: Namespace) -> None:
    first, second = cluster.nodes()
    for here, there in ((first, second), (second, first), (first, first)):
        address = web.get("pod", f"web-{there}")["status"]["podIP"]
        wait_fetched(web, here, f"http://{address}:8080/", f"web-{there}")


def test_a_service_is_found_by_name_and_spreads_over_its_pods(cluster: Cluster, web: Namespace) -> None:
    nodes = cluster.nodes()
    for node in nodes:
        wait_fetched(web, node, "http://web/", "web-")
    answers = {fetch(web, nodes[0], f"http://web.{web.name}.svc.cluster.local/") for _ in range(24)}
    assert answers == {f"web-{node}" for node in nodes}


def test_a_pod_reaches_the_api_server_by_its_name(cluster: Cluster, web: Namespace) -> None:
    node = cluster.nodes()[0]
    name = "kubernetes.default.svc.cluster.local"
    said = web.sh(f"web-{node}", f"nslookup {name} && nc -w 5 {name} 443 </dev/null")
    assert "10.96.0.1" in said.stdout


def test_a_node_port_is_reached_from_the_other_node(own_cluster: Cluster, web: Namespace) -> None:
    service = {"name": "web-port"}
    web.apply(
        {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": service,
            "spec": {
                "type": "NodePort",
                "selector": {"app": "web"},
                "ports": [{"port": 80, "targetPort": 8080}],
            },
        }
    )
    port = web.get("service", "web-port")["spec"]["ports"][0]["nodePort"]
    first, second = own_cluster.nodes()
    wait_for(
        lambda: own_cluster.node_exec(
            first, "curl", "--silent", "--max-time", "5", f"http://{second}:{port}/", check=False
        ).stdout.startswith("web-"),
        "the node port answers",
    )
