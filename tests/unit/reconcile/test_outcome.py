"""How pods end, in Slurm's words: the cause first, then the exit status."""

from __future__ import annotations

from typing import Any

import pytest

from bridge.errors import InputError
from bridge.job import BaseState, ExitStatus, JobState
from bridge.reconcile.devices import device_table
from bridge.reconcile.grants import Assignment, GrantFault, assign
from bridge.reconcile.outcome import ORDER, Means, outcome_of
from bridge.reconcile.view import Cause, JobView, PodView
from bridge.translate.devices import Device


def pod(**fields: Any) -> PodView:
    return PodView(**{"uid": "p", "node": "h1", "phase": "Failed", **fields})


@pytest.mark.parametrize(
    ("code", "state", "exit_status", "wait"),
    [
        (0, BaseState.COMPLETED, "0:0", 0),
        (7, BaseState.FAILED, "7:0", 7 << 8),
        (137, BaseState.FAILED, "0:9", 9),
        (143, BaseState.FAILED, "0:15", 15),
        (128, BaseState.FAILED, "128:0", 128 << 8),
        (255, BaseState.FAILED, "255:0", 255 << 8),
    ],
)
def test_exit_codes(code: int, state: BaseState, exit_status: str, wait: int) -> None:
    found = outcome_of([pod(phase="Failed" if code else "Succeeded", exit_code=code)], None)
    assert (found.state, str(found.exit), found.wait_status) == (state, exit_status, wait)


def test_out_of_memory_has_a_wait_status_of_its_own() -> None:
    found = outcome_of([pod(exit_code=137, causes=frozenset({Cause.OUT_OF_MEMORY}))], None)
    assert (found.state, found.wait_status) == (BaseState.OUT_OF_MEMORY, 253)


def test_a_pod_that_failed_without_an_exit_code_is_no_success() -> None:
    assert outcome_of([pod(exit_code=None)], None).state is BaseState.FAILED


@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
@pytest.mark.parametrize(
    ("cause", "state", "means"),
    [
        (Cause.PREEMPTED, BaseState.PREEMPTED, Means.SLURM),
        (Cause.TIME_LIMIT, BaseState.TIMEOUT, Means.LIMIT),
        (Cause.CANCELLED, BaseState.CANCELLED, Means.CANCEL),
        (Cause.NODE_FAILED, BaseState.NODE_FAIL, Means.NODE_DOWN),
    ],
)
def test_the_cause_wins_over_phase_and_exit_code(
    phase: str, cause: Cause, state: BaseState, means: Means
) -> None:
    for code in (0, 7, 137):
        found = outcome_of([pod(phase=phase, exit_code=code, causes=frozenset({cause}))], None)
        assert (found.state, found.means, found.wait_status) == (state, means, None)


def test_of_several_causes_the_first_in_order_wins() -> None:
    for index, cause in enumerate(ORDER):
        held = frozenset(ORDER[index:])
        assert outcome_of([pod(causes=held)], None) == outcome_of([pod(causes=frozenset({cause}))], None)


def test_what_slurm_says_counts_as_a_cause() -> None:
    job = JobView(job_id=1, state=JobState(BaseState.RUNNING), preempting=True)
    assert outcome_of([pod(phase="Succeeded", exit_code=0)], job).state is BaseState.PREEMPTED


def test_a_pod_that_vanished_was_cancelled_not_completed() -> None:
    assert outcome_of([pod(present=False, phase="Running")], None).state is BaseState.CANCELLED


def test_a_gang_fails_with_its_first_failed_member() -> None:
    members = [pod(phase="Succeeded", exit_code=0), pod(exit_code=3), pod(exit_code=4)]
    assert outcome_of(members, None).exit == ExitStatus(3)


TABLE = {name: tuple(("d", name, f"g{index}") for index in range(4)) for name in ("a", "b")}


def members(*claims: frozenset[tuple[str, str, str]] | None) -> list[PodView]:
    return [PodView(uid=f"p{index}", claim=claim) for index, claim in enumerate(claims)]


def test_a_grant_is_divided_in_order_and_the_same_way_again() -> None:
    grant = {"b": (3, 0), "a": (2, 1)}
    found = assign(grant, pods=members(None, None), gpus_per_pod=2, devices=TABLE, held={})
    first = Assignment("p0", "a", (TABLE["a"][1], TABLE["a"][2]))
    assert found == (first, Assignment("p1", "b", (TABLE["b"][0], TABLE["b"][3])))
    again = members(None, frozenset(TABLE["a"][1:3]))
    kept = assign(grant, pods=again, gpus_per_pod=2, devices=TABLE, held=dict.fromkeys(TABLE["a"][1:3], "p1"))
    assert isinstance(kept, tuple)
    assert [(part.pod_uid, part.node) for part in kept] == [("p0", "b"), ("p1", "a")]


@pytest.mark.parametrize(
    ("grant", "held", "kind"),
    [
        ({"a": (0, 9)}, {}, "unknown"),
        ({"c": (0, 1)}, {}, "unknown"),
        ({"a": (0, 0)}, {}, "unknown"),
        ({"a": (0, 1)}, {TABLE["a"][1]: "other"}, "taken"),
        ({"a": (0,)}, {}, "size"),
        ({"a": (0,), "b": (0,)}, {}, "size"),
        ({"a": (0, 1, 2)}, {}, "size"),
    ],
)
def test_grants_that_cannot_be_used(grant: Any, held: Any, kind: str) -> None:
    found = assign(grant, pods=members(None), gpus_per_pod=2, devices=TABLE, held=held)
    assert isinstance(found, GrantFault)
    assert found.kind == kind
    assert found.node


def device(name: str, **attributes: int) -> Device:
    return Device(
        driver="gpu.nvidia.com",
        pool="h1",
        name=name,
        attributes={f"gpu.nvidia.com/{key}": value for key, value in attributes.items()},
    )


def test_an_index_is_the_device_of_its_minor() -> None:
    found = device_table(
        "h1", (1, 0), [device("x", minor=0), device("y", minor=1), device("z")], "gpu.nvidia.com/minor"
    )
    assert [key[2] for key in found] == ["y", "x"]


@pytest.mark.parametrize(
    ("minors", "devices"),
    [
        ((0, 1), [device("x", minor=0)]),
        ((0,), [device("x", minor=0), device("y", minor=0)]),
        ((0, 0), [device("x", minor=0)]),
    ],
)
def test_a_table_that_is_not_one_to_one_is_refused(minors: tuple[int, ...], devices: list[Device]) -> None:
    with pytest.raises(InputError):
        device_table("h1", minors, devices, "gpu.nvidia.com/minor")
