"""Devices of dynamic resource allocation: what nodes publish, and the classes that select among them.

Pure. What flows in: ResourceSlices and DeviceClasses (resource.k8s.io/v1; v1beta1 is read as well). What
flows out: `Device` and `DeviceClass`. Selecting with CEL is `cel`'s.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Final

from bridge.translate.document import Doc
from bridge.translate.meta import read_meta
from bridge.translate.nodes import Node
from bridge.translate.selectors import Term, any_holds, read_terms
from bridge.translate.taints import Taint, read_taint

Attribute = bool | int | str
IMPLICIT_RESOURCE: Final = "deviceclass.resource.kubernetes.io/"
"""Every DeviceClass is an extended resource under this prefix too."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Device:
    """One device; attributes and capacity by qualified name (``gpu.nvidia.com/type``)."""

    driver: str
    pool: str
    name: str
    attributes: Mapping[str, Attribute] = field(default_factory=dict)
    versions: frozenset[str] = frozenset()
    """Attributes that are semantic versions."""
    capacity: Mapping[str, Fraction] = field(default_factory=dict)
    taints: tuple[Taint, ...] = ()
    node: str = ""
    terms: tuple[Term, ...] = ()
    """Nodes that reach it, when it isn't one node's."""
    everywhere: bool = False

    @property
    def key(self) -> tuple[str, str, str]:
        """What names the device in an allocation."""
        return (self.driver, self.pool, self.name)

    def reached_from(self, node: Node) -> bool:
        """Whether pods on the node can use it."""
        if self.node:
            return self.node == node.name
        return self.everywhere or any_holds(self.terms, node.labels, node.name)


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceClass:
    """A device class; all its selectors must hold."""

    name: str
    selectors: tuple[str, ...] = ()
    extended_resource: str = ""


def read_device_class(document: Doc) -> DeviceClass:
    """Read a DeviceClass."""
    spec = document.child("spec")
    return DeviceClass(
        name=read_meta(document).name,
        selectors=read_selectors(spec),
        extended_resource=spec.text("extendedResourceName"),
    )


def read_selectors(document: Doc) -> tuple[str, ...]:
    """Read ``selectors[].cel.expression``."""
    return tuple(part.child("cel").text("expression") for part in document.children("selectors"))


def read_slice(document: Doc) -> tuple[Device, ...]:
    """Read the devices of one ResourceSlice."""
    spec = document.child("spec")
    driver = spec.text("driver")
    return tuple(
        _device(part, spec, driver, part.child("basic") if part.has("basic") else part)
        for part in spec.children("devices")
    )


def _device(part: Doc, spec: Doc, driver: str, body: Doc) -> Device:
    per_device = spec.flag("perDeviceNodeSelection")
    where = body if per_device else spec
    attributes, versions = _attributes(body.child("attributes"), driver)
    return Device(
        driver=driver,
        pool=spec.child("pool").text("name"),
        name=part.text("name"),
        attributes=attributes,
        versions=versions,
        capacity={
            qualified(name, driver): body.child("capacity").child(name).quantity("value")
            for name in body.child("capacity").names()
        },
        taints=tuple(read_taint(taint) for taint in body.children("taints")),
        node=where.text("nodeName"),
        terms=read_terms(where.child("nodeSelector")),
        everywhere=where.flag("allNodes"),
    )


def qualified(name: str, driver: str) -> str:
    """Return a name with its domain, which is the driver where none is written."""
    return name if "/" in name else f"{driver}/{name}"


def _attributes(document: Doc, driver: str) -> tuple[Mapping[str, Attribute], frozenset[str]]:
    attributes: dict[str, Attribute] = {}
    versions = set()
    for name in document.names():
        value, key = document.child(name), qualified(name, driver)
        if value.has("int"):
            attributes[key] = value.number("int") or 0
        elif value.has("bool"):
            attributes[key] = value.flag("bool")
        elif value.has("version"):
            attributes[key] = value.text("version")
            versions.add(key)
        else:
            attributes[key] = value.text("string")
    return attributes, frozenset(versions)


def class_of_resource(name: str, classes: Mapping[str, DeviceClass]) -> DeviceClass | None:
    """Return the device class behind an extended resource, None where there is none.

    With several classes of one ``extendedResourceName`` the newest counts in Kubernetes; names are unique
    here, so the last by name stands for it.
    """
    if name.startswith(IMPLICIT_RESOURCE):
        return classes.get(name.removeprefix(IMPLICIT_RESOURCE))
    named = [found for found in classes.values() if found.extended_resource == name]
    return max(named, key=lambda found: found.name) if named else None


def on_node(devices: Iterable[Device], node: Node) -> tuple[Device, ...]:
    """Return the devices that pods on a node can use."""
    return tuple(device for device in devices if device.reached_from(node))
