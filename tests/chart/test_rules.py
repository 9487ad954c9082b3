"""What holds for every render: least privilege, probes, requests, and roles that grant what is called."""

from __future__ import annotations

from typing import Any, Final

import pytest

from bridge.kube import kinds
from tests.chart.renders import CHART, HERE, SETS, containers, pods, rendered, run

NOT_ORDINARY: Final = {
    "sshd": {"AUDIT_WRITE", "CHOWN", "DAC_OVERRIDE", "FOWNER", "KILL", "SETGID", "SETUID", "SYS_CHROOT"},
    "files": {"SETGID", "SETUID"},
    "slurmd": {"CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "KILL", "SETGID", "SETPCAP", "SETUID"}
    | {"SYS_ADMIN", "SYS_CHROOT", "SYS_NICE", "MKNOD", "IPC_LOCK", "SYS_RESOURCE"},
}
"""Containers of root, and the capabilities that each may have."""


@pytest.mark.parametrize("name", SETS)
def test_helm_finds_no_fault(name: str) -> None:
    done = run("lint", "--strict", str(CHART), "--values", str(HERE / "values" / f"{name}.yaml"))
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("name", SETS)
def test_nothing_is_privileged_and_capabilities_are_named(name: str) -> None:
    for where, container, _pod in containers(name):
        security = container["securityContext"]
        assert not security.get("privileged"), where
        assert security["readOnlyRootFilesystem"] is True, where
        assert security["capabilities"]["drop"] == ["ALL"], where
        added = set(security["capabilities"].get("add", ()))
        allowed = NOT_ORDINARY.get(container["name"])
        if allowed is None:
            assert security["runAsNonRoot"] is True, where
            assert security["allowPrivilegeEscalation"] is False, where
            assert not added, where
        else:
            assert added <= allowed, where


@pytest.mark.parametrize("name", SETS)
def test_no_pod_touches_its_host_and_tokens_go_only_where_they_are_used(name: str) -> None:
    for where, pod in pods(name):
        assert not {"hostNetwork", "hostPID", "hostIPC"} & pod.keys(), where
        assert not any("hostPath" in volume for volume in pod.get("volumes", ())), where
        assert pod["automountServiceAccountToken"] is where.endswith("-leave"), where
    holders = {
        where
        for where, container, _pod in containers(name)
        if any(mount["name"] == "api" for mount in container.get("volumeMounts", ()))
    }
    assert holders == {"sluice-bridge/bridge", "sluice-gateway/gateway"}


@pytest.mark.parametrize("name", SETS)
def test_slurms_keys_are_seen_by_their_owner_alone(name: str) -> None:
    for where, container, pod in containers(name):
        secrets = {
            volume["name"] for volume in pod.get("volumes", ()) if "keys" in str(volume.get("secret", {}))
        }
        mounted = {mount["name"] for mount in container.get("volumeMounts", ())} & secrets
        assert not mounted or container["name"] == "etc", where
        holds = any(mount["name"] == "etc-slurm" for mount in container.get("volumeMounts", ()))
        uid = container["securityContext"]["runAsUser"]
        assert not holds or uid == 64030 or container["name"] == "slurmd", where


@pytest.mark.parametrize("name", SETS)
def test_every_container_asks_for_something_and_every_service_is_probed(name: str) -> None:
    for where, container, pod in containers(name):
        assert container["resources"]["requests"].keys() >= {"cpu", "memory"}, where
        assert container["imagePullPolicy"], where
        served = container.get("ports")
        if served and pod.get("restartPolicy") != "Never":
            assert {"readinessProbe", "livenessProbe"} <= container.keys(), where


@pytest.mark.parametrize("name", SETS)
def test_mounts_have_volumes_and_names_are_of_the_release(name: str) -> None:
    claims = {
        (item["metadata"]["name"], claim["metadata"]["name"])
        for item in rendered(name)
        for claim in item.get("spec", {}).get("volumeClaimTemplates", ())
    }
    for where, container, pod in containers(name):
        known = {volume["name"] for volume in pod.get("volumes", ())}
        known |= {claim for owner, claim in claims if owner == where.partition("/")[0]}
        assert {mount["name"] for mount in container.get("volumeMounts", ())} <= known, where
    names = [(item["kind"], item["metadata"]["name"]) for item in rendered(name)]
    assert len(names) == len(set(names))
    accounts = {found for kind, found in names if kind == "ServiceAccount"}
    assert {pod["serviceAccountName"] for _, pod in pods(name)} <= accounts


def test_the_bridges_roles_are_the_kinds_that_it_calls() -> None:
    rules = [
        rule
        for item in rendered("default")
        if item["kind"] in ("ClusterRole", "Role")
        for rule in item["rules"]
    ]
    granted = {(group, what) for rule in rules for group in rule["apiGroups"] for what in rule["resources"]}
    called = {(kind.group, kind.plural) for kind in vars(kinds).values() if isinstance(kind, kinds.Kind)} | {
        ("sluice.sh", "tenants/status"),
        ("rbac.authorization.k8s.io", "clusterroles"),
    }
    assert granted == called
    assert not any("*" in rule["verbs"] for rule in rules)


def test_what_must_not_be_lost_is_kept_unless_the_values_say_so() -> None:
    def kept(name: str) -> set[str]:
        return {
            item["metadata"]["name"]
            for item in rendered(name)
            if (item["metadata"].get("annotations") or {}).get("helm.sh/resource-policy") == "keep"
        }

    assert kept("trial") == {"tenants.sluice.sh"}
    assert kept("default") >= {"sluice-keys", "sluice-home", "sluice-uids-2", "sluice-ssh-host-key"}


@pytest.mark.parametrize(
    ("values", "words"),
    [
        (("slurm.maxNode=3",), "maxNode"),
        (("gateway.replicas=two",), "replicas"),
        (("slurm.confinement=cgroup-v1",), "confinement"),
        (("nodeSets[0].name=X", "nodeSets[0].kind=DaemonSet"), "nodeSets"),
        (("gateway.replicas=2",), "needs PostgreSQL"),
        (("slurm.external.enabled=true",), "slurm.external."),
    ],
)
def test_wrong_values_are_refused_with_their_name(values: tuple[str, ...], words: str) -> None:
    done = run("template", "sluice", str(CHART), *(part for value in values for part in ("--set", value)))
    assert done.returncode != 0
    assert words in done.stderr


def test_a_monitor_is_made_where_its_api_is_there() -> None:
    monitored: Any = run("template", "sluice", str(CHART), "--api-versions", "monitoring.coreos.com/v1")
    assert "kind: ServiceMonitor" in monitored.stdout
    assert "kind: PrometheusRule" in monitored.stdout
    assert not any(item["kind"] == "ServiceMonitor" for item in rendered("default"))
