"""Brings a stack up and takes it down: reads top to bottom.

What flows in: a `Stack`, options, a reporter. What flows out: running, healthy parts. What doesn't belong
here: tenants, API keys, the demo (`gateway.cli.up` goes on with those).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

import docker

from bridge.cluster import slurmconf
from bridge.cluster.ages import AGES, Pace
from bridge.cluster.apply import apply, take_down
from bridge.cluster.base import ensure_base
from bridge.cluster.engine import calling, confinement_of, connect
from bridge.cluster.images import Builder, remove_images
from bridge.cluster.network import ensure_network
from bridge.cluster.observe import observe
from bridge.cluster.part import Part
from bridge.cluster.parts import VOLUMES, names_of, stack_parts
from bridge.cluster.plan import (
    Kind,
    Observed,
    changes,
    container_name,
    plan,
    refuse_collisions,
    refuse_other_kind,
)
from bridge.cluster.pool import LOCAL_POOL, Pool
from bridge.cluster.reporter import Reporter
from bridge.cluster.stack import Stack, choose_port, port_is_free
from bridge.cluster.status import slurm_version
from bridge.errors import StepFailed, Unavailable

PORT_TRIES: Final = 5
"""A port is chosen a minute before the gateway binds it; another checkout's stack may take it then."""

Selection: TypeAlias = Callable[[Sequence[Part]], Sequence[Part]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Up:
    """What `bring_up` did."""

    changed: bool
    port: int

    @property
    def url(self) -> str:
        """The gateway's address."""
        return f"http://127.0.0.1:{self.port}"


def bring_up(
    stack: Stack,
    report: Reporter,
    *,
    pool: Pool = LOCAL_POOL,
    port: int | None = None,
    pace: Pace = Pace.ORDINARY,
) -> Up:
    """Make everything that is missing or different, and wait until all parts are healthy.

    Raises
    ------
    Unavailable
        Docker doesn't answer, or no port is free.
    Conflict
        Somebody else's container, volume or network has one of the stack's names.
    StepFailed
        A build, a container or a wait failed; run again, it goes on from there.
    """
    client, ages = connect(), AGES[pace]
    pool = replace(pool, timing=ages.timing) if pace is not Pace.ORDINARY else pool
    confinement, warning = confinement_of(client)
    if warning:
        report.say(warning)
    with stack.building(report):
        base = ensure_base(client, report)
        images = Builder(client, stack.checkout, report).all(base)
    for _ in range(PORT_TRIES):
        observed = observe(client, stack.name)
        chosen = _port(client, stack, observed, port)
        refuse_other_kind(stack.name, Kind.CONTAINERS, observed)
        refuse_collisions(stack.name, names_of(pool), VOLUMES, observed)
        subnet = ensure_network(client, stack.name)
        config = slurmconf.render(pool, confinement, subnet, _templates(stack))
        parts = stack_parts(pool, confinement, images, subnet=subnet, config=config, port=chosen, ages=ages)
        steps = plan(stack.name, parts, VOLUMES, observed)
        try:
            apply(client, stack.name, steps, report)
            break
        except StepFailed:
            if port is not None or not _taken_meanwhile(client, stack, chosen):
                raise
            report.say(f"port {chosen} was taken by somebody else meanwhile; the gateway gets another one")
    else:
        raise Unavailable("no port stayed free for the gateway; choose one with --port", part="gateway")
    known = {
        "parts": [part.name for part in parts if not part.once],
        "slurm": slurm_version(client, stack.name),
    }
    stack.write("stack.json", {**stack.read("stack.json"), **known})
    return Up(changed=changes(steps), port=chosen)


def _taken_meanwhile(client: docker.DockerClient, stack: Stack, port: int) -> bool:
    """Whether the gateway could not start because somebody took its port after it was chosen."""
    published, running = published_port(client, stack, observe(client, stack.name), "gateway")
    return published == port and not running and not port_is_free(port)


def bring_down(
    stack: Stack, report: Reporter, *, keep_data: bool = False, images: bool = False
) -> tuple[str, ...]:
    """Remove exactly what `bring_up` made; return it. Built images stay unless `images`."""
    client = connect()
    removed = take_down(client, stack.name, observe(client, stack.name), report, keep_data=keep_data)
    if not keep_data:
        stack.forget()
    if images:
        removed += tuple(f"image {reference}" for reference in remove_images(client))
    return removed


def _templates(stack: Stack) -> dict[str, str]:
    folder = stack.checkout / "slurm-conf"
    return {name: (folder / f"{name}.in").read_text(encoding="utf-8") for name in slurmconf.TEMPLATES}


def _port(client: docker.DockerClient, stack: Stack, observed: Observed, wished: int | None) -> int:
    kept = stack.read("stack.json").get("port")
    published, running = published_port(client, stack, observed, "gateway")
    with stack.choosing_port() as others:
        port = choose_port(
            wished=wished,
            kept=published or (kept if isinstance(kept, int) else None),
            kept_is_ours=published is not None and running,
            is_free=lambda port: port not in others and port_is_free(port),
        )
        known = {"port": port, "url": f"http://127.0.0.1:{port}"}
        stack.write("stack.json", {**stack.read("stack.json"), **known})
    return port


def published_port(
    client: docker.DockerClient, stack: Stack, observed: Observed, part: str
) -> tuple[int | None, bool]:
    """Return the host port of a part of the stack as it is now, and whether that part runs."""
    container = observed.containers.get(container_name(stack.name, part))
    if container is None or container.stack != stack.name:
        return None, False
    with calling(f"docker inspect {container.name}"):
        attributes = client.api.inspect_container(container.name)
    bindings = attributes["HostConfig"].get("PortBindings") or {}
    port = next((int(b["HostPort"]) for given in bindings.values() for b in given), None)
    return port, container.state == "running"
