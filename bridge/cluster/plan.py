"""What must be done to turn what Docker has into what the stack should be.

Pure. What flows in: the parts, and `Observed` (what Docker shows). What flows out: steps in the order of
the parts. A plan made after its steps were carried out has only `Keep`: that is what makes a second `up`
change nothing, and an `up` after a kill go on where the first one stopped.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import TypeAlias

from bridge.cluster.part import Part
from bridge.errors import Conflict


class Kind(Enum):
    """What a stack runs on; the value is a part that only this kind has."""

    CONTAINERS = "slurmctld"
    KUBERNETES = "kube-apiserver"

    @property
    def words(self) -> str:
        """For sentences."""
        return "plain containers" if self is Kind.CONTAINERS else "Kubernetes"


@dataclass(frozen=True, slots=True, kw_only=True)
class Container:
    """A container with a name of ours, as Docker shows it. `stack`, `part`, `spec` are its labels."""

    name: str
    stack: str = ""
    part: str = ""
    spec: str = ""
    state: str = "running"
    """Docker's word: created, running, restarting, paused, exited, removing, dead."""

    exit_code: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Observed:
    """What Docker has under the stack's names or labels; values are the stack labels ("" = foreign)."""

    containers: Mapping[str, Container] = field(default_factory=dict)
    volumes: Mapping[str, str] = field(default_factory=dict)
    networks: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class MakeVolume:
    """Make a volume (its full name)."""

    name: str


@dataclass(frozen=True, slots=True)
class Remove:
    """Remove a container of ours that is in the way or no longer wanted."""

    name: str
    why: str


@dataclass(frozen=True, slots=True)
class Create:
    """Create a part's container and start it."""

    part: Part


@dataclass(frozen=True, slots=True)
class Start:
    """Start a container that is as it should be, but doesn't run."""

    part: Part


@dataclass(frozen=True, slots=True)
class Keep:
    """Nothing to do for a part."""

    part: Part


Step: TypeAlias = MakeVolume | Remove | Create | Start | Keep


def container_name(stack: str, part: str) -> str:
    """Name of a part's container; volumes are named alike."""
    return f"{stack}-{part}"


def plan(stack: str, parts: Sequence[Part], volumes: Sequence[str], observed: Observed) -> tuple[Step, ...]:
    """Compare and return the steps.

    Raises
    ------
    Conflict
        A container, volume or network of somebody else has one of our names; nothing was done.
    """
    refuse_collisions(stack, [part.name for part in parts], volumes, observed)
    steps: list[Step] = []
    missing = [name for name in volumes if container_name(stack, name) not in observed.volumes]
    steps.extend(MakeVolume(container_name(stack, name)) for name in missing)
    wanted = {container_name(stack, part.name) for part in parts}
    steps.extend(
        Remove(container.name, "no longer part of the stack")
        for container in observed.containers.values()
        if container.stack == stack and container.name not in wanted
    )
    for part in parts:
        steps.extend(_part_steps(stack, part, observed, missing))
    return tuple(steps)


def changes(steps: Sequence[Step]) -> bool:
    """Whether a plan changes anything."""
    return any(not isinstance(step, Keep) for step in steps)


def _part_steps(stack: str, part: Part, observed: Observed, missing: Sequence[str]) -> tuple[Step, ...]:
    name = container_name(stack, part.name)
    container = observed.containers.get(name)
    if container is None:
        return (Create(part),)
    why = _unfit(part, container, missing)
    if why:
        return (Remove(name, why), Create(part))
    if part.once or container.state in {"running", "restarting"}:
        return (Keep(part),)
    return (Start(part),)


def _unfit(part: Part, container: Container, missing: Sequence[str]) -> str:
    """Say why a container can't be used as it is; empty when it can."""
    if container.spec != part.spec:
        return "its description changed"
    if container.state in {"dead", "removing"}:
        return f"it is {container.state}"
    if any(mount.volume in missing for mount in part.mounts):
        return "a volume of it was missing"
    # Files are put in after the creation: a container that never ran may lack them.
    if container.state == "created":
        return "it was left half made"
    if part.once and container.state == "exited" and container.exit_code != 0:
        return f"it ended with {container.exit_code}"
    return ""


def refuse_collisions(stack: str, parts: Sequence[str], volumes: Sequence[str], observed: Observed) -> None:
    """Raise `Conflict` when something with a name of ours isn't ours; nothing is done then."""
    owners = {container.name: container.stack for container in observed.containers.values()}
    names = [container_name(stack, part) for part in parts]
    found = [f"container {name}" for name in names if owners.get(name, stack) != stack]
    volume_names = [container_name(stack, volume) for volume in volumes]
    found += [f"volume {name}" for name in volume_names if observed.volumes.get(name, stack) != stack]
    if observed.networks.get(stack, stack) != stack:
        found.append(f"network {stack}")
    if found:
        raise Conflict(
            f"Docker has a {found[0]} that Sluice did not make; it was left alone:"
            f" rename or remove it, or choose another name with --stack",
            found=found,
        )


def refuse_other_kind(stack: str, wanted: Kind, observed: Observed) -> None:
    """Raise `Conflict` when the stack is of another kind: it would be replaced, data and all."""
    parts = {container.part for container in observed.containers.values() if container.stack == stack}
    for kind in Kind:
        if kind is not wanted and kind.value in parts:
            raise Conflict(
                f"stack {stack} runs on {kind.words} and was left alone: for one on {wanted.words},"
                f" ./sluice down --stack {stack} removes it, or choose another name with --stack"
            )
