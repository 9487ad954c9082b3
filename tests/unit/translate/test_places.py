"""Where a pod may run, for how long, as which class, and what it may not ask."""

from __future__ import annotations

from typing import Any

import pytest

from bridge.translate.verdict import Leave, Wait
from tests.support.pods.manifests import (
    A,
    H,
    Json,
    affinity,
    answer,
    by_claim,
    container,
    expression,
    placed,
    pod,
    rule,
)


class TestPlacement:
    @pytest.mark.parametrize(
        ("expressions", "nodes"),
        [
            ([expression("topology.kubernetes.io/zone", "NotIn", "z1")], {"h4", "a2"}),
            ([expression("example.net/ib-island", "DoesNotExist")], A),
            ([expression("nvidia.com/gpu.memory", "Lt", "50000")], A),
            ([expression("example.net/ib-island", "NotIn", "i1")], {"h4"} | A),
        ],
    )
    def test_each_operator(self, expressions: list[Json], nodes: set[str]) -> None:
        assert set(placed(pod(affinity=affinity(*expressions))).nodes) == nodes

    def test_terms_are_alternatives(self) -> None:
        terms = [
            {"matchFields": [expression("metadata.name", "In", "a1")]},
            {"matchExpressions": [expression("kubernetes.io/hostname", "In", "h2")]},
            {},
        ]
        assert set(placed(pod(affinity=affinity(terms=terms))).nodes) == {"a1", "h2"}

    def test_a_toleration_opens_the_tainted_node(self) -> None:
        burn_in = {"key": "example.net/burn-in", "operator": "Equal", "value": "true", "effect": "NoSchedule"}
        assert set(placed(pod(tolerations=[burn_in])).nodes) == H | A | {"h3"}
        assert set(placed(pod(tolerations=[{"operator": "Exists"}])).nodes) == H | A | {"h3"}

    def test_what_matches_nothing_now_is_waited_for_and_says_why(self) -> None:
        verdict = answer(pod(nodeSelector={"disk": "nvme"}))
        assert isinstance(verdict, Wait)
        assert "don't match its node selector" in verdict.sentence

    def test_preferences_order_the_flavors(self) -> None:
        want = [
            {"weight": 1, "preference": {"matchExpressions": [expression("sluice.sh/flavor", "In", "a100")]}}
        ]
        prefer = {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": want}}
        assert placed(pod(affinity=prefer)).flavors == ("a100", "h100")

    def test_soft_spread_and_soft_affinity_are_preferences(self) -> None:
        spread = {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "ScheduleAnyway"}
        soft = {"podAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1}]}}
        assert placed(pod(topologySpreadConstraints=[spread], affinity=soft)).gpus_total == 1

    def test_host_ports_and_lone_anti_affinity_are_refused(self) -> None:
        assert rule(pod(container(ports=[{"containerPort": 80, "hostPort": 80}]))) == "refuse host.port"
        apart = {
            "requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": "kubernetes.io/hostname"}]
        }
        assert rule(pod(affinity={"podAntiAffinity": apart})) == "refuse pod.antiaffinity"

    def test_a_demand_is_one_feature_however_it_is_written(self) -> None:
        one = pod(nodeSelector={"a": "1", "b": "2"}, tolerations=[{"key": "x", "operator": "Exists"}] * 2)
        other = pod(nodeSelector={"b": "2", "a": "1"}, tolerations=[{"key": "x", "operator": "Exists"}])
        for item in (one, other):
            item["spec"]["nodeSelector"] = {
                key: value for key, value in item["spec"]["nodeSelector"].items() if key not in ("a", "b")
            }
        assert placed(one).demand.feature == placed(other).demand.feature
        assert placed(one).demand.feature != placed(pod()).demand.feature


class TestVolumes:
    @staticmethod
    def with_claim(**claim: Any) -> list[Json]:
        bound = {
            "kind": "PersistentVolumeClaim",
            "metadata": {"name": "v", "namespace": "vega-train"},
            **claim,
        }
        return [bound, pod(volumes=[{"name": "v", "persistentVolumeClaim": {"claimName": "v"}}])]

    def test_a_bound_volume_pins_its_nodes(self) -> None:
        zone = {"matchExpressions": [expression("topology.kubernetes.io/zone", "In", "z2")]}
        volume = {
            "kind": "PersistentVolume",
            "metadata": {"name": "pv"},
            "spec": {"nodeAffinity": {"required": {"nodeSelectorTerms": [zone]}}},
        }
        claim = self.with_claim(spec={"volumeName": "pv"}, status={"phase": "Bound"})
        assert set(placed(volume, *claim).nodes) == {"h4", "a2"}

    def test_missing_and_unbound_claims_are_waited_for(self) -> None:
        assert rule(self.with_claim()[1]) == "wait volume.missing"
        assert rule(*self.with_claim(spec={"storageClassName": "other"})) == "wait volume.unbound"

    def test_a_claim_that_waits_for_its_pod_is_bound_after_the_grant(self) -> None:
        found = placed(*self.with_claim(spec={"storageClassName": "scratch-local"}))
        assert found.volumes_to_bind == ("v",)


class TestTimeAndClass:
    def test_the_deadline_may_be_the_maximum_itself(self) -> None:
        assert placed(pod(activeDeadlineSeconds=4320 * 60)).walltime_min == 4320
        assert rule(pod(activeDeadlineSeconds=4320 * 60 + 1)) == "refuse walltime.limit"

    def test_a_jobs_own_deadline_caps_its_pods(self) -> None:
        job = {
            "kind": "Job",
            "metadata": {"name": "j", "namespace": "vega-train"},
            "spec": {"activeDeadlineSeconds": 600, "template": pod(activeDeadlineSeconds=7200)},
        }
        assert placed(job).walltime_min == 12

    def test_production_without_a_deadline_holds_a_lease(self) -> None:
        found = placed(pod(namespace="lyra-serve"))
        assert (found.walltime_min, found.walltime_source) == (1440, "lease")
        assert found.specs["h100"].qos == "production-lyra"

    def test_no_deadline_is_the_classes_maximum(self) -> None:
        assert placed(pod(priorityClassName="development")).walltime_min == 480
        assert placed(pod()).walltime_min == 4320
        batch = placed(pod(namespace="lyra-serve", priorityClassName="batch"))
        assert batch.specs["h100"].time_limit_min == "UNLIMITED"

    def test_a_class_that_the_tenant_may_not_use_and_system_classes_are_refused(self) -> None:
        assert rule(pod(priorityClassName="production")) == "refuse class.allowed"
        assert rule(pod(priorityClassName="system-node-critical")) == "refuse class.unknown"


class TestSafety:
    @pytest.mark.parametrize(
        ("change", "refusal"),
        [
            ({"hostNetwork": True}, "safety.host"),
            ({"hostPID": True}, "safety.host"),
            ({"volumes": [{"name": "d", "hostPath": {"path": "/dev"}}]}, "safety.hostpath"),
            ({"initContainers": [container(securityContext={"privileged": True})]}, "safety.privileged"),
            (
                {"containers": [container(securityContext={"capabilities": {"add": ["SYS_ADMIN"]}})]},
                "safety.capability",
            ),
            ({"containers": [container(securityContext={"procMount": "Unmasked"})]}, "safety.proc"),
            (
                {
                    "containers": [
                        container(volumeMounts=[{"mountPath": "/var/run/nvidia-container-devices/0"}])
                    ]
                },
                "safety.devices",
            ),
            (
                {"containers": [container(env=[{"name": "NVIDIA_VISIBLE_DEVICES", "valueFrom": {}}])]},
                "safety.devices",
            ),
        ],
    )
    def test_ways_around_the_grant_are_refused(self, change: Json, refusal: str) -> None:
        assert rule(pod(**change)) == f"refuse {refusal}"

    @pytest.mark.parametrize("value", ["void", "none"])
    def test_no_devices_at_all_may_be_asked_of_the_runtime(self, value: str) -> None:
        env = [{"name": "NVIDIA_VISIBLE_DEVICES", "value": value}]
        assert placed(pod(container(env=env))).gpus_total == 1

    def test_cdi_annotations_and_marks_of_ours_are_refused(self) -> None:
        assert rule(pod(meta={"annotations": {"cdi.k8s.io/x": "nvidia.com/gpu=0"}})) == "refuse safety.cdi"
        assert rule(pod(meta={"labels": {"sluice.sh/class": "production"}})) == "refuse marks"

    def test_a_gpu_pod_names_no_node_and_a_cpu_pod_none_of_the_pool(self) -> None:
        assert rule(pod(nodeName="c1")) == "refuse node.byhand"
        assert isinstance(answer(pod(container(limits={}), nodeName="c1")), Leave)

    def test_tolerating_everything_without_a_gpu_is_refused(self) -> None:
        squat = pod(container(limits={}), tolerations=[{"operator": "Exists"}])
        assert rule(squat) == "refuse pool.toleration"

    def test_another_bridges_marks_are_noted(self) -> None:
        found = placed(pod(meta={"annotations": {"slinky.slurm.net/job-name": "x"}}))
        assert "slinky.slurm.net/job-name" in found.notes[0]

    def test_gates_are_waited_for_with_a_claim_too(self) -> None:
        gated = by_claim("missing")
        gated["spec"]["schedulingGates"] = [{"name": "kueue.x-k8s.io/admission"}]
        assert rule(gated) == "wait gates"
