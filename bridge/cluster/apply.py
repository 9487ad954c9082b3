"""Carries out a plan's steps with Docker, and takes a stack down.

What flows in: steps of `bridge.cluster.plan`. What flows out: containers, volumes and the network, all
labelled. Only what has the stack's label is ever removed.
"""

from __future__ import annotations

import io
import tarfile
from collections.abc import Sequence
from typing import Any, Final, assert_never

import docker
from docker.models.containers import Container as DockerContainer
from docker.types import LogConfig, Mount

from bridge import wellknown
from bridge.cluster.engine import calling
from bridge.cluster.network import remove_networks
from bridge.cluster.part import Part
from bridge.cluster.plan import Create, Keep, MakeVolume, Observed, Remove, Start, Step, container_name
from bridge.cluster.reporter import Reporter
from bridge.cluster.wait import wait_done, wait_healthy
from bridge.errors import StepFailed

LOG_OPTIONS: Final = {"max-size": "10m", "max-file": "3"}
"""A part's log on the host is bounded: 30 MB."""

BUSY: Final = "run ./sluice up again; if the same step fails, ./sluice down and ./sluice up"


def apply(client: docker.DockerClient, stack: str, steps: Sequence[Step], report: Reporter) -> None:
    """Carry out the steps in order; a part's start waits until the parts before it are healthy.

    Raises
    ------
    StepFailed
        A step failed; the ones before it stand, and the next `up` goes on from there.
    """
    waiting: dict[str, Part] = {}
    for step in steps:
        match step:
            case MakeVolume(name):
                _make_volume(client, stack, name)
            case Remove(name, why):
                report.begin(f"removing {name}: {why}")
                remove_container(client, stack, name)
                report.end()
            case Create(part):
                _await(client, stack, part.after, waiting, report)
                _create(client, stack, part, report)
                waiting[part.name] = part
            case Start(part):
                _await(client, stack, part.after, waiting, report)
                _start(client, stack, part, report)
                waiting[part.name] = part
            case Keep(part):
                waiting[part.name] = part
            case _:
                assert_never(step)
    _await(client, stack, tuple(waiting), waiting, report)


def _await(
    client: docker.DockerClient,
    stack: str,
    names: Sequence[str],
    waiting: dict[str, Part],
    report: Reporter,
) -> None:
    """Wait for parts that were begun and not yet seen healthy; each is waited for once."""
    for name in names:
        part = waiting.pop(name, None)
        if part is None:
            continue
        if part.once:
            wait_done(client, stack, part, report)
        else:
            wait_healthy(client, stack, part, report)


def _labels(stack: str, part: Part | None = None) -> dict[str, str]:
    labels = {wellknown.LABEL_STACK: stack}
    if part is not None:
        labels |= {wellknown.LABEL_PART: part.name, wellknown.LABEL_SPEC: part.spec}
    return labels


def _make_volume(client: docker.DockerClient, stack: str, name: str) -> None:
    with calling(f"docker volume create {name}"):
        client.volumes.create(name, labels=_labels(stack))


def _create(client: docker.DockerClient, stack: str, part: Part, report: Reporter) -> None:
    name = container_name(stack, part.name)
    report.begin(f"starting {part.name}")
    with calling(f"docker run --name {name} {part.image} {' '.join(part.command)}", BUSY):
        container = client.containers.create(part.image, list(part.command), **_options(client, stack, part))
        if part.files:
            container.put_archive("/", _archive(part.files))
        container.start()
    report.end()


def _start(client: docker.DockerClient, stack: str, part: Part, report: Reporter) -> None:
    name = container_name(stack, part.name)
    report.begin(f"starting {part.name} again")
    with calling(f"docker start {name}", BUSY):
        container = client.containers.get(name)
        if container.status == "paused":
            container.unpause()
        else:
            container.start()
    report.end()


def _options(client: docker.DockerClient, stack: str, part: Part) -> dict[str, Any]:
    """Keyword arguments of `containers.create`, the SDK's words for a part."""
    mounts = [
        Mount(
            target=mount.path,
            source=container_name(stack, mount.volume),
            type="volume",
            read_only=mount.read_only,
            # An image's own files never seed a volume: what is in it was put there on purpose.
            no_copy=True,
        )
        for mount in part.mounts
    ]
    mounts += [Mount(target=given.path, source=given.source, type="bind") for given in part.host_paths]
    options: dict[str, Any] = {
        "name": container_name(stack, part.name),
        "labels": _labels(stack, part),
        "mounts": mounts,
        "environment": dict(part.environment),
        "tmpfs": dict(part.tmpfs),
        "security_opt": list(part.security),
        "device_cgroup_rules": list(part.device_rules),
        "read_only": part.read_only_root,
        "log_config": LogConfig(type=LogConfig.types.JSON, config=LOG_OPTIONS),
        "restart_policy": {"Name": "no" if part.once else "unless-stopped"},
    }
    if part.user:
        options["user"] = part.user
    if part.capabilities is not None:
        options |= {"cap_drop": ["ALL"], "cap_add": list(part.capabilities)}
    elif part.more_capabilities:
        options["cap_add"] = list(part.more_capabilities)
    if part.address:
        # Inside the network a part is known by its short name, in every stack alike.
        endpoint = client.api.create_endpoint_config(aliases=[part.name], ipv4_address=part.address)
        options |= {"hostname": part.name, "network": stack, "networking_config": {stack: endpoint}}
    else:
        options["network_mode"] = "none"
    if part.published:
        options["ports"] = {
            f"{port.container_port}/tcp": ("127.0.0.1", port.host_port) for port in part.published
        }
    if part.health is not None:
        second = 1_000_000_000
        options["healthcheck"] = {
            "test": ["CMD", *part.health.command],
            "interval": part.health.interval_s * second,
            "timeout": part.health.timeout_s * second,
            "retries": part.health.retries,
        }
    return options


def _archive(files: Sequence[tuple[str, str]]) -> bytes:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w") as archive:
        for path, text in files:
            content = text.encode()
            entry = tarfile.TarInfo(path.lstrip("/"))
            entry.size = len(content)
            entry.mode = 0o644
            archive.addfile(entry, io.BytesIO(content))
    return stream.getvalue()


def remove_container(client: docker.DockerClient, stack: str, name: str) -> None:
    """Stop and remove one container of the stack; one that is gone already is no error."""
    with calling(f"docker rm --force {name}", BUSY):
        try:
            container = client.containers.get(name)
            _own(container, stack)
            container.stop(timeout=30)
            container.remove(force=True, v=True)
        except docker.errors.NotFound:
            return


def _own(container: DockerContainer, stack: str) -> None:
    if container.labels.get(wellknown.LABEL_STACK) != stack:
        raise StepFailed(f"container {container.name} is not part of stack {stack}; it was left alone")


def take_down(
    client: docker.DockerClient, stack: str, observed: Observed, report: Reporter, *, keep_data: bool
) -> tuple[str, ...]:
    """Remove every container, the network and (unless `keep_data`) every volume with the stack's label.

    Returns
    -------
    tuple
        What was removed, as "container NAME", "network NAME", "volume NAME".
    """
    removed = []
    for container in observed.containers.values():
        if container.stack == stack:
            report.begin(f"removing {container.name}")
            remove_container(client, stack, container.name)
            report.end()
            removed.append(f"container {container.name}")
    removed += [f"network {name}" for name in remove_networks(client, stack)]
    for name, owner in () if keep_data else observed.volumes.items():
        if owner == stack:
            with calling(f"docker volume rm {name}", "remove what still uses it, then try again"):
                client.volumes.get(name).remove()
            removed.append(f"volume {name}")
    return tuple(removed)
