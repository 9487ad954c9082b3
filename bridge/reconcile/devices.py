"""Which DRA device a GPU index of Slurm is.

Pure. gres.conf's ``File=`` gives the device file of each index (``/dev/nvidia[0-7]``), so an index is a minor
number; the driver publishes the minor as an attribute. The table is total and one to one, or it isn't used.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from bridge.errors import InputError
from bridge.reconcile.view import DeviceKey
from bridge.translate.devices import Device


def device_table(
    node: str, minors: Sequence[int], devices: Iterable[Device], attribute: str
) -> tuple[DeviceKey, ...]:
    """Return the device of each GPU index of a node.

    Parameters
    ----------
    minors
        Minor numbers in the order of Slurm's indexes.
    attribute
        Qualified name of the attribute that holds the minor (``gpu.nvidia.com/minor``).

    Raises
    ------
    InputError
        An index has no device, or a minor has two: then no grant of this node can be written.
    """
    by_minor: dict[int, DeviceKey] = {}
    for device in devices:
        minor = device.attributes.get(attribute)
        if isinstance(minor, bool) or not isinstance(minor, int):
            continue
        if minor in by_minor:
            raise InputError(
                f"node {node} publishes two devices with {attribute} {minor} ({by_minor[minor][2]},"
                f" {device.name}), so Slurm's indexes have no certain device; look at its driver"
            )
        by_minor[minor] = device.key
    missing = [minor for minor in minors if minor not in by_minor]
    if missing:
        raise InputError(
            f"node {node} publishes no device with {attribute} {missing[0]}, which gres.conf names;"
            " compare its"
            " ResourceSlice with gres.conf"
        )
    if len(set(minors)) < len(minors):
        raise InputError(f"gres.conf of node {node} names a device file twice")
    return tuple(by_minor[minor] for minor in minors)
