"""How many GPUs a pod takes, by extended resources and by claims, and on which nodes it could.

Pure. What flows in: a pod's request and its claims. What flows out: `GpuAsk` entries, and for a node the
number of GPUs that they take there. Slurm picks the devices of a node, so that a selector which picks among
equal GPUs of one node can't be honoured and is refused by `fit`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Final, Literal

from bridge.translate.claims import Claim, DeviceRequest, RequestGroup
from bridge.translate.devices import class_of_resource
from bridge.translate.ending import Refused
from bridge.translate.inventory import Inventory
from bridge.translate.nodes import Node
from bridge.translate.pods import ResourceList

SHARED_SUFFIX: Final = ".shared"
_SHARED: Final = frozenset({"nvidia.com/mps", "nvidia.com/gpu.replica", "k8s.amazonaws.com/vgpu"})
NodeNo = Literal["none", "few", "partly", "kinds"]
"""Why a node can't: no such device, too few, a selector that picks among its GPUs, several kinds asked."""


@dataclass(frozen=True, slots=True)
class GpuAsk:
    """One ask for GPUs: of an extended resource, or one request of a claim (any of its ways)."""

    what: str
    """In words, for sentences."""
    resource: str = ""
    ways: tuple[DeviceRequest, ...] = ()
    count: int | None = None
    """None: all devices of the node that match."""


def is_shared(name: str) -> bool:
    """Whether an extended resource is a part of a GPU (time slices, MPS)."""
    vendor = name.startswith(("nvidia.com/", "amd.com/"))
    return name in _SHARED or (vendor and name.endswith(SHARED_SUFFIX))


def resource_asks(request: ResourceList, inventory: Inventory) -> tuple[GpuAsk, ...]:
    """Return the asks by extended resource; an amount of 0 asks nothing."""
    found = []
    for name, amount in sorted(request.items()):
        if is_shared(name):
            raise Refused(
                "gpu.shared",
                f"parts of GPUs ({name}) are not given out here; ask for a whole one or a MIG slice",
            )
        if inventory.is_gpu_resource(name):
            found.append(GpuAsk(name, resource=name, count=_whole(name, amount)))
    return tuple(found)


def other_devices(request: ResourceList, inventory: Inventory) -> tuple[str, ...]:
    """Return extended resources that are other drivers' devices, and no device plugin's count on any node."""
    return tuple(
        name
        for name in sorted(request)
        if not inventory.is_gpu_resource(name)
        and class_of_resource(name, inventory.classes) is not None
        and not any(node.allocatable.get(name) for node in inventory.pool)
    )


def _whole(name: str, amount: Fraction) -> int:
    if amount.denominator != 1 or amount < 0:
        raise Refused("gpu.whole", f"{name} must be a whole number, not {float(amount):g}")
    return amount.numerator


def claim_asks(claim: Claim, inventory: Inventory) -> tuple[tuple[GpuAsk, ...], tuple[str, ...]]:
    """Return a claim's asks for GPUs, and the classes of the other devices that it asks.

    Administrative access takes nothing and is left out.
    """
    asks: list[GpuAsk] = []
    others: list[str] = []
    for group in claim.groups:
        ways = tuple(way for way in group.ways if not way.admin)
        classes = sorted({way.device_class for way in ways})
        gpus = [name for name in classes if inventory.is_gpu_class(name)]
        if not gpus:
            others += classes
            continue
        if len(gpus) < len(classes):
            raise Refused(
                "claim.mixed",
                f"request {group.name} of claim {claim.meta.name} is content with a GPU or another device"
                f" ({', '.join(classes)}); ask for one kind",
            )
        asks.append(_group_ask(claim, group, ways))
    return tuple(asks), tuple(others)


def _group_ask(claim: Claim, group: RequestGroup, ways: tuple[DeviceRequest, ...]) -> GpuAsk:
    counts = {way.count for way in ways}
    if len(counts) > 1:
        sizes = ", ".join(f"{way.name} {'all' if way.count is None else way.count}" for way in ways)
        raise Refused(
            "claim.alternatives",
            f"the alternatives of request {group.name} of claim {claim.meta.name} differ in number ({sizes}),"
            " and a Slurm job has one; ask for one number",
        )
    if any(way.partial for way in ways):
        raise Refused(
            "claim.part",
            f"request {group.name} of claim {claim.meta.name} asks for a part of a device; ask for whole"
            " ones",
        )
    what = f"request {group.name} of claim {claim.meta.name} ({ways[0].device_class})"
    return GpuAsk(what, ways=ways, count=counts.pop())


def check_together(claims: Sequence[Claim], asks: Sequence[GpuAsk], others: Sequence[str]) -> None:
    """Refuse what can't be one Slurm job, or can't be allocated by us, though each part alone could."""
    if asks and others:
        raise Refused(
            "claim.drivers",
            f"the pod claims GPUs and other devices ({', '.join(sorted(set(others)))}), which can't be"
            " allocated together here yet; claim the GPUs alone",
        )
    for claim in claims:
        counts = [ask.count for ask in asks if ask.ways and f"claim {claim.meta.name} " in ask.what]
        if claim.constrained and (None in counts or sum(count or 0 for count in counts) > 1):
            raise Refused(
                "claim.constraints",
                f"claim {claim.meta.name} constrains its devices against each other (matchAttribute), and"
                " Slurm"
                " picks them; leave the constraints out",
            )


def taken_on(node: Node, asks: Iterable[GpuAsk], inventory: Inventory) -> int | NodeNo:
    """Return how many GPUs of a node the asks take, or why it can't satisfy them."""
    sets = set()
    total = 0
    for ask in asks:
        if ask.count == 0:
            continue
        found = _candidates(node, ask, inventory)
        if isinstance(found, str):
            return found
        sets.add(found)
        total += len(found) if ask.count is None else ask.count
    if len(sets) > 1:
        return "kinds"
    return "few" if sets and total > len(sets.pop()) else total


def _candidates(
    node: Node, ask: GpuAsk, inventory: Inventory
) -> frozenset[tuple[str, str, str]] | Literal["none", "partly"]:
    if ask.resource:
        return inventory.resource_devices(ask.resource, node) or "none"
    partly = False
    for way in ask.ways:
        found = inventory.matches(way, node)
        if found and found == inventory.matches(replace(way, selectors=()), node):
            return found
        partly = partly or bool(found)
    return "partly" if partly else "none"


def most_on(node: Node, inventory: Inventory) -> int:
    """Return how many GPUs of one kind a node has at most."""
    counts = [len(inventory.resource_devices(name, node)) for name in inventory.offered]
    counts += [
        len(inventory.matches(DeviceRequest(name=name, device_class=name), node))
        for name in inventory.classes
        if inventory.is_gpu_class(name)
    ]
    return max(counts, default=0)
