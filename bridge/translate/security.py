"""What no pod of a tenant may ask, GPUs or not: ways around its grant.

Pure. Admission refuses the same at the door (the chart's ``admission-*.yaml``); the translation asks again,
since a policy can be in audit mode, or younger than the pod.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from bridge.translate import marks
from bridge.translate.ending import Refuse
from bridge.translate.pods import Container, Pod

DEVICE_VARIABLES: Final = frozenset(
    {
        "NVIDIA_VISIBLE_DEVICES",
        "NVIDIA_MIG_CONFIG_DEVICES",
        "NVIDIA_MIG_MONITOR_DEVICES",
        "NVIDIA_IMEX_CHANNELS",
        "AMD_VISIBLE_DEVICES",
        "HABANA_VISIBLE_DEVICES",
    }
)
"""Variables by which a container runtime hands out devices on its own."""
HARMLESS: Final = frozenset({"void", "none"})
DEVICE_MOUNTS: Final = "/var/run/nvidia-container-devices"
"""Mounts below it ask the NVIDIA runtime for devices, as the variable does."""
BASELINE_CAPABILITIES: Final = frozenset(
    {"AUDIT_WRITE", "CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "KILL", "MKNOD", "NET_BIND_SERVICE"}
    | {"SETFCAP", "SETGID", "SETPCAP", "SETUID", "SYS_CHROOT"}
)
"""What Pod Security's baseline lets a container add."""


def safety_faults(pod: Pod) -> Iterator[Refuse]:
    """Yield each thing that no tenant's pod may have."""
    if pod.host_namespaces:
        yield Refuse(
            "safety.host",
            f"{pod.host_namespaces[0]} is not for tenants' pods; leave it out",
        )
    for volume in pod.volumes:
        if volume.host_path:
            yield Refuse(
                "safety.hostpath",
                f"volume {volume.name} is a hostPath, which is not for tenants' pods; use a"
                " PersistentVolumeClaim or an emptyDir",
            )
    for key in sorted(pod.meta.annotations):
        if key.startswith(marks.CDI_PREFIX):
            yield Refuse(
                "safety.cdi", f"annotation {key} names devices past the scheduler; ask for GPUs instead"
            )
    for container in pod.all_containers:
        yield from _container_faults(container)


def _container_faults(container: Container) -> Iterator[Refuse]:
    if container.privileged:
        yield Refuse(
            "safety.privileged",
            f"container {container.name} is privileged and would see every GPU of its node; leave it out",
        )
    for capability in container.capabilities:
        if capability.removeprefix("CAP_") not in BASELINE_CAPABILITIES:
            yield Refuse(
                "safety.capability",
                f"container {container.name} adds the capability {capability}, which is not for tenants'"
                " pods",
            )
    if container.unmasked_proc:
        yield Refuse("safety.proc", f"container {container.name} asks for an unmasked /proc; leave it out")
    for variable in container.env:
        if variable.name in DEVICE_VARIABLES and not (variable.literal and variable.value in HARMLESS):
            yield Refuse(
                "safety.devices",
                f"{variable.name} of container {container.name} is set by the node, not by users; leave it"
                " out",
            )
    for path in container.mount_paths:
        if (path.rstrip("/") + "/").startswith(DEVICE_MOUNTS + "/"):
            yield Refuse(
                "safety.devices",
                f"container {container.name} mounts {path}, by which the runtime would hand out devices;"
                " leave"
                " it out",
            )
