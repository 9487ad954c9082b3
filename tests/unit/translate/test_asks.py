"""What a pod asks: sizes, GPUs, claims; and what becomes of it."""

from __future__ import annotations

from bridge.translate.verdict import Leave
from tests.support.pods.manifests import (
    A,
    H,
    answer,
    by_claim,
    cel,
    container,
    placed,
    pod,
    request,
    rule,
    template,
)
from tests.support.pods.scene import Scene


class TestSizes:
    def test_overhead_of_a_runtime_class_is_added(self) -> None:
        found = placed(pod(runtimeClassName="kata-gpu"))
        assert (found.cpus, found.memory_mib) == (3, 4096 + 160)

    def test_a_limit_ranges_defaults_are_asked_and_its_memory_limit_is_not_the_users(self) -> None:
        found = placed(pod(container(requests={}), namespace="vega-lab"))
        assert (found.cpus, found.memory_mib) == (1, 4096)

    def test_pod_level_requests_replace_the_sum(self) -> None:
        found = placed(pod(resources={"requests": {"cpu": 7, "memory": "20Gi"}}))
        assert (found.cpus, found.memory_mib) == (7, 20480)

    def test_a_pod_level_limit_alone_takes_the_containers_sum(self) -> None:
        found = placed(pod(resources={"limits": {"cpu": 9}}))
        assert found.cpus == 2

    def test_no_memory_asked_is_left_to_slurms_default(self) -> None:
        spec = placed(pod(container(requests={"cpu": 1}))).specs["h100"]
        assert spec.memory_per_node_mib is None
        assert spec.memory_per_tres is None

    def test_hugepages_pick_the_node_that_has_them(self) -> None:
        more = {"nvidia.com/gpu": 1, "hugepages-2Mi": "1Gi"}
        assert placed(pod(container(limits=more))).nodes == ("h4",)
        assert rule(pod(container(limits={**more, "hugepages-2Mi": "64Gi"}))) == "refuse node.extra"

    def test_a_resource_that_no_node_offers_now_is_waited_for(self) -> None:
        assert rule(pod(container(limits={"nvidia.com/gpu": 1, "example.com/fpga": 1}))) == "wait node.none"

    def test_more_cpus_than_a_node_has_is_refused(self) -> None:
        assert rule(pod(container(requests={"cpu": 97}))) == "refuse node.size"

    def test_limits_of_memory_are_the_request(self) -> None:
        limits = {"nvidia.com/gpu": 1, "memory": "8Gi", "cpu": 64}
        assert rule(pod(container(limits=limits))) == "refuse memory.limit"
        assert placed(pod(container(requests={}, limits=limits))).memory_mib == 8192

    def test_a_sidecars_gpu_adds_and_an_inits_is_a_peak(self) -> None:
        sidecar = container("s", restartPolicy="Always")
        assert placed(pod(initContainers=[sidecar])).gpus_per_pod == 2
        assert placed(pod(initContainers=[container("i", gpus=3)])).gpus_per_pod == 3


class TestGpus:
    def test_parts_of_gpus_are_refused(self) -> None:
        assert rule(pod(container(limits={"nvidia.com/gpu.shared": 1}))) == "refuse gpu.shared"

    def test_another_vendor_is_another_flavor(self) -> None:
        amd = container(limits={"amd.com/gpu": 8})
        assert placed(pod(amd, namespace="lyra-serve")).flavors == ("mi300x",)
        assert rule(pod(amd)) == "refuse flavor.grant"

    def test_a_mig_profile_that_no_node_has_is_refused(self) -> None:
        assert rule(pod(container(limits={"nvidia.com/mig-3g.40gb": 1}))) == "refuse gpu.unknown"

    def test_whole_gpus_and_slices_are_two_kinds(self) -> None:
        both = {"nvidia.com/gpu": 1, "nvidia.com/mig-1g.10gb": 1}
        assert rule(pod(container(limits=both))) == "refuse gpu.kinds"

    def test_a_device_plugins_count_does_as_well(self) -> None:
        scene = Scene([pod(container(gpus=8))], devices=False)
        assert set(scene.placements[0].nodes) == H | A

    def test_other_drivers_devices_are_not_given_out_with_gpus(self) -> None:
        name = "deviceclass.resource.kubernetes.io/rdma.example.net"
        assert rule(pod(container(limits={"nvidia.com/gpu": 1, name: 1}))) == "refuse claim.drivers"
        assert isinstance(answer(pod(container(limits={name: 1}))), Leave)

    def test_a_mig_class_by_its_implicit_name_is_its_flavor(self) -> None:
        limits = {"deviceclass.resource.kubernetes.io/mig.nvidia.com": 2}
        assert placed(pod(container(limits=limits))).flavors == ("mig-1g.10gb",)

    def test_resources_of_nobodys_pool_are_left_alone(self) -> None:
        assert isinstance(answer(pod(container(limits={"example.com/fpga": 1}))), Leave)


class TestClaims:
    def test_a_template_an_extended_resource_and_a_named_claim_are_equal(self) -> None:
        named = pod(container(limits={}), resourceClaims=[{"name": "accel", "resourceClaimName": "c"}])
        claim = {
            "kind": "ResourceClaim",
            "metadata": {"name": "c", "namespace": "vega-train"},
            "spec": {"devices": {"requests": [request()]}},
        }
        shapes = {
            (found.gpus_per_pod, found.nodes, found.cpus, found.flavors)
            for found in (placed(template("t", request()), by_claim()), placed(claim, named), placed(pod()))
        }
        assert len(shapes) == 1

    def test_several_requests_add_up(self) -> None:
        assert placed(template("t", request("a"), request("b", count=2)), by_claim()).gpus_per_pod == 3

    def test_a_flat_request_of_an_older_api_is_read(self) -> None:
        flat = {"name": "gpu", "deviceClassName": "gpu.nvidia.com", "count": 2}
        assert placed(template("t", flat), by_claim()).gpus_per_pod == 2

    def test_a_count_of_zero_is_stored_as_one(self) -> None:
        assert placed(template("t", request(count=0)), by_claim()).gpus_per_pod == 1

    def test_alternatives_of_one_size_differ_in_flavor_only(self) -> None:
        ways = [
            {
                "name": kind.lower(),
                "deviceClassName": "gpu.nvidia.com",
                "selectors": cel(f"device.attributes['gpu.nvidia.com'].productName.contains('{kind}')"),
            }
            for kind in ("A100", "H100")
        ]
        found = placed(template("t", {"name": "gpu", "firstAvailable": ways}), by_claim())
        assert set(found.flavors) == {"h100", "a100"}

    def test_picking_among_the_gpus_of_a_node_is_refused(self) -> None:
        numa = cel("device.attributes['gpu.nvidia.com'].numaNode == 1")
        assert rule(template("t", request(selectors=numa)), by_claim()) == "refuse claim.selector"

    def test_a_selector_that_nothing_matches_is_waited_for(self) -> None:
        b200 = cel("device.attributes['gpu.nvidia.com'].productName.contains('B200')")
        assert rule(template("t", request(selectors=b200)), by_claim()) == "wait claim.nothing"

    def test_a_selector_on_an_attribute_that_devices_lack_matches_nothing(self) -> None:
        odd = cel("device.attributes['gpu.nvidia.com'].nvlink == 4")
        assert rule(template("t", request(selectors=odd)), by_claim()) == "wait claim.nothing"

    def test_administrative_access_books_nothing(self) -> None:
        assert isinstance(answer(template("t", request(adminAccess=True)), by_claim()), Leave)

    def test_devices_that_must_agree_are_refused_unless_there_is_one(self) -> None:
        rules = [{"requests": [], "matchAttribute": "gpu.nvidia.com/numaNode"}]
        pair = template("t", request(count=2), constraints=rules)
        assert rule(pair, by_claim()) == "refuse claim.constraints"
        assert placed(template("t", request(), constraints=rules), by_claim()).gpus_per_pod == 1

    def test_parts_of_a_device_are_refused(self) -> None:
        part = template("t", request(capacity={"requests": {"memory": "10Gi"}}))
        assert rule(part, by_claim()) == "refuse claim.part"

    def test_a_claim_and_an_extended_resource_add_up(self) -> None:
        both = by_claim()
        both["spec"]["containers"][0]["resources"]["limits"] = {"nvidia.com/gpu": 2}
        assert placed(template("t", request()), both).gpus_per_pod == 3
