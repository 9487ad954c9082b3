"""The simulated GPUs of the test cluster: what they say of themselves, and who gets which."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests.support.kube import Cluster, Namespace, pod
from tests.support.stack import Json
from tests.support.waiting import wait_for

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(300)]

DRIVER = "gpu.nvidia.com"


def template(name: str, **request: Any) -> Json:
    exactly = {"deviceClassName": DRIVER, "allocationMode": "ExactCount", "count": 1, **request}
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaimTemplate",
        "metadata": {"name": name},
        "spec": {"spec": {"devices": {"requests": [{"name": "gpus", "exactly": exactly}]}}},
    }


def with_claim(name: str, template_name: str, **more: Any) -> Json:
    return pod(
        name,
        resourceClaims=[{"name": "gpus", "resourceClaimTemplateName": template_name}],
        container={"resources": {"claims": [{"name": "gpus"}]}},
        **more,
    )


def seen_by(namespace: Namespace, name: str) -> set[str]:
    """Minor numbers of the device files in a pod."""
    said = namespace.sh(name, "cd /dev && ls -l nvidia* 2>/dev/null", check=False).stdout
    return set(re.findall(r"240,\s+(\d+) .* nvidia\1\b", said))


def allocated(namespace: Namespace) -> list[Json]:
    """Devices of all claims of a namespace."""
    claims = namespace.get("resourceclaims")["items"]
    return [
        device
        for one in claims
        for device in one["status"].get("allocation", {}).get("devices", {}).get("results", [])
    ]


def test_each_node_publishes_eight_gpus_as_nvidias_driver_would(cluster: Cluster) -> None:
    slices = [one for one in cluster.get("resourceslices")["items"] if one["spec"]["driver"] == DRIVER]
    assert {one["spec"]["nodeName"] for one in slices} == set(cluster.nodes())
    for one in slices:
        devices = one["spec"]["devices"]
        assert [device["name"] for device in devices] == [f"gpu-{minor}" for minor in range(8)]
        products = [device["attributes"]["productName"]["string"] for device in devices]
        assert products == ["NVIDIA H100 80GB HBM3"] * 4 + ["NVIDIA A100-SXM4-80GB"] * 4
        assert devices[0]["attributes"]["cudaComputeCapability"]["version"] == "9.0.0"
        assert devices[0]["capacity"]["memory"]["value"] == "81559Mi"
    uuids = [d["attributes"]["uuid"]["string"] for one in slices for d in one["spec"]["devices"]]
    assert len(set(uuids)) == 16


def test_a_claim_gives_exactly_its_devices_and_frees_them(namespace: Namespace) -> None:
    selector = "device.attributes['gpu.nvidia.com'].productName.lowerAscii().matches('a100')"
    namespace.apply(
        template("two", count=2, selectors=[{"cel": {"expression": selector}}]), with_claim("user", "two")
    )
    namespace.running("user")
    devices = allocated(namespace)
    assert len(devices) == 2
    assert seen_by(namespace, "user") == {device["device"].removeprefix("gpu-") for device in devices}
    assert seen_by(namespace, "user") <= {"4", "5", "6", "7"}
    namespace.kubectl("delete", "pod", "user")
    wait_for(lambda: not namespace.get("resourceclaims")["items"], "the claim went with its pod")


def test_the_extended_resource_gives_devices_without_a_claim_of_the_users(namespace: Namespace) -> None:
    namespace.apply(
        pod("plain", container={"resources": {"limits": {"nvidia.com/gpu": "3"}}}), pod("without")
    )
    namespace.running("plain", "without")
    assert len(seen_by(namespace, "plain")) == 3
    assert seen_by(namespace, "without") == set()


def test_nobody_gets_a_device_that_is_taken(cluster: Cluster, namespace: Namespace) -> None:
    node = cluster.nodes()[0]
    there = {"nodeSelector": {"kubernetes.io/hostname": node}}
    namespace.apply(template("one"), *(with_claim(f"user-{n}", "one", **there) for n in range(3)))
    namespace.running(*(f"user-{n}" for n in range(3)))
    held = [device for n in range(3) for device in seen_by(namespace, f"user-{n}")]
    assert len(held) == len(set(held)) == 3


def test_an_administrator_sees_all_devices_of_a_node_and_takes_none(
    cluster: Cluster, namespace: Namespace
) -> None:
    cluster.kubectl("label", "namespace", namespace.name, "resource.kubernetes.io/admin-access=true")
    node = cluster.nodes()[1]
    there = {"nodeSelector": {"kubernetes.io/hostname": node}}
    namespace.apply(
        template("all", adminAccess=True, allocationMode="All", count=None),
        template("one"),
        with_claim("admin", "all", **there),
        with_claim("user", "one", **there),
    )
    namespace.running("admin", "user")
    assert seen_by(namespace, "admin") == {str(minor) for minor in range(8)}
    assert len(seen_by(namespace, "user")) == 1
