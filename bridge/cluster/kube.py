"""The parts of a Kubernetes cluster of our own: control plane and nodes as containers, for tests and trials.

Pure. What flows in: the pool, the image's reference, addresses, ports. What flows out: `Part` descriptions.
What doesn't belong here: what runs on the cluster (the chart), a user's own cluster.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from ipaddress import IPv4Network
from typing import Final

from bridge.cluster.part import Health, HostPath, Mount, Part, Published
from bridge.cluster.pool import Node, Pool
from bridge.cluster.subnet import Subnet

PREPARE: Final = "kube-prepare"
API: Final = "kube-apiserver"
API_PORT: Final = 6443
GATEWAY_NODE_PORT: Final = 30080
"""Where the chart's gateway listens on each node; the first node's is published on the host."""

SERVICES: Final = IPv4Network("10.96.0.0/16")
PODS: Final = IPv4Network("10.244.0.0/16")
"""Addresses inside the cluster; like kubeadm's and kind's own, so that examples found anywhere fit."""

PKI: Final = Mount(volume="kube-pki", path="/pki", read_only=True)
ETCD: Final = Mount(volume="etcd", path="/var/lib/etcd")
AUDIT: Final = Mount(volume="kube-audit", path="/var/log/kubernetes")
SHARED: Final = Mount(volume="kube-volumes", path="/srv/volumes")
"""A file system that all nodes share, where persistent volumes are."""

NODE_CAPABILITIES: Final = (
    *("AUDIT_CONTROL", "AUDIT_READ", "AUDIT_WRITE", "CHOWN", "DAC_OVERRIDE", "DAC_READ_SEARCH", "FOWNER"),
    *("FSETID", "IPC_LOCK", "IPC_OWNER", "KILL", "LEASE", "LINUX_IMMUTABLE", "MKNOD", "NET_ADMIN"),
    *("NET_BIND_SERVICE", "NET_BROADCAST", "NET_RAW", "SETFCAP", "SETGID", "SETPCAP", "SETUID", "SYS_ADMIN"),
    *("SYS_CHROOT", "SYS_NICE", "SYS_PTRACE", "SYS_TTY_CONFIG", "SYSLOG"),
)
"""What containerd, the kubelet and pods need. Named, not `privileged`: that asks for CAP_SYS_RESOURCE too,
which some hosts don't give, and for what reaches the machine itself (modules, clock, reboot)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ports:
    """Ports on the host's loopback."""

    api: int
    gateway: int


def kube_parts(
    pool: Pool, image: str, *, subnet: Subnet, ports: Ports, host_cgroups: bool
) -> tuple[Part, ...]:
    """Describe all parts, in the order in which they start.

    Parameters
    ----------
    image
        Reference of the image of all parts.
    host_cgroups
        Whether the nodes need the host's cgroup tree, as on cgroup v1, where a container has none of its own.
    """
    control = [replace(part, address=subnet.of_part(part.name)) for part in _control_plane(image, ports)]
    nodes = [_node(pool, index, image, subnet, host_cgroups=host_cgroups) for index in range(len(pool.nodes))]
    nodes[0] = replace(
        nodes[0], published=(Published(container_port=GATEWAY_NODE_PORT, host_port=ports.gateway),)
    )
    manifests = replace(_manifests(image, pool), address=subnet.of_part("kube-manifests"))
    return (_prepare(pool, image, subnet, ports), *control, manifests, *nodes)


def kube_volumes(pool: Pool) -> tuple[str, ...]:
    """Return the short names of all volumes."""
    control = (PKI.volume, ETCD.volume, AUDIT.volume, SHARED.volume)
    return (*control, *(mount.volume for node in pool.nodes for mount in _node_mounts(node)))


def kube_names(pool: Pool) -> tuple[str, ...]:
    """Return the names of all parts, known before anything is made."""
    control = ("etcd", API, "kube-controller-manager", "kube-scheduler", "kube-volumes")
    return (PREPARE, *control, "kube-manifests", *(node.name for node in pool.nodes))


def _prepare(pool: Pool, image: str, subnet: Subnet, ports: Ports) -> Part:
    nodes = " ".join(f"{node.name}={subnet.of_node(index)}" for index, node in enumerate(pool.nodes))
    own = [_pki_of(node) for node in pool.nodes]
    return Part(
        name=PREPARE,
        image=image,
        command=("kube-prepare",),
        mounts=(
            replace(PKI, read_only=False),
            *(
                replace(mount, path=f"/pki-{node.name}", read_only=False)
                for mount, node in zip(own, pool.nodes, strict=True)
            ),
        ),
        environment=(
            ("APISERVER", f"{API} {subnet.of_part(API)}"),
            ("NODES", nodes),
            ("PUBLISHED", f"https://127.0.0.1:{ports.api}"),
            ("SERVICE_ADDRESS", str(SERVICES[1])),
        ),
        capabilities=(),
        once=True,
    )


def _control_plane(image: str, ports: Ports) -> tuple[Part, ...]:
    program = Part(name="", image=image, command=(), capabilities=(), mounts=(PKI,), after=(API,))
    asks = ("curl", "--silent", "--show-error", "--fail", "--max-time", "5")
    ready = (*asks, "--cacert", "/pki/ca.crt", f"https://127.0.0.1:{API_PORT}/readyz")

    def control(name: str, health: tuple[str, ...]) -> Part:
        return replace(program, name=name, command=("kube-control", name), health=Health(command=health))

    return (
        replace(
            control("etcd", ("etcdctl", "endpoint", "health")),
            mounts=(ETCD,),
            after=(PREPARE,),
        ),
        replace(
            control(API, ready),
            mounts=(PKI, AUDIT),
            environment=(("SERVICES", str(SERVICES)),),
            published=(Published(container_port=API_PORT, host_port=ports.api),),
            after=("etcd",),
        ),
        control("kube-controller-manager", (*asks, "--insecure", "https://127.0.0.1:10257/healthz")),
        control("kube-scheduler", (*asks, "--insecure", "https://127.0.0.1:10259/healthz")),
        replace(
            program,
            name="kube-volumes",
            command=("kube-control", "volumes"),
            mounts=(PKI, SHARED),
            # A volume's files belong to whoever wrote them, and go with the volume.
            capabilities=("DAC_OVERRIDE", "FOWNER"),
        ),
    )


def _manifests(image: str, pool: Pool) -> Part:
    gpus = ",".join(f"{flavor}={count}" for flavor, count in pool.nodes[0].gpus.items())
    return Part(
        name="kube-manifests",
        image=image,
        command=("kube-manifests",),
        mounts=(PKI,),
        environment=(("DNS_ADDRESS", str(SERVICES[10])), ("GPUS", gpus)),
        capabilities=(),
        after=(API, "kube-controller-manager", "kube-scheduler"),
        once=True,
    )


def _pki_of(node: Node) -> Mount:
    return Mount(volume=f"kube-pki-{node.name}", path="/pki-node", read_only=True)


def _node_mounts(node: Node) -> tuple[Mount, ...]:
    return (
        _pki_of(node),
        # Both make overlays and mounts, which the container's own root, an overlay itself, can't hold.
        Mount(volume=f"containerd-{node.name}", path="/var/lib/containerd"),
        Mount(volume=f"kubelet-{node.name}", path="/var/lib/kubelet"),
    )


def _node(pool: Pool, index: int, image: str, subnet: Subnet, *, host_cgroups: bool) -> Part:
    ranges: Sequence[IPv4Network] = list(PODS.subnets(new_prefix=24))[1:]
    routes = " ".join(
        f"{ranges[other]}={subnet.of_node(other)}" for other in range(len(pool.nodes)) if other != index
    )
    node = pool.nodes[index]
    return Part(
        name=node.name,
        image=image,
        command=("kube-node",),
        mounts=(*_node_mounts(node), SHARED),
        host_paths=(HostPath(source="/sys/fs/cgroup", path="/sys/fs/cgroup"),) if host_cgroups else (),
        tmpfs=(("/run", "mode=0755"), ("/tmp", "exec,mode=1777")),  # noqa: S108 - inside the container
        environment=(
            ("POD_RANGE", str(ranges[index])),
            ("POD_RANGES", str(PODS)),
            ("ROUTES", routes),
            ("DNS_ADDRESS", str(SERVICES[10])),
            ("CPUS", str(node.cpus)),
            ("SOCKETS", str(node.sockets)),
            ("MEMORY_MIB", str(node.memory_mib)),
        ),
        capabilities=NODE_CAPABILITIES,
        # Pods get confinement of their own from containerd, which must be free to give it.
        security=("seccomp=unconfined", "apparmor=unconfined"),
        device_rules=("a *:* rwm",),
        address=subnet.of_node(index),
        health=Health(command=("node-ready",)),
        after=(API,),
    )
