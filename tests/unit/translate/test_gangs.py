"""Gangs: who belongs together, when they start, what is refused."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from bridge.translate.pod import translate
from bridge.translate.verdict import Leave, Placement, Refuse, Wait
from tests.support.pods.manifests import Json, container, pod
from tests.support.pods.scene import Scene

GROUP = {"scheduling.x-k8s.io/pod-group": "g"}


def group(members: int) -> Json:
    return {
        "kind": "PodGroup",
        "metadata": {"name": "g", "namespace": "vega-train"},
        "spec": {"minMember": members},
    }


def member(index: int, *containers: Json, **spec: Any) -> Json:
    return pod(*containers, name=f"g-{index}", meta={"labels": {**GROUP, "app": "g"}}, **spec)


def job(name: str = "j", *, annotations: Json | None = None, **spec: Any) -> Json:
    body = {"template": pod(container(gpus=8)), **spec}
    meta = {"name": name, "namespace": "vega-train", "annotations": annotations or {}}
    return {"kind": "Job", "metadata": meta, "spec": body}


def job_set(*jobs: Json, annotations: Json | None = None, **spec: Any) -> Json:
    return {
        "kind": "JobSet",
        "metadata": {"name": "s", "namespace": "vega-train", "annotations": annotations or {}},
        "spec": {"replicatedJobs": [*jobs], **spec},
    }


def replicated(name: str, replicas: int, *, gpus: int = 8, **fields: Any) -> Json:
    template = pod(container(gpus=gpus) if gpus else container(limits={}))
    return {"name": name, "replicas": replicas, "template": {"spec": {"template": template}}, **fields}


APART = {
    "podAntiAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": [
            {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": "g"}}}
        ]
    }
}


def rules(scene: Scene) -> set[str]:
    return {verdict.rule for verdict in scene.verdicts if isinstance(verdict, Refuse | Wait)}


def test_an_incomplete_gang_waits_and_counts() -> None:
    scene = Scene([group(3), member(0), member(1)])
    assert rules(scene) == {"gang.members"}
    assert "2 of 3" in scene.verdicts[0].sentence  # type: ignore[union-attr]


def test_the_first_pods_are_the_gang_and_later_ones_follow_singly() -> None:
    found = Scene([group(2), *(member(index) for index in range(4))]).placements
    assert [len(placement.members) for placement in found] == [2, 1, 1]


def test_a_gang_that_has_started_takes_nobody_in() -> None:
    scene = Scene([group(2), member(0), member(1)])
    started = replace(scene.world, started_gangs=frozenset({"podgroup-vega-train-g"}))
    verdict = translate(scene.pods[0], started)
    assert isinstance(verdict, Placement)
    assert not verdict.gang


def test_members_that_share_nodes_are_tasks_and_those_apart_are_nodes() -> None:
    shared = Scene([group(2), member(0), member(1)]).placements[0]
    spec = shared.specs["h100"]
    assert (spec.ntasks, spec.tres_per_task, spec.nodes_min) == (2, "gres/gpu:h100:1", None)
    assert (shared.nodes_min, spec.memory_per_tres) == (1, "gres/gpu:4096")
    apart = Scene([group(2), member(0, affinity=APART), member(1, affinity=APART)]).placements[0]
    spec = apart.specs["h100"]
    assert (spec.nodes_min, spec.nodes_max, spec.ntasks_per_node) == (2, 2, 1)
    assert (spec.tres_per_node, spec.memory_per_node_mib, apart.nodes_min) == ("gres/gpu:h100:1", 4096, 2)


@pytest.mark.parametrize(
    ("second", "refusal"),
    [
        (member(1, container(gpus=2)), "gang.unequal"),
        (member(1, container(requests={"cpu": 3, "memory": "4Gi"})), "gang.unequal"),
        (member(1, nodeSelector={"sluice.sh/flavor": "h100"}), "gang.unequal"),
        (member(1, affinity=APART), "gang.unequal"),
        (member(1, priorityClassName="batch"), "gang.classes"),
    ],
)
def test_members_must_be_alike(second: Json, refusal: str) -> None:
    assert rules(Scene([group(2), member(0), second])) == {refusal}


def test_anti_affinity_to_others_is_refused() -> None:
    term = {"topologyKey": "topology.kubernetes.io/zone", "labelSelector": {"matchLabels": {"app": "g"}}}
    other = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    assert rules(Scene([group(1), member(0, affinity=other)])) == {"pod.antiaffinity"}


def test_a_gang_waits_while_nodes_that_could_hold_it_are_closed() -> None:
    eight = [
        member(index, container(gpus=8), nodeSelector={"sluice.sh/flavor": "h100"}) for index in range(4)
    ]
    assert rules(Scene([group(4), *eight])) == {"gang.nodes"}


def test_a_job_asks_for_a_gang_in_words() -> None:
    plain = Scene([job(parallelism=2, completions=2)]).placements
    asked = Scene([job(annotations={"sluice.sh/gang": "true"}, parallelism=2, completions=5)]).placements
    assert [placement.gang for placement in plain] == [False, False]
    assert [(placement.gang, len(placement.members)) for placement in asked] == [(True, 2)]


def test_a_job_set_is_a_gang_by_annotation_or_exclusive_placement() -> None:
    driver, workers = replicated("driver", 1, gpus=0), replicated("workers", 2)
    asked = Scene([job_set(driver, workers, annotations={"sluice.sh/gang": "true"})])
    assert [len(placement.members) for placement in asked.placements] == [2]
    assert any(isinstance(verdict, Leave) for verdict in asked.verdicts)
    key = "alpha.jobset.sigs.k8s.io/exclusive-topology"
    small = replicated("workers", 2, gpus=1)
    exclusive = Scene([job_set(small, annotations={key: "kubernetes.io/hostname"})]).placements[0]
    assert (exclusive.gang, exclusive.nodes_min) == (True, 2)


def test_a_job_set_that_starts_in_order_is_no_gang() -> None:
    jobs = [replicated("a", 1), replicated("b", 1)]
    annotations = {"sluice.sh/gang": "true"}
    ordered = job_set(*jobs, annotations=annotations, startupPolicy={"startupPolicyOrder": "InOrder"})
    assert [placement.gang for placement in Scene([ordered]).placements] == [False, False]


def test_each_group_of_a_leader_worker_set_is_a_gang() -> None:
    body: Json = {
        "kind": "LeaderWorkerSet",
        "metadata": {"name": "l", "namespace": "vega-train"},
        "spec": {
            "replicas": 2,
            "leaderWorkerTemplate": {"size": 3, "workerTemplate": pod(container(gpus=2))},
        },
    }
    assert [len(placement.members) for placement in Scene([body]).placements] == [3, 3]


def test_an_mpi_jobs_launcher_starts_freely() -> None:
    roles = {
        "Launcher": {"replicas": 1, "template": pod(container(limits={}))},
        "Worker": {"replicas": 2, "template": pod(container(gpus=8))},
    }
    body = {
        "kind": "MPIJob",
        "metadata": {"name": "m", "namespace": "vega-train"},
        "spec": {"mpiReplicaSpecs": roles},
    }
    scene = Scene([body])
    assert [len(placement.members) for placement in scene.placements] == [2]
    assert isinstance(scene.verdicts[0], Leave)


def test_another_schedulers_group_is_not_lost_in_silence() -> None:
    assert rules(Scene([pod(meta={"annotations": {"scheduling.k8s.io/group-name": "v"}})])) == {
        "gang.foreign"
    }


def test_one_bad_member_stops_the_whole_gang() -> None:
    hostpath = [{"name": "d", "hostPath": {"path": "/"}}]
    scene = Scene([group(2), member(0), member(1, volumes=hostpath)])
    assert not scene.placements
