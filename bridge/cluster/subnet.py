"""Which part has which address in the stack's network.

Pure. What doesn't belong here: making the network (`bridge.cluster.network`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from ipaddress import IPv4Network
from typing import Final

_FIXED: Final[Mapping[str, int]] = {
    "mariadb": 10,
    "slurmdbd": 11,
    "slurmctld": 12,
    "slurmrestd": 13,
    "login": 14,
    "agent": 15,
    "bridge": 16,
    "gateway": 17,
    "etcd": 20,
    "kube-apiserver": 21,
    "kube-controller-manager": 22,
    "kube-scheduler": 23,
    "kube-volumes": 24,
    "kube-manifests": 25,
}
_FIRST_NODE: Final = 32
"""Host number of the first GPU node; the network's gateway is 1, Docker gives others from 2 on."""


@dataclass(frozen=True, slots=True)
class Subnet:
    """The addresses of a stack."""

    network: IPv4Network

    def of_part(self, name: str) -> str:
        """Address of a part that isn't a GPU node."""
        return str(self.network[_FIXED[name]])

    def of_node(self, index: int) -> str:
        """Address of the GPU node with this index in the pool."""
        return str(self.network[_FIRST_NODE + index])
