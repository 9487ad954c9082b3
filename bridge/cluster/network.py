"""The stack's network: one bridge with fixed addresses.

Fixed, because Slurm resolves names when it starts and keeps the answers: a node replaced, or containers
started in another order after a reboot, would leave slurmctld with addresses of somebody else; and a name
that can't be resolved (a stopped container's) costs 10 s a try (measured on 26.05.5).

What flows in: the client, the stack. What flows out: `Subnet`.
"""

from __future__ import annotations

from ipaddress import IPv4Network
from typing import Final

import docker
from docker.errors import APIError
from docker.models.networks import Network
from docker.types import IPAMConfig, IPAMPool

from bridge import wellknown
from bridge.cluster.engine import calling
from bridge.cluster.subnet import Subnet
from bridge.errors import StepFailed

TRIES: Final = 5


def ensure_network(client: docker.DockerClient, stack: str) -> Subnet:
    """Return the network's addresses; makes it when it is missing.

    Docker gives fixed addresses only in a range that was named, and only Docker knows which ranges are
    free on this machine: so it chooses one for a network that lives for a moment.
    """
    with calling(f"docker network create {stack}", "remove unused networks: docker network prune"):
        for _ in range(TRIES):
            if (network := _named(client, stack)) is not None:
                return _subnet(network)
            _remove_left_over(client, stack)
            chosen = client.networks.create(f"{stack}-range", labels={wellknown.LABEL_STACK: stack})
            chosen.reload()
            subnet = _subnet(chosen)
            chosen.remove()
            pools = IPAMConfig(pool_configs=[IPAMPool(subnet=str(subnet.network))])
            try:
                client.networks.create(
                    stack, driver="bridge", ipam=pools, labels={wellknown.LABEL_STACK: stack}
                )
            except APIError as error:
                # 403: somebody took the range in between. 409: another network of this name, just made.
                if error.status_code not in {403, 409}:
                    raise
    raise StepFailed(
        f"no range of addresses stayed free for network {stack}",
        command=f"docker network create {stack}",
        remedy="wait until other commands that make networks are done, then run it again",
    )


def remove_networks(client: docker.DockerClient, stack: str) -> tuple[str, ...]:
    """Remove all networks with the stack's label; return their names.

    By identity: Docker lets two networks have one name, as a kill at the wrong moment could leave them.
    """
    removed = []
    for network in client.networks.list(filters={"label": f"{wellknown.LABEL_STACK}={stack}"}):
        remedy = f"disconnect what is still in it (docker network inspect {network.name}), then try again"
        with calling(f"docker network rm {network.name}", remedy):
            network.remove()
        removed.append(str(network.name))
    return tuple(removed)


def _remove_left_over(client: docker.DockerClient, stack: str) -> None:
    """Remove the network of a moment that a killed `up` left."""
    label = f"{wellknown.LABEL_STACK}={stack}"
    for network in client.networks.list(names=[f"{stack}-range"], filters={"label": label}):
        network.remove()


def _named(client: docker.DockerClient, stack: str) -> Network | None:
    """Return the network, not by `networks.get`: to Docker a short name is also the start of an id."""
    label = f"{wellknown.LABEL_STACK}={stack}"
    found = client.networks.list(names=[stack], filters={"label": label})
    return next((network for network in found if network.name == stack), None)


def _subnet(network: Network) -> Subnet:
    """Take the IPv4 range: an engine may be set to give networks an IPv6 one too."""
    given = [str(entry["Subnet"]) for entry in network.attrs["IPAM"]["Config"]]
    return Subnet(IPv4Network(next(subnet for subnet in given if ":" not in subnet)))
