"""Brings up a Kubernetes cluster of our own: reads top to bottom. `bridge.cluster.flow` takes it down.

What flows in: a `Stack`, a reporter. What flows out: Ready nodes and a kubeconfig. What doesn't belong here:
what is installed on the cluster.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import docker

from bridge.cluster.apply import apply
from bridge.cluster.base import ensure_base
from bridge.cluster.console import run_in
from bridge.cluster.engine import calling, connect
from bridge.cluster.flow import published_port
from bridge.cluster.images import Builder
from bridge.cluster.kube import API, Ports, kube_names, kube_parts, kube_volumes
from bridge.cluster.kube_nodes import load_into_nodes
from bridge.cluster.network import ensure_network
from bridge.cluster.observe import observe
from bridge.cluster.plan import Kind, Observed, changes, plan, refuse_collisions, refuse_other_kind
from bridge.cluster.pool import LOCAL_POOL, Pool
from bridge.cluster.release import ReleaseImages
from bridge.cluster.reporter import Reporter
from bridge.cluster.stack import API_PORTS, GATEWAY_PORTS, Stack, choose_port, port_is_free
from bridge.errors import StepFailed

KUBECONFIG: Final = "kubeconfig"
"""File of the stack's state with the administrator's way in."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KubeUp:
    """What `bring_up_kube` did."""

    changed: bool
    kubeconfig: Path
    image: str
    """Of the cluster's parts; the host's kubectl and helm are taken from it."""

    gateway_port: int
    """Port on the host's loopback that leads to the chart's gateway, once it is installed."""


def bring_up_kube(
    stack: Stack, report: Reporter, *, pool: Pool = LOCAL_POOL, port: int | None = None
) -> KubeUp:
    """Make everything that is missing or different, and wait until all nodes are Ready.

    Raises
    ------
    Unavailable
        Docker doesn't answer, or no port is free.
    Conflict
        The stack is one of plain containers, or somebody else's container has one of its names.
    StepFailed
        A build, a container or a wait failed; run again, it goes on from there.
    """
    client = connect()
    observed = observe(client, stack.name)
    refuse_other_kind(stack.name, Kind.KUBERNETES, observed)
    refuse_collisions(stack.name, kube_names(pool), kube_volumes(pool), observed)
    with stack.building(report):
        image = Builder(client, stack.checkout, report).kube(ensure_base(client, report))
    ports = _ports(client, stack, observed, port)
    parts = kube_parts(
        pool,
        image,
        subnet=ensure_network(client, stack.name),
        ports=ports,
        host_cgroups=_has_cgroup_v1(client),
    )
    steps = plan(stack.name, parts, kube_volumes(pool), observed)
    apply(client, stack.name, steps, report)
    known = {"parts": [part.name for part in parts if not part.once], "kubernetes": image}
    stack.write("stack.json", {**stack.read("stack.json"), **known})
    kubeconfig = stack.write_secret(KUBECONFIG, _kubeconfig(client, stack))
    return KubeUp(changed=changes(steps), kubeconfig=kubeconfig, image=image, gateway_port=ports.gateway)


def load_images(
    stack: Stack, report: Reporter, *, pool: Pool = LOCAL_POOL
) -> tuple[ReleaseImages, tuple[str, ...]]:
    """Build Sluice's own images and put them into the nodes; return them, and those that a node lacked."""
    client = connect()
    with stack.building(report):
        builder = Builder(client, stack.checkout, report)
        made = builder.all(ensure_base(client, report))
        images = ReleaseImages(
            slurm=made.slurm,
            login=builder.login(made.slurm),
            agent=made.agent,
            gateway=made.gateway,
            mariadb=made.mariadb,
        )
    return images, load_into_nodes(stack.name, [node.name for node in pool.nodes], images.all, report)


def _ports(client: docker.DockerClient, stack: Stack, observed: Observed, wished: int | None) -> Ports:
    known = stack.read("stack.json")
    with stack.choosing_port() as others:

        def choose(part: str, key: str, among: range, asked: int | None) -> int:
            published, running = published_port(client, stack, observed, part)
            return choose_port(
                wished=asked,
                kept=published or _number(known, key),
                kept_is_ours=published is not None and running,
                is_free=lambda one: one not in others and port_is_free(one),
                among=among,
            )

        ports = Ports(
            api=choose(API, "api_port", API_PORTS, None),
            gateway=choose(LOCAL_POOL.nodes[0].name, "port", GATEWAY_PORTS, wished),
        )
        chosen = {"port": ports.gateway, "api_port": ports.api, "url": f"http://127.0.0.1:{ports.gateway}"}
        stack.write("stack.json", {**known, **chosen})
    return ports


def _number(known: Mapping[str, object], key: str) -> int | None:
    value = known.get(key)
    return value if isinstance(value, int) else None


def _has_cgroup_v1(client: docker.DockerClient) -> bool:
    with calling("docker info"):
        return str(client.info().get("CgroupVersion", "1")) != "2"


def _kubeconfig(client: docker.DockerClient, stack: Stack) -> str:
    ran = run_in(client, stack.name, API, ("cat", "/pki/admin.conf"))
    if ran.code != 0:
        raise StepFailed(
            "the cluster's kubeconfig can't be read",
            command=f"docker exec {stack.name}-{API} cat /pki/admin.conf",
            tail=ran.err,
            remedy="./sluice down removes the cluster, ./sluice up --kubernetes makes it anew",
        )
    return ran.out
