"""The plan of a local stack: what is made, replaced, started, kept and left alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bridge.cluster.part import Mount, Part
from bridge.cluster.plan import (
    Container,
    Create,
    Keep,
    MakeVolume,
    Observed,
    Remove,
    Start,
    Step,
    changes,
    container_name,
    plan,
)
from bridge.errors import Conflict

STACK = "sluice"
PREPARE = Part(
    name="prepare",
    image="slurm:1",
    command=("prepare",),
    once=True,
    mounts=(Mount(volume="etc", path="/etc"),),
)
CONTROLLER = Part(
    name="slurmctld",
    image="slurm:1",
    command=("slurmctld", "-D"),
    mounts=(Mount(volume="etc", path="/etc", read_only=True), Mount(volume="state", path="/state")),
    after=("prepare",),
)
PARTS = (PREPARE, CONTROLLER)
VOLUMES = ("etc", "state")


def carried_out(steps: Sequence[Step], before: Observed) -> Observed:
    """What Docker shows after the steps, if nothing goes wrong."""
    containers = dict(before.containers)
    volumes = dict(before.volumes)
    for step in steps:
        match step:
            case MakeVolume(name):
                volumes[name] = STACK
            case Remove(name, _):
                del containers[name]
            case Create(part) | Start(part):
                containers[container_name(STACK, part.name)] = seen(part)
            case Keep(_):
                pass
    return Observed(containers=containers, volumes=volumes, networks=before.networks)


def seen(part: Part, *, state: str = "", exit_code: int = 0) -> Container:
    return Container(
        name=container_name(STACK, part.name),
        stack=STACK,
        part=part.name,
        spec=part.spec,
        state=state or ("exited" if part.once else "running"),
        exit_code=exit_code,
    )


def observed(*containers: Container, volumes: Sequence[str] = VOLUMES) -> Observed:
    return Observed(
        containers={container.name: container for container in containers},
        volumes={container_name(STACK, volume): STACK for volume in volumes},
        networks={STACK: STACK},
    )


def test_nothing_there_makes_everything_in_order() -> None:
    steps = plan(STACK, PARTS, VOLUMES, Observed())
    assert steps == (
        MakeVolume("sluice-etc"),
        MakeVolume("sluice-state"),
        Create(PREPARE),
        Create(CONTROLLER),
    )


def test_everything_there_changes_nothing() -> None:
    steps = plan(STACK, PARTS, VOLUMES, observed(seen(PREPARE), seen(CONTROLLER)))
    assert steps == (Keep(PREPARE), Keep(CONTROLLER))
    assert not changes(steps)


def test_a_changed_description_replaces_only_that_part() -> None:
    newer = replace(CONTROLLER, image="slurm:2")
    steps = plan(STACK, (PREPARE, newer), VOLUMES, observed(seen(PREPARE), seen(CONTROLLER)))
    assert steps == (Keep(PREPARE), Remove("sluice-slurmctld", "its description changed"), Create(newer))


@pytest.mark.parametrize("state", ["exited", "paused"])
def test_a_stopped_part_is_started_again(state: str) -> None:
    steps = plan(STACK, PARTS, VOLUMES, observed(seen(PREPARE), seen(CONTROLLER, state=state)))
    assert steps == (Keep(PREPARE), Start(CONTROLLER))


@pytest.mark.parametrize(
    ("part", "state", "exit_code"),
    [(CONTROLLER, "created", 0), (CONTROLLER, "dead", 0), (PREPARE, "created", 0), (PREPARE, "exited", 137)],
)
def test_a_half_made_container_is_made_anew(part: Part, state: str, exit_code: int) -> None:
    containers = {p.name: seen(p) for p in PARTS} | {part.name: seen(part, state=state, exit_code=exit_code)}
    steps = plan(STACK, PARTS, VOLUMES, observed(*containers.values()))
    assert Create(part) in steps
    assert container_name(STACK, part.name) in {step.name for step in steps if isinstance(step, Remove)}


def test_a_once_part_that_still_runs_is_waited_for() -> None:
    steps = plan(STACK, PARTS, VOLUMES, observed(seen(PREPARE, state="running"), seen(CONTROLLER)))
    assert not changes(steps)


def test_a_missing_volume_replaces_the_parts_that_use_it() -> None:
    steps = plan(STACK, PARTS, VOLUMES, observed(seen(PREPARE), seen(CONTROLLER), volumes=["etc"]))
    assert steps[0] == MakeVolume("sluice-state")
    assert Keep(PREPARE) in steps
    assert Create(CONTROLLER) in steps


def test_a_part_that_is_no_longer_wanted_is_removed() -> None:
    old = Container(name="sluice-gpu9", stack=STACK, part="gpu9")
    steps = plan(STACK, PARTS, VOLUMES, observed(seen(PREPARE), seen(CONTROLLER), old))
    assert Remove("sluice-gpu9", "no longer part of the stack") in steps


@pytest.mark.parametrize("owner", ["", "other"])
def test_a_foreign_container_with_our_name_is_refused(owner: str) -> None:
    foreign = Container(name="sluice-slurmctld", stack=owner)
    with pytest.raises(Conflict, match=r"container sluice-slurmctld .* left alone"):
        plan(STACK, PARTS, VOLUMES, observed(foreign))


def test_a_foreign_volume_or_network_with_our_name_is_refused() -> None:
    with pytest.raises(Conflict, match="volume sluice-etc"):
        plan(STACK, PARTS, VOLUMES, Observed(volumes={"sluice-etc": ""}))
    with pytest.raises(Conflict, match="network sluice"):
        plan(STACK, PARTS, VOLUMES, Observed(networks={"sluice": ""}))


def test_containers_of_others_beside_ours_are_left_alone() -> None:
    other = Container(name="sluice-2-slurmctld", stack="sluice-2", part="slurmctld", spec="x")
    plain = Container(name="sluice-notes", stack="")
    steps = plan(STACK, PARTS, VOLUMES, observed(seen(PREPARE), seen(CONTROLLER), other, plain))
    assert not changes(steps)


def test_every_field_of_a_part_is_in_its_spec() -> None:
    assert CONTROLLER.spec != replace(CONTROLLER, user="root").spec
    assert CONTROLLER.spec != replace(CONTROLLER, depends_on_content="x").spec
    assert CONTROLLER.spec != replace(CONTROLLER, capabilities=()).spec
    assert CONTROLLER.spec == replace(CONTROLLER).spec


states = st.sampled_from(["created", "running", "restarting", "paused", "exited", "dead"])


@given(
    found=st.lists(
        st.tuples(st.sampled_from(PARTS), states, st.sampled_from([0, 1, 137]), st.booleans()),
        unique_by=lambda entry: entry[0].name,
    ),
    volumes=st.sets(st.sampled_from(VOLUMES)),
)
def test_a_plan_that_was_carried_out_leaves_nothing_to_do(
    found: list[tuple[Part, str, int, bool]], volumes: set[str]
) -> None:
    containers = [
        replace(seen(part, state=state, exit_code=code), spec="old" if old else part.spec)
        for part, state, code, old in found
    ]
    before = observed(*containers, volumes=sorted(volumes))
    after = carried_out(plan(STACK, PARTS, VOLUMES, before), before)
    assert not changes(plan(STACK, PARTS, VOLUMES, after))
