"""The reference world of the pod cases: two tenants, a pool of three vendors' nodes, its devices.

A `Scene` takes manifests as users apply them and gives the `World` and the pods that the bridge would see.
"""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Iterable
from fractions import Fraction
from pathlib import Path
from typing import Any

import yaml

from bridge.policy.pool import Flavor, Pool
from bridge.policy.table import PolicyTable, table_of
from bridge.policy.tenant import Tenant
from bridge.translate.claims import read_claim, read_template
from bridge.translate.devices import Device, read_device_class
from bridge.translate.document import Doc
from bridge.translate.inventory import Inventory
from bridge.translate.meta import read_meta, read_owner
from bridge.translate.nodes import Node, read_node
from bridge.translate.pod import translate
from bridge.translate.pods import Pod, read_pod
from bridge.translate.sizes import READERS
from bridge.translate.verdict import Placement, Verdict
from bridge.translate.volumes import VolumeBook, read_storage_class, read_volume_affinity, read_volume_claim
from bridge.translate.world import KUBE_CONTROLLERS, DoorSettings, World
from tests.support.pods.apiserver import ApiServer, Manifest
from tests.support.pods.controllers import OPERATORS, Controllers

DATA = Path(__file__).parents[2] / "data" / "pods"
NAMESPACES = {"vega-train": "vega", "vega-lab": "vega", "lyra-serve": "lyra"}
USERS = {"vega-train": "bo", "vega-lab": "bo", "lyra-serve": "kim"}
FLAVORS = {"h100": 32, "a100": 16, "mig-1g.10gb": 28, "mi300x": 8}
TENANTS = (
    {
        "name": "vega",
        "members": [{"user": "bo"}, {"user": "ada"}],
        "flavors": {name: {"limit": 1000} for name in ("h100", "a100", "mig-1g.10gb")},
        "classes": {"allowed": ["training", "development", "batch"], "default": "training"},
        "limits": {"max_walltime_min": 4320},
    },
    {
        "name": "lyra",
        "members": [{"user": "kim"}],
        "flavors": {
            "h100": {"guarantee": 16, "limit": 1000},
            "mi300x": {"guarantee": 8, "limit": 1000},
        },
        "classes": {"allowed": ["production", "batch"], "default": "production"},
    },
)


@functools.cache
def documents(path: Path) -> tuple[Manifest, ...]:
    """Read a multi-document YAML file, once; whoever changes an item copies it."""
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    return tuple(item for item in yaml.load_all(path.read_text(), loader) if item)


@functools.cache
def rules() -> PolicyTable:
    """Return the two tenants' rules."""
    flavors = {
        name: Flavor(
            name=name, gres_type=name, partition=name, configured=count, healthy=count, assured=count
        )
        for name, count in FLAVORS.items()
    }
    pool = Pool(flavors, {})
    return table_of([Tenant.model_validate(tenant) for tenant in TENANTS], pool)


def published(node: Node) -> list[Device]:
    """Return the devices that a node of the reference pool publishes."""
    found: list[Device] = []
    domain = "gpu.nvidia.com"
    if node.flavor in ("h100", "a100"):
        product = "NVIDIA H100 80GB HBM3" if node.flavor == "h100" else "NVIDIA A100-SXM4-40GB"
        memory = Fraction((81559 if node.flavor == "h100" else 40960) * 2**20)
        found += [
            _device(
                node, domain, f"gpu-{index}", memory, type="gpu", productName=product, numaNode=index // 4
            )
            for index in range(8)
        ]
    if node.flavor.startswith("mig-"):
        profile = node.flavor.removeprefix("mig-")
        found += [
            _device(
                node,
                domain,
                f"mig-{index}",
                Fraction(10 * 2**30),
                type="mig",
                productName="NVIDIA H100 80GB HBM3",
                profile=profile,
                numaNode=0,
            )
            for index in range(28)
        ]
    if node.flavor == "h100":
        found += [_device(node, "rdma.example.net", f"nic-{index}", None) for index in range(8)]
    return found


def _device(node: Node, driver: str, name: str, memory: Fraction | None, **attributes: Any) -> Device:
    return Device(
        driver=driver,
        pool=node.name,
        name=name,
        node=node.name,
        attributes={f"{driver}/{key}": value for key, value in attributes.items()},
        capacity={} if memory is None else {f"{driver}/memory": memory},
    )


@functools.cache
def fixtures() -> tuple[Manifest, ...]:
    """Return what the reference cluster has before any manifest."""
    return (*documents(DATA / "nodes.yaml"), *documents(DATA / "fixtures.yaml"))


@functools.cache
def reference_pool(devices: bool) -> Inventory:
    """Return the reference cluster's inventory; what it remembers is shared by all scenes."""
    nodes = [read_node(Doc(item)) for item in fixtures() if item["kind"] == "Node"]
    classes = [read_device_class(Doc(item)) for item in fixtures() if item["kind"] == "DeviceClass"]
    return Inventory(
        nodes, [device for node in nodes for device in published(node)] if devices else [], classes
    )


def _settings() -> DoorSettings:
    return DoorSettings(controllers=KUBE_CONTROLLERS | frozenset(OPERATORS.values()))


class Scene:
    """The world after some manifests were applied.

    Parameters
    ----------
    manifests
        As users write them; each is applied by its namespace's user.
    devices
        Whether nodes publish devices (DRA) beside what a device plugin counts.
    """

    def __init__(self, manifests: Iterable[Manifest], *, devices: bool = True) -> None:
        self.server = ApiServer(fixtures())
        controllers = Controllers(self.server)
        for manifest in manifests:
            namespace = manifest.get("metadata", {}).get("namespace", "")
            item = self.server.create(manifest, requester=USERS.get(namespace, "bo"))
            controllers.run(item)
        self.pods: list[Pod] = [read_pod(Doc(item)) for item in self.server.of("Pod")]
        self.world = self._world(devices)

    def _world(self, devices: bool) -> World:
        server = self.server
        pods: dict[str, tuple[Pod, ...]] = {}
        for pod in self.pods:
            pods[pod.meta.namespace] = (*pods.get(pod.meta.namespace, ()), pod)
        return World(
            rules=rules(),
            tenants=NAMESPACES,
            inventory=reference_pool(devices),
            claims={_key(item): read_claim(Doc(item)) for item in server.of("ResourceClaim")},
            templates={_key(item): read_template(Doc(item)) for item in server.of("ResourceClaimTemplate")},
            claim_pods=Counter(
                (pod.meta.namespace, ref.claim) for pod in self.pods for ref in pod.claims if ref.claim
            ),
            volumes=self._volumes(),
            owners={
                (item["kind"], *_key(item)): read_owner(Doc(item))
                for item in server.objects
                if item.get("kind") not in ("Pod", "Node")
            },
            group_sizes={
                (item["kind"], *_key(item)): READERS[item["kind"]](Doc(item))
                for item in server.objects
                if item.get("kind") in READERS
            },
            pods=pods,
            settings=_settings(),
        )

    def _volumes(self) -> VolumeBook:
        server = self.server
        affinity = [read_volume_affinity(Doc(item)) for item in server.of("PersistentVolume")]
        return VolumeBook(
            {_key(item): read_volume_claim(Doc(item)) for item in server.of("PersistentVolumeClaim")},
            {item["metadata"]["name"]: read_storage_class(Doc(item)) for item in server.of("StorageClass")},
            {name: terms for name, terms in affinity if terms is not None},
        )

    @functools.cached_property
    def verdicts(self) -> list[Verdict]:
        """Each pod's translation, in order."""
        return [translate(pod, self.world) for pod in self.pods]

    @property
    def placements(self) -> list[Placement]:
        """The jobs, each once."""
        found = [verdict for verdict in self.verdicts if isinstance(verdict, Placement)]
        return list({placement.key: placement for placement in found}.values())


def _key(item: Manifest) -> tuple[str, str]:
    meta = read_meta(Doc(item))
    return meta.namespace, meta.name
