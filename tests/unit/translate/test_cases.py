"""The pod cases: manifests with the answer that the door must give, the product's own choices applied."""

from __future__ import annotations

import functools
import json
from typing import Any

import pytest
import yaml

from bridge.errors import InputError
from bridge.translate.resources import pod_request
from bridge.translate.verdict import Leave, Placement, Refuse, Wait
from tests.support.pods.scene import DATA, Scene, documents

ROWS = [json.loads(line) for line in (DATA / "expected.jsonl").read_text().splitlines()]
CHOICES: dict[str, dict[str, Any]] = yaml.safe_load((DATA / "choices.yaml").read_text())
REACHED = [row for row in ROWS if row["api_server"] != "refused"]
REFUSED_BY_SERVER = [row for row in ROWS if row["api_server"] == "refused"]


@functools.cache
def scene(case: str) -> Scene:
    return Scene(documents(DATA / "manifests" / f"{case}.yaml"))


def scene_of(row: dict[str, Any]) -> Scene:
    return scene(row["case"])


def expected(row: dict[str, Any]) -> dict[str, Any]:
    chosen = {**row, **CHOICES.get(row["case"], {})}
    if chosen["door_verdict"] != "schedule":
        chosen["jobs"], chosen["per_job"] = 0, []
    return chosen


@pytest.mark.parametrize("row", REACHED, ids=lambda row: row["case"])
def test_the_door_gives_the_right_answer(row: dict[str, Any]) -> None:
    row = expected(row)
    scene = scene_of(row)
    verdicts = scene.verdicts
    kinds = {type(verdict) for verdict in verdicts}
    match row["door_verdict"]:
        case "refuse":
            assert Refuse in kinds, verdicts
            assert Placement not in kinds, verdicts
        case "leave-to-default-scheduler":
            assert kinds == {Leave}, verdicts
        case _:
            assert Refuse not in kinds, verdicts
            assert len(scene.placements) == row["jobs"], verdicts[:10]
            assert row["jobs"] or not verdicts or Wait in kinds, verdicts
    shapes = [shape for shape in row["per_job"] for _ in range(shape.get("times", 0))]
    for placement, shape in zip(scene.placements, shapes, strict=True):
        same_shape(placement, shape, row)


def same_shape(placement: Placement, shape: dict[str, Any], row: dict[str, Any]) -> None:
    members = placement.members
    spec = next(iter(placement.specs.values()))
    assert len(members) == shape["pods"]
    assert placement.nodes_min == shape["nodes_min"]
    assert placement.gpus_per_pod == shape["gpus_per_pod"]
    assert placement.gpus_total == shape["gpus_total"]
    assert sorted(placement.flavors) == sorted(shape["flavors"])
    gpus = spec.tres_per_node or spec.tres_per_task
    assert gpus in {f"gres/gpu:{flavor}:{shape['gpus_per_pod']}" for flavor in shape["flavors"]}
    assert (placement.cpus, placement.memory_mib) == (shape["cpus"], shape["memory_mib"])
    assert placement.job_class == shape["class"]
    assert placement.gang == shape["gang"]
    assert set(placement.nodes) == set(shape["allowed_nodes"])
    users = row.get("users", {})
    assert placement.user == users.get(members[0].namespace, shape["user"])
    bare = shape["walltime_min"]
    if bare is None:
        assert placement.walltime_source != "deadline"
    else:
        # Grace and start slack come on top, so that the kubelet's deadline is first.
        assert bare <= (placement.walltime_min or 0) <= bare + 2
        assert placement.walltime_source == "deadline"


@pytest.mark.parametrize("row", REFUSED_BY_SERVER, ids=lambda row: row["case"])
def test_what_the_server_refuses_makes_nothing_but_a_sentence(row: dict[str, Any]) -> None:
    try:
        verdicts = scene_of(row).verdicts
    except InputError as error:
        assert str(error)
    else:
        for verdict in verdicts:
            assert not isinstance(verdict, Refuse | Wait) or verdict.sentence.strip()


@pytest.mark.parametrize("row", [row for row in REACHED if row.get("measured")], ids=lambda row: row["case"])
def test_effective_requests_are_the_schedulers_own(row: dict[str, Any]) -> None:
    """`measured` is what the scheduler's library says of the pods that the server really made."""
    measured = {json.dumps(numbers(item), sort_keys=True) for item in row["measured"]}
    ours = set()
    for pod in scene_of(row).pods:
        request = pod_request(pod)
        others = {name: int(amount) for name, amount in request.items() if name not in ("cpu", "memory")}
        cpu, memory = request.get("cpu", 0), request.get("memory", 0)
        ours.add(json.dumps([int(cpu * 1000), int(memory), others], sort_keys=True))
    assert ours == measured


def numbers(item: dict[str, Any]) -> list[Any]:
    resources = {name: amount for name, amount in item["resources"].items() if amount}
    return [item["milli_cpu"], item["memory_bytes"], resources]


def test_every_choice_is_of_a_case() -> None:
    assert CHOICES.keys() <= {row["case"] for row in ROWS}


def test_every_answer_but_a_placement_says_why_in_one_sentence() -> None:
    for row in REACHED:
        for verdict in scene_of(row).verdicts:
            if isinstance(verdict, Refuse | Wait):
                assert verdict.rule
                assert 20 < len(verdict.sentence) < 400
                assert not verdict.sentence.endswith(".")
