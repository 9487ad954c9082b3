"""Finds the nodes and flavors that could hold a pod or a gang, or says why there are none.

Pure. What could never fit is refused: no such GPU, more than a node has, a gang larger than its flavor. What
could fit and matches nothing now waits, with the reasons counted over the pool's nodes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from bridge.translate.ending import Refused, Waits
from bridge.translate.gpus import most_on, taken_on
from bridge.translate.inventory import Inventory
from bridge.translate.nodes import Node
from bridge.translate.quantity import ceiling
from bridge.translate.shape import Shape
from bridge.translate.world import World


@dataclass(frozen=True, slots=True)
class Fitting:
    """Flavors with their nodes, the preferred one first, and the GPUs of a member there."""

    nodes: Mapping[str, tuple[Node, ...]]
    gpus_per_pod: int
    nodes_min: int
    per_node_max: Mapping[str, int]
    """Flavor to the most members that one of its nodes holds."""


def fit(shape: Shape, members: int, one_per_node: bool, world: World) -> Fitting:
    """Find where `members` pods of one shape could run at the same time.

    Raises
    ------
    Refused
        They never could.
    Waits
        They could, but not on the nodes as they are now.
    """
    question = (
        "fit",
        (shape.demand, shape.cpus, shape.memory_mib, shape.preferred),
        (tuple(ask.what for ask in shape.asks), shape.tenant.name, shape.tenant.flavors),
        (members, one_per_node),
    )
    answer = world.inventory.remember(
        question, lambda: _ending(shape, members, one_per_node, world.inventory)
    )
    if isinstance(answer, Fitting):
        return answer
    raise type(answer)(*answer.words)


def _ending(
    shape: Shape, members: int, one_per_node: bool, inventory: Inventory
) -> Fitting | Refused | Waits:
    try:
        return _fit(shape, members, one_per_node, inventory)
    except (Refused, Waits) as ending:
        return ending


def _fit(shape: Shape, members: int, one_per_node: bool, inventory: Inventory) -> Fitting:
    capable = _large_enough(shape, _with_gpus(shape, inventory), inventory)
    own = [node for node in capable if node.flavor in shape.tenant.flavors]
    admitted = [node for node in own if shape.demand.admits(node, inventory)]
    if not admitted:
        _no_node(shape, capable, own, inventory)
    room = {
        flavor: [_places(shape, node, inventory, one_per_node) for node in admitted if node.flavor == flavor]
        for flavor in {node.flavor for node in admitted}
    }
    fitting = {flavor: places for flavor, places in room.items() if sum(places) >= members}
    if not fitting:
        _no_room(shape, members, room, [_of(shape, own, inventory, one_per_node)])
    order = _preferred(shape, fitting, admitted)
    nodes = {flavor: tuple(node for node in admitted if node.flavor == flavor) for flavor in order}
    return Fitting(
        nodes=nodes,
        gpus_per_pod=_one_count(shape, [node for held in nodes.values() for node in held], inventory),
        nodes_min=min(_least_nodes(fitting[flavor], members) for flavor in order),
        per_node_max={flavor: max(fitting[flavor]) for flavor in order},
    )


def _with_gpus(shape: Shape, inventory: Inventory) -> list[Node]:
    """Return the pool nodes that have these GPUs at all."""
    answers = {node.name: taken_on(node, shape.asks, inventory) for node in inventory.pool}
    found = [node for node in inventory.pool if isinstance(answers[node.name], int)]
    if found:
        return found
    reasons = set(answers.values())
    words = " and ".join(ask.what for ask in shape.asks)
    if "few" in reasons:
        most = max(most_on(node, inventory) for node in inventory.pool)
        asked = sum(ask.count or 0 for ask in shape.asks)
        raise Refused(
            "gpu.node",
            f"the pod asks {asked} GPUs ({words}) and a pod runs on one node; the largest node has {most}",
        )
    if "partly" in reasons:
        raise Refused(
            "claim.selector",
            f"{words} selects only some of the equal GPUs of a node, and Slurm picks among them; select by"
            " what"
            " all GPUs of a node have in common (product, memory)",
        )
    if len(shape.asks) > 1 and all(_somewhere(shape, index, inventory) for index in range(len(shape.asks))):
        raise Refused("gpu.kinds", f"no node of the pool has both {words}; ask for GPUs of one kind")
    if any(ask.ways for ask in shape.asks):
        raise Waits("claim.nothing", f"no device of the pool matches {words} now")
    raise Refused(
        "gpu.unknown",
        f"no node of the pool has {words}; it has {', '.join(inventory.offered) or 'no GPUs'}",
    )


def _somewhere(shape: Shape, index: int, inventory: Inventory) -> bool:
    return any(isinstance(taken_on(node, (shape.asks[index],), inventory), int) for node in inventory.pool)


def _large_enough(shape: Shape, nodes: Sequence[Node], inventory: Inventory) -> list[Node]:
    """Return the nodes that are large enough when they are empty."""
    found = [node for node in nodes if _holds(shape, node)]
    if not found:
        most_cpus = max(int(node.allocatable.get("cpu", 0)) for node in nodes)
        most_mib = max(int(node.allocatable.get("memory", 0) / 2**20) for node in nodes)
        raise Refused(
            "node.size",
            f"the pod asks {shape.cpus} CPUs and {shape.memory_mib or 0} MiB of memory; nodes with such"
            " GPUs have"
            f" at most {most_cpus} CPUs and {most_mib} MiB",
        )
    for name, amount in shape.demand.extras:
        most = max(node.allocatable.get(name, Fraction(0)) for node in found)
        if 0 < most < amount:
            raise Refused(
                "node.extra",
                f"the pod asks {ceiling(amount)} of {name}; a node with such GPUs has at most {int(most)}",
            )
    return found


def _holds(shape: Shape, node: Node) -> bool:
    memory = (shape.memory_mib or 0) * 2**20
    return node.allocatable.get("cpu", 0) >= shape.cpus and node.allocatable.get("memory", 0) >= memory


def _no_node(shape: Shape, capable: Sequence[Node], own: Sequence[Node], inventory: Inventory) -> None:
    """End with why no node of the tenant's flavors will do now."""
    elsewhere = sorted({node.flavor for node in capable if shape.demand.admits(node, inventory)})
    if elsewhere or not own:
        kinds = elsewhere or sorted({node.flavor for node in capable})
        raise Refused(
            "flavor.grant",
            f"tenant {shape.tenant.name} has no {' or '.join(kinds)} GPUs; its flavors are"
            f" {', '.join(shape.tenant.flavors) or 'none'}",
        )
    reasons = Counter(shape.demand.objection(node, inventory) for node in own)
    listed = "; ".join(f"{count} {reason}" for reason, count in sorted(reasons.items(), key=str))
    raise Waits("node.none", f"none of {len(own)} nodes that are large enough will do now: {listed}")


def _places(shape: Shape, node: Node, inventory: Inventory, one_per_node: bool) -> int:
    """Return how many members an empty node holds."""
    taken = taken_on(node, shape.asks, inventory)
    if isinstance(taken, str):
        return 0
    if one_per_node:
        return 1
    places = int(node.allocatable["cpu"] / shape.cpus)
    if shape.memory_mib:
        places = min(places, int(node.allocatable["memory"] / (shape.memory_mib * 2**20)))
    for name, amount in shape.demand.extras:
        places = min(places, int(node.allocatable.get(name, Fraction(0)) / amount))
    total = most_on(node, inventory) if taken else 0
    return min(places, total // taken) if taken else places


def _of(shape: Shape, nodes: Iterable[Node], inventory: Inventory, one_per_node: bool) -> Mapping[str, int]:
    room: Counter[str] = Counter()
    for node in nodes:
        room[node.flavor] += _places(shape, node, inventory, one_per_node)
    return room


def _no_room(
    shape: Shape, members: int, room: Mapping[str, Sequence[int]], ever: Sequence[Mapping[str, int]]
) -> None:
    """End with why a gang has no flavor to itself."""
    most = max((count for flavor in ever for count in flavor.values()), default=0)
    asked = f"{members} pods that start together"
    if most < members:
        raise Refused(
            "gang.flavor",
            f"the gang has {asked} and runs on GPUs of one flavor; the largest flavor of tenant"
            f" {shape.tenant.name} holds {most} such pods at once",
        )
    listed = ", ".join(f"{flavor} {sum(places)}" for flavor, places in sorted(room.items()))
    raise Waits("gang.nodes", f"the gang has {asked}; the nodes that will do now hold fewer ({listed})")


def _one_count(shape: Shape, nodes: Sequence[Node], inventory: Inventory) -> int:
    counts: dict[int, str] = {}
    for node in nodes:
        taken = taken_on(node, shape.asks, inventory)
        if isinstance(taken, int):
            counts.setdefault(taken, node.flavor)
    if len(counts) > 1:
        listed = ", ".join(f"{count} on {flavor}" for count, flavor in sorted(counts.items()))
        raise Refused(
            "claim.all",
            f"the claim asks for all GPUs of a node, which are not equally many ({listed}); select a flavor",
        )
    return next(iter(counts))


def _least_nodes(places: Sequence[int], members: int) -> int:
    nodes = held = 0
    for count in sorted(places, reverse=True):
        if held >= members:
            break
        held += count
        nodes += 1
    return nodes


def _preferred(shape: Shape, flavors: Iterable[str], nodes: Sequence[Node]) -> list[str]:
    """Order flavors: by the pod's preferences, then as the tenant's document names them."""

    def liking(flavor: str) -> int:
        return max(
            sum(weight for weight, term in shape.preferred if term.holds(node.labels, node.name))
            for node in nodes
            if node.flavor == flavor
        )

    return sorted(flavors, key=lambda flavor: (-liking(flavor), shape.tenant.flavors.index(flavor)))
