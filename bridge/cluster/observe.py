"""Looks at what Docker has under a stack's names and labels.

What flows in: the client. What flows out: `plan.Observed`. Nothing is changed here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

import docker

from bridge import wellknown
from bridge.cluster.engine import calling
from bridge.cluster.plan import Container, Observed

_FOREIGN: Final = ""


def observe(client: docker.DockerClient, stack: str) -> Observed:
    """Return everything with the stack's label, and everything that has a name the stack would use."""
    with calling("docker ps -a; docker volume ls; docker network ls"):
        containers = client.api.containers(all=True)
        volumes = client.api.volumes().get("Volumes") or []
        networks = client.api.networks()
    return Observed(
        containers={c.name: c for c in _containers(client, stack, containers)},
        volumes=_named(stack, volumes),
        networks=_named(stack, networks),
    )


def _containers(
    client: docker.DockerClient, stack: str, listed: Iterable[Mapping[str, Any]]
) -> Iterable[Container]:
    for entry in listed:
        labels = entry.get("Labels") or {}
        name = _name(entry)
        mine = labels.get(wellknown.LABEL_STACK) == stack
        if not mine and not name.startswith(f"{stack}-"):
            continue
        yield Container(
            name=name,
            stack=labels.get(wellknown.LABEL_STACK, _FOREIGN),
            part=labels.get(wellknown.LABEL_PART, ""),
            spec=labels.get(wellknown.LABEL_SPEC, ""),
            state=str(entry["State"]),
            exit_code=_exit_code(client, str(entry["Id"])) if entry["State"] == "exited" else 0,
        )


def _exit_code(client: docker.DockerClient, container_id: str) -> int:
    try:
        return int(client.api.inspect_container(container_id)["State"]["ExitCode"])
    except docker.errors.NotFound:
        return 0


def _name(entry: Mapping[str, Any]) -> str:
    # Links give a container more names; its own has one slash.
    names = [str(name) for name in entry.get("Names") or []]
    return next((name[1:] for name in names if name.count("/") == 1), "")


def _named(stack: str, listed: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    found = {}
    for entry in listed:
        label = (entry.get("Labels") or {}).get(wellknown.LABEL_STACK, _FOREIGN)
        name = str(entry["Name"])
        if stack in {label, name} or name.startswith(f"{stack}-"):
            found[name] = str(label)
    return found
