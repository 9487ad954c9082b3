"""The parts of a local stack: names, order, and who may have what."""

from __future__ import annotations

from ipaddress import IPv4Network

import pytest

from bridge.cluster.ages import AGES, Ages, Pace
from bridge.cluster.part import Part
from bridge.cluster.parts import VOLUMES, Images, names_of, stack_parts
from bridge.cluster.pool import LOCAL_POOL, Confinement
from bridge.cluster.subnet import Subnet

IMAGES = Images(mariadb="mariadb:1", slurm="slurm:1", agent="agent:1", login="login:1", gateway="gateway:1")
SUBNET = Subnet(IPv4Network("172.20.0.0/16"))


def parts(
    confinement: Confinement = Confinement.NONE,
    *,
    port: int = 8080,
    conf: str = "a",
    ages: Ages = AGES[Pace.ORDINARY],
) -> dict[str, Part]:
    config = {"slurm.conf": conf, "slurmdbd.conf": "b"}
    made = stack_parts(LOCAL_POOL, confinement, IMAGES, subnet=SUBNET, config=config, port=port, ages=ages)
    return {part.name: part for part in made}


def users_of(volume: str) -> set[str]:
    return {part.name for part in parts().values() for mount in part.mounts if mount.volume == volume}


def writers_of(volume: str) -> set[str]:
    return {
        part.name
        for part in parts().values()
        for mount in part.mounts
        if mount.volume == volume and not mount.read_only
    }


def test_the_names_known_beforehand_are_the_parts_names() -> None:
    assert set(names_of(LOCAL_POOL)) == set(parts())
    assert {mount.volume for part in parts().values() for mount in part.mounts} == set(VOLUMES)


def test_a_part_starts_after_what_it_needs() -> None:
    started: set[str] = set()
    for part in parts().values():
        assert set(part.after) <= started, part.name
        started.add(part.name)


def test_no_two_parts_share_an_address() -> None:
    addresses = [part.address for part in parts().values() if part.address]
    assert len(addresses) == len(set(addresses))


@pytest.mark.parametrize(
    ("volume", "holders"),
    [
        ("slurm-key", {"slurmctld", "slurmdbd", "gpu1", "gpu2", "login", "agent"}),
        ("jwt-key", {"slurmctld", "slurmdbd", "agent"}),
        ("db-secret", {"mariadb"}),
        ("dbd-conf", {"slurmdbd"}),
    ],
)
def test_a_secret_is_mounted_only_where_it_is_needed(volume: str, holders: set[str]) -> None:
    assert users_of(volume) == holders | {"prepare"}
    assert writers_of(volume) == {"prepare"}


def test_what_tenants_may_do_is_written_by_the_bridge_alone() -> None:
    for volume in ("users", "policy", "tenants"):
        assert writers_of(volume) == {"prepare", "bridge"}, volume


def test_the_file_agent_has_two_capabilities_no_network_and_a_read_only_root() -> None:
    files = parts()["files"]
    assert files.capabilities == ("SETUID", "SETGID")
    assert files.read_only_root
    assert not files.address
    assert writers_of("home") == {"prepare", "gpu1", "gpu2", "login"}


def test_only_parts_that_become_other_users_keep_capabilities() -> None:
    keeping = {part.name for part in parts().values() if part.capabilities is None}
    assert keeping == {"prepare", "gpu1", "gpu2", "login"}


def test_more_than_dockers_capabilities_only_where_slurmd_makes_namespaces() -> None:
    for confinement in Confinement:
        keeping = {name: part.more_capabilities for name, part in parts(confinement).items()}
        assert {name: more for name, more in keeping.items() if more} == {
            "gpu1": ("SYS_ADMIN",),
            "gpu2": ("SYS_ADMIN",),
        }


def test_only_the_gateway_is_published() -> None:
    given = {name: part.published for name, part in parts(port=8099).items() if part.published}
    assert {name: [one.host_port for one in ports] for name, ports in given.items()} == {"gateway": [8099]}


def test_a_changed_configuration_replaces_slurm_and_nothing_else() -> None:
    before, after = parts(conf="a"), parts(conf="changed")
    changed = {name for name in before if before[name].spec != after[name].spec}
    assert changed == {"prepare", "slurmdbd", "slurmctld", "slurmrestd", "gpu1", "gpu2", "login", "agent"}
