"""The rendered configuration of a local cluster."""

from __future__ import annotations

import re
from datetime import timedelta
from ipaddress import IPv4Network
from pathlib import Path

import pytest

from bridge.cluster.pool import LOCAL_POOL, Billing, Confinement, Node, Pool, Timing
from bridge.cluster.slurmconf import TEMPLATES, render
from bridge.cluster.subnet import Subnet

FOLDER = Path(__file__).resolve().parents[3] / "slurm-conf"
SOURCES = {name: (FOLDER / f"{name}.in").read_text() for name in TEMPLATES}
SUBNET = Subnet(IPv4Network("172.20.0.0/16"))


def rendered(pool: Pool = LOCAL_POOL, confinement: Confinement = Confinement.NONE) -> dict[str, str]:
    return render(pool, confinement, SUBNET, SOURCES)


def setting(text: str, key: str) -> str:
    found = re.findall(rf"^{re.escape(key)}=(.*)$", text, re.MULTILINE)
    assert len(found) == 1, f"{key} is there {len(found)} times"
    return str(found[0])


@pytest.mark.parametrize("confinement", list(Confinement))
def test_every_template_renders_without_a_rest(confinement: Confinement) -> None:
    files = rendered(confinement=confinement)
    assert set(files) == set(TEMPLATES)
    for text in files.values():
        assert "$" not in text


def test_accounting_is_enforced_and_counts_each_flavor() -> None:
    conf = rendered()["slurm.conf"]
    assert setting(conf, "AccountingStorageEnforce") == "associations,limits,qos,safe"
    assert setting(conf, "AccountingStorageTRES") == "gres/gpu,gres/gpu:h100,gres/gpu:a100"


@pytest.mark.parametrize("file", ["slurm.conf", "slurmdbd.conf"])
def test_what_others_run_and_use_is_private(file: str) -> None:
    private = set(setting(rendered()[file], "PrivateData").split(","))
    assert private >= {"accounts", "jobs", "reservations", "usage", "users"}


def test_only_typed_gpus_are_billed() -> None:
    conf = rendered()["slurm.conf"]
    weights = re.findall(r'TRESBillingWeights="([^"]*)"', conf)
    assert weights == ["CPU=10,Mem=2G,GRES/gpu:h100=400,GRES/gpu:a100=200"] * 2


def test_jobs_without_a_memory_request_share_a_node() -> None:
    conf = rendered()["slurm.conf"]
    assert int(setting(conf, "DefMemPerCPU")) * 32 <= 64 * 1024
    assert conf.count("DefMemPerGPU=8192") == 2


def test_nodes_have_addresses_and_all_their_gpus() -> None:
    conf = rendered()["slurm.conf"]
    assert "NodeName=gpu1 NodeAddr=172.20.0.32 CPUs=32" in conf
    assert "NodeName=gpu2 NodeAddr=172.20.0.33 CPUs=32" in conf
    assert conf.count("Gres=gpu:h100:4,gpu:a100:4") == 2
    assert setting(conf, "SlurmctldHost") == "slurmctld(172.20.0.12)"


def test_device_files_are_numbered_through_a_node() -> None:
    nodes = (Node(name="a", gpus={"h100": 1, "b200": 3}), Node(name="b", gpus={"b200": 2}))
    pool = Pool(cluster="c", nodes=nodes, billing=Billing(gpus={"h100": 1, "b200": 2}))
    gres = rendered(pool)["gres.conf"]
    assert "NodeName=a Name=gpu Type=h100 File=/dev/fgpu0\n" in gres
    assert "NodeName=a Name=gpu Type=b200 File=/dev/fgpu[1-3]\n" in gres
    assert "NodeName=b Name=gpu Type=b200 File=/dev/fgpu[0-1]\n" in gres


def test_a_partition_is_over_the_nodes_that_have_its_flavor() -> None:
    nodes = (Node(name="a", gpus={"h100": 1}), Node(name="b", gpus={"b200": 2}))
    pool = Pool(cluster="c", nodes=nodes, billing=Billing(gpus={"h100": 1, "b200": 2}))
    conf = rendered(pool)["slurm.conf"]
    assert "PartitionName=h100 Nodes=a Default=YES" in conf
    assert "PartitionName=b200 Nodes=b Default=NO" in conf


def test_cgroup_v2_hosts_confine_devices_and_others_say_so() -> None:
    confined = rendered(confinement=Confinement.CGROUP_V2)
    assert setting(confined["slurm.conf"], "ProctrackType") == "proctrack/cgroup"
    assert "ConstrainDevices=yes" in confined["cgroup.conf"]
    fallback = rendered(confinement=Confinement.NONE)
    assert setting(fallback["slurm.conf"], "ProctrackType") == "proctrack/linuxproc"
    assert "CgroupPlugin=disabled" in fallback["cgroup.conf"]


def test_times_are_in_slurms_units() -> None:
    timing = Timing(kill_wait=timedelta(seconds=5), priority_calc=timedelta(seconds=10))
    pool = Pool(cluster="c", nodes=LOCAL_POOL.nodes, billing=LOCAL_POOL.billing, timing=timing)
    conf = rendered(pool)["slurm.conf"]
    assert setting(conf, "KillWait") == "5"
    assert setting(conf, "PriorityCalcPeriod") == "1"  # whole minutes, never 0


def test_no_secret_is_rendered() -> None:
    assert setting(rendered()["slurmdbd.conf"], "StoragePass") == "@PASSWORD@"
