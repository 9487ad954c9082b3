"""What the pool holds: nodes, devices and device classes at one moment, made for many questions.

Pure. Which devices a selector matches is asked once a selector, not once a pod: answers are kept as long
as the inventory, which is made anew when nodes or devices change.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from functools import cached_property
from typing import Final, TypeVar

from bridge.translate.claims import DeviceRequest, matching
from bridge.translate.devices import Device, DeviceClass, class_of_resource, on_node
from bridge.translate.nodes import Node
from bridge.translate.taints import Toleration

GPU_RESOURCES: Final = frozenset({"nvidia.com/gpu", "amd.com/gpu"})
MIG_PREFIX: Final = "nvidia.com/mig-"
GPU_DRIVERS: Final = frozenset({"gpu.nvidia.com", "gpu.amd.com"})
GPU_CLASSES: Final = frozenset({"gpu.nvidia.com", "mig.nvidia.com", "vfio.gpu.nvidia.com", "gpu.amd.com"})
"""Classes of the vendors' drivers; others are known by the devices that they select."""
Answer = TypeVar("Answer")
_Keys = frozenset[tuple[str, str, str]]
_Selection = tuple[str, tuple[str, ...], tuple[Toleration, ...], str]


class Inventory:
    """Nodes, devices and classes.

    Parameters
    ----------
    nodes
        All nodes of the cluster, those outside the pool too.
    devices
        Published devices; empty where GPUs come from a device plugin.
    classes
        Device classes.
    """

    def __init__(
        self,
        nodes: Iterable[Node] = (),
        devices: Iterable[Device] = (),
        classes: Iterable[DeviceClass] = (),
    ) -> None:
        self.nodes: Mapping[str, Node] = {node.name: node for node in nodes}
        self.pool: tuple[Node, ...] = tuple(node for node in self.nodes.values() if node.pooled)
        self.classes: Mapping[str, DeviceClass] = {found.name: found for found in classes}
        published = tuple(devices)
        self._devices: Mapping[str, tuple[Device, ...]] = {
            node.name: on_node(published, node) for node in self.pool
        }
        self._matches: dict[_Selection, _Keys] = {}
        self._behind: dict[tuple[str, str], _Keys] = {}
        self._gpu_names: dict[str, bool] = {}
        self._remembered: dict[Hashable, object] = {}

    def remember(self, question: Hashable, answer: Callable[[], Answer]) -> Answer:
        """Return the answer to a question about this inventory, worked out once.

        The first part of a question names who asks, so that a question has answers of one type.
        """
        if question not in self._remembered:
            self._remembered[question] = answer()
        found: Answer = self._remembered[question]  # type: ignore[assignment]
        return found

    def matches(self, request: DeviceRequest, node: Node) -> _Keys:
        """Return the keys of a pool node's devices that a request may be given."""
        selection = (request.device_class, request.selectors, request.tolerations, node.name)
        if selection not in self._matches:
            found = matching(request, self._devices.get(node.name, ()), self.classes)
            self._matches[selection] = frozenset(device.key for device in found)
        return self._matches[selection]

    def resource_devices(self, resource: str, node: Node) -> _Keys:
        """Return the keys of the devices behind an extended resource on a node.

        Where no device is published, the node's own count stands for them (a device plugin's).
        """
        key = (resource, node.name)
        if key not in self._behind:
            self._behind[key] = self._devices_behind(resource, node)
        return self._behind[key]

    def _devices_behind(self, resource: str, node: Node) -> _Keys:
        device_class = class_of_resource(resource, self.classes)
        if device_class is not None:
            found = self.matches(DeviceRequest(name=resource, device_class=device_class.name), node)
            if found:
                return found
        count = int(node.allocatable.get(resource, 0))
        return frozenset(("", resource, str(index)) for index in range(count))

    def is_gpu_class(self, name: str) -> bool:
        """Whether a device class stands for GPUs of the pool."""
        if name in GPU_CLASSES:
            return True
        request = DeviceRequest(name=name, device_class=name)
        return any(
            driver in GPU_DRIVERS for node in self.pool for driver, _, _ in self.matches(request, node)
        )

    def is_gpu_resource(self, name: str) -> bool:
        """Whether an extended resource stands for GPUs of the pool."""
        if name not in self._gpu_names:
            device_class = class_of_resource(name, self.classes)
            self._gpu_names[name] = (
                name in GPU_RESOURCES
                or name.startswith(MIG_PREFIX)
                or (device_class is not None and self.is_gpu_class(device_class.name))
            )
        return self._gpu_names[name]

    @cached_property
    def offered(self) -> tuple[str, ...]:
        """GPU resources that at least one pool node has, sorted."""
        names = {name for node in self.pool for name, amount in node.allocatable.items() if amount}
        return tuple(sorted(name for name in names if self.is_gpu_resource(name)))

    def flavors(self) -> tuple[str, ...]:
        """Return the flavors of the pool's nodes, sorted."""
        return tuple(sorted({node.flavor for node in self.pool if node.flavor}))
