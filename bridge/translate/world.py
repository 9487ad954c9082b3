"""Everything beside the pod that a translation looks at, as it is at one moment.

Pure data. Whoever watches the API server and Slurm makes a `World`; nothing here is looked up live.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from bridge.policy.table import PolicyTable, TenantRules
from bridge.translate.claims import Claim
from bridge.translate.inventory import Inventory
from bridge.translate.meta import Owner
from bridge.translate.pods import Pod
from bridge.translate.sizes import GroupSize
from bridge.translate.volumes import VolumeBook

KUBE_CONTROLLERS: Final = frozenset(
    f"system:serviceaccount:kube-system:{name}-controller"
    for name in ("job", "cronjob", "deployment", "replicaset", "statefulset", "daemon-set", "replication")
)
"""Requesters of pods and owners that nobody asked for by themselves: their owner says who did."""
Key = tuple[str, str]
"""Namespace and name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DoorSettings:
    """What a site may change of the pod door."""

    controllers: frozenset[str] = KUBE_CONTROLLERS
    """Requesters whose objects are charged to the owner's requester."""
    exempt_namespaces: frozenset[str] = frozenset({"kube-system", "sluice-system"})
    class_prefix: str = ""
    """What stands before the classes' names in Kubernetes."""
    start_slack_s: int = 60
    """Seconds between Slurm's start of a job and the kubelet's start of its pod."""
    lease_min: int = 1440
    """Time limit of a production pod without a deadline; the bridge extends it while the pod runs."""
    partition_max_min: Mapping[str, int] = field(default_factory=dict)
    """MaxTime of partitions that have one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """The rest of the cluster. Objects by (namespace, name)."""

    rules: PolicyTable
    tenants: Mapping[str, str] = field(default_factory=dict)
    """Namespace to tenant."""
    identities: Mapping[str, str] = field(default_factory=dict)
    """Requester to user, where they aren't spelt alike."""
    services: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """Tenant to requester to run-as user, for requesters that are no people."""
    inventory: Inventory = field(default_factory=Inventory)
    claims: Mapping[Key, Claim] = field(default_factory=dict)
    templates: Mapping[Key, Claim] = field(default_factory=dict)
    claim_pods: Mapping[Key, int] = field(default_factory=dict)
    """How many pods that haven't ended name a claim."""
    volumes: VolumeBook = field(default_factory=VolumeBook)
    owners: Mapping[tuple[str, str, str], Owner] = field(default_factory=dict)
    """(kind, namespace, name) to object."""
    group_sizes: Mapping[tuple[str, str, str], GroupSize] = field(default_factory=dict)
    """(kind, namespace, name) to the gang that a PodGroup or workload asks for."""
    pods: Mapping[str, tuple[Pod, ...]] = field(default_factory=dict)
    """Namespace to its pods that haven't ended."""
    started_gangs: frozenset[str] = frozenset()
    """uids of gangs' objects that have a job; whoever keeps the jobs knows."""
    settings: DoorSettings = field(default_factory=DoorSettings)

    def tenant_of(self, namespace: str) -> TenantRules | None:
        """Return the rules of the namespace's tenant, None where it has none."""
        return self.rules.tenants.get(self.tenants.get(namespace, ""))

    def node_name(self, slurm_name: str) -> str | None:
        """Return the Kubernetes name of a Slurm node."""
        for node in self.inventory.pool:
            if node.slurm_name == slurm_name:
                return node.name
        return None
