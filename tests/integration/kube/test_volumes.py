"""The test cluster's volumes: made on demand, shared by nodes, removed with their claims."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.kube import Cluster, Namespace, pod
from tests.support.stack import Json
from tests.support.waiting import wait_for

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(300)]


def claim(name: str, storage_class: str, mode: str = "ReadWriteMany") -> Json:
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": name},
        "spec": {
            "storageClassName": storage_class,
            "accessModes": [mode],
            "resources": {"requests": {"storage": "1Gi"}},
        },
    }


def with_volume(name: str, claim_name: str, script: str, **spec: Any) -> Json:
    return pod(
        name,
        script=script,
        volumes=[{"name": "data", "persistentVolumeClaim": {"claimName": claim_name}}],
        container={"volumeMounts": [{"name": "data", "mountPath": "/data"}]},
        **spec,
    )


def test_pods_on_both_nodes_share_a_home_and_nothing_is_left_of_it(
    own_cluster: Cluster, namespace: Namespace
) -> None:
    first, second = own_cluster.nodes()
    namespace.apply(
        claim("home", "shared"),
        with_volume("writer", "home", "echo from-$(hostname) > /data/note; sleep 3600", nodeName=first),
        with_volume("reader", "home", "sleep 3600", nodeName=second),
    )
    namespace.running("writer", "reader")
    wait_for(
        lambda: namespace.sh("reader", "cat /data/note", check=False).stdout == "from-writer\n",
        "the other node sees the file",
    )
    volume = namespace.get("pvc", "home")["spec"]["volumeName"]
    assert volume in own_cluster.node_exec(first, "ls", "/srv/volumes").stdout
    namespace.kubectl("delete", "pod", "writer", "reader")
    namespace.kubectl("delete", "pvc", "home")
    wait_for(
        lambda: volume not in own_cluster.node_exec(first, "ls", "/srv/volumes").stdout,
        "the volume's files are gone",
    )


def test_a_local_volume_keeps_its_pods_on_one_node(own_cluster: Cluster, namespace: Namespace) -> None:
    namespace.apply(claim("scratch", "local", "ReadWriteOnce"), with_volume("first", "scratch", "sleep 3600"))
    namespace.running("first")
    node = namespace.get("pod", "first")["spec"]["nodeName"]
    volume = own_cluster.get("pv", namespace.get("pvc", "scratch")["spec"]["volumeName"])
    term = volume["spec"]["nodeAffinity"]["required"]["nodeSelectorTerms"][0]
    assert term["matchExpressions"][0]["values"] == [node]
    other = next(one for one in own_cluster.nodes() if one != node)
    namespace.apply(
        with_volume("elsewhere", "scratch", "true", nodeSelector={"kubernetes.io/hostname": other})
    )
    wait_for(
        lambda: "node affinity" in namespace.kubectl("describe", "pod", "elsewhere").stdout,
        "the scheduler says why the pod can't run there",
    )
