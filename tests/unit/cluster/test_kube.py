"""The parts of a Kubernetes cluster of our own: names, order, who holds which keys, what nodes may do."""

from __future__ import annotations

from ipaddress import IPv4Network

import pytest

from bridge.cluster.kube import PODS, Ports, kube_names, kube_parts, kube_volumes
from bridge.cluster.kube_nodes import full_name
from bridge.cluster.part import Part
from bridge.cluster.plan import Container, Kind, Observed, refuse_other_kind
from bridge.cluster.pool import LOCAL_POOL
from bridge.cluster.subnet import Subnet
from bridge.errors import Conflict

SUBNET = Subnet(IPv4Network("172.20.0.0/16"))
NODES = tuple(node.name for node in LOCAL_POOL.nodes)


def parts(*, host_cgroups: bool = True) -> dict[str, Part]:
    ports = Ports(api=6443, gateway=8080)
    made = kube_parts(LOCAL_POOL, "kube:1", subnet=SUBNET, ports=ports, host_cgroups=host_cgroups)
    return {part.name: part for part in made}


def test_the_names_known_beforehand_are_the_parts_names() -> None:
    assert tuple(parts()) == kube_names(LOCAL_POOL)
    used = {mount.volume for part in parts().values() for mount in part.mounts}
    assert used == set(kube_volumes(LOCAL_POOL))
    assert len(kube_volumes(LOCAL_POOL)) == len(used)


def test_a_part_starts_after_what_it_needs() -> None:
    started: set[str] = set()
    for part in parts().values():
        assert set(part.after) <= started, part.name
        started.add(part.name)


def test_no_two_parts_share_an_address() -> None:
    addresses = [part.address for part in parts().values() if part.address]
    assert len(addresses) == len(set(addresses)) == len(parts()) - 1  # what makes the keys needs no network


def test_a_node_has_no_keys_but_its_own() -> None:
    for name in NODES:
        keys = {mount.volume for mount in parts()[name].mounts if "pki" in mount.volume}
        assert keys == {f"kube-pki-{name}"}


def test_only_the_part_that_makes_keys_writes_them() -> None:
    writers = {
        part.name
        for part in parts().values()
        for mount in part.mounts
        if "pki" in mount.volume and not mount.read_only
    }
    assert writers == {"kube-prepare"}


def test_nodes_name_their_capabilities_and_ask_for_nothing_of_the_machine() -> None:
    for part in parts().values():
        assert part.capabilities is not None, part.name
        given = set(part.capabilities)
        assert not given & {"SYS_RESOURCE", "SYS_MODULE", "SYS_TIME", "SYS_BOOT", "SYS_RAWIO"}, part.name
        assert ("SYS_ADMIN" in given) == (part.name in NODES), part.name


@pytest.mark.parametrize(("host_cgroups", "paths"), [(True, ["/sys/fs/cgroup"]), (False, [])])
def test_only_cgroup_v1_takes_a_folder_of_the_host(host_cgroups: bool, paths: list[str]) -> None:
    for name, part in parts(host_cgroups=host_cgroups).items():
        assert [given.source for given in part.host_paths] == (paths if name in NODES else [])


def test_each_node_has_a_range_of_pods_and_a_way_to_the_others() -> None:
    environments = {name: dict(parts()[name].environment) for name in NODES}
    ranges = {name: IPv4Network(found["POD_RANGE"]) for name, found in environments.items()}
    first, second = NODES
    assert not ranges[first].overlaps(ranges[second])
    assert all(one.subnet_of(PODS) for one in ranges.values())
    assert environments[first]["ROUTES"] == f"{ranges[second]}={parts()[second].address}"
    assert environments[second]["ROUTES"] == f"{ranges[first]}={parts()[first].address}"


def test_the_api_server_and_the_gateways_node_port_are_published() -> None:
    given = {name: part.published for name, part in parts().items() if part.published}
    assert {
        name: [(one.container_port, one.host_port) for one in ports] for name, ports in given.items()
    } == {
        "kube-apiserver": [(6443, 6443)],
        NODES[0]: [(30080, 8080)],
    }


@pytest.mark.parametrize(
    ("reference", "name"),
    [
        ("sluice-slurm:abc", "docker.io/library/sluice-slurm:abc"),
        ("site/slurmd:1", "docker.io/site/slurmd:1"),
        ("registry.example/site/slurmd:1", "registry.example/site/slurmd:1"),
        ("localhost:5000/slurmd:1", "localhost:5000/slurmd:1"),
        ("localhost/sluice/pause:1", "localhost/sluice/pause:1"),
    ],
)
def test_a_reference_gets_the_name_that_containerd_gives_it(reference: str, name: str) -> None:
    assert full_name(reference) == name


@pytest.mark.parametrize(
    ("there", "wanted", "refused"),
    [
        ("slurmctld", Kind.KUBERNETES, True),
        ("kube-apiserver", Kind.CONTAINERS, True),
        ("slurmctld", Kind.CONTAINERS, False),
        ("kube-apiserver", Kind.KUBERNETES, False),
    ],
)
def test_a_stack_of_the_other_kind_is_left_alone(there: str, wanted: Kind, refused: bool) -> None:
    container = Container(name=f"s-{there}", stack="s", part=there)
    observed = Observed(containers={container.name: container})
    if not refused:
        refuse_other_kind("s", wanted, observed)
        return
    with pytest.raises(Conflict, match="was left alone"):
        refuse_other_kind("s", wanted, observed)
    refuse_other_kind("another", wanted, observed)
