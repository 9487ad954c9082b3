"""Resource claims: what is asked in them, and which devices would do.

Pure. What flows in: ResourceClaims and ResourceClaimTemplates. What flows out: `Claim`, and for a request
the devices that match it. v1beta1's flat requests are read like v1's ``exactly``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from bridge.errors import InputError
from bridge.translate import cel
from bridge.translate.devices import Device, DeviceClass, read_selectors
from bridge.translate.document import Doc
from bridge.translate.meta import Meta, read_meta
from bridge.translate.taints import Toleration, read_toleration, untolerated


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceRequest:
    """One way to satisfy a request; `count` None is all devices of the node that match."""

    name: str
    device_class: str
    count: int | None = 1
    selectors: tuple[str, ...] = ()
    admin: bool = False
    tolerations: tuple[Toleration, ...] = ()
    partial: bool = False
    """Whether it asks for a part of a device's capacity."""


@dataclass(frozen=True, slots=True)
class RequestGroup:
    """One entry of ``devices.requests``: exactly one way, or the first that is available."""

    name: str
    ways: tuple[DeviceRequest, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """A claim, or what a template makes."""

    meta: Meta
    groups: tuple[RequestGroup, ...] = ()
    constrained: bool = False
    """Whether its devices must agree or differ in an attribute."""
    allocated: bool = False


def read_claim(document: Doc) -> Claim:
    """Read a ResourceClaim."""
    status = document.child("status")
    return _claim(read_meta(document), document.child("spec"), allocated=status.has("allocation"))


def read_template(document: Doc) -> Claim:
    """Read a ResourceClaimTemplate as the claim that it makes."""
    return _claim(read_meta(document), document.child("spec").child("spec"), allocated=False)


def _claim(meta: Meta, spec: Doc, *, allocated: bool) -> Claim:
    devices = spec.child("devices")
    return Claim(
        meta=meta,
        groups=tuple(_group(part) for part in devices.children("requests")),
        constrained=bool(devices.children("constraints")),
        allocated=allocated,
    )


def _group(document: Doc) -> RequestGroup:
    name = document.text("name")
    ways = document.children("firstAvailable")
    if not ways:
        ways = (document.child("exactly") if document.has("exactly") else document,)
    return RequestGroup(name, tuple(_request(way, name) for way in ways))


def _request(document: Doc, group: str) -> DeviceRequest:
    everything = document.text("allocationMode") == "All"
    own = document.text("name")
    return DeviceRequest(
        name=group if own in ("", group) else f"{group}/{own}",
        device_class=document.text("deviceClassName"),
        # The API server stores a count of 0 as 1.
        count=None if everything else (document.number("count") or 1),
        selectors=read_selectors(document),
        admin=document.flag("adminAccess"),
        tolerations=tuple(read_toleration(part) for part in document.children("tolerations")),
        partial=bool(document.child("capacity").child("requests").names()),
    )


def matching(
    request: DeviceRequest, devices: Iterable[Device], classes: Mapping[str, DeviceClass]
) -> tuple[Device, ...]:
    """Return the devices that a request may be given; none where its class doesn't exist.

    A selector that fails on a device doesn't select it: one odd device mustn't stop a whole node.
    """
    device_class = classes.get(request.device_class)
    if device_class is None:
        return ()
    expressions = (*device_class.selectors, *request.selectors)
    return tuple(
        device
        for device in devices
        if untolerated(device.taints, request.tolerations) is None and _selected(expressions, device)
    )


def _selected(expressions: Iterable[str], device: Device) -> bool:
    try:
        return all(cel.selects(expression, device) for expression in expressions)
    except InputError:
        return False
