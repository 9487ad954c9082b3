"""A tenant's namespaces: made, repaired, closed when they leave, never taken from somebody else."""

from __future__ import annotations

from typing import Any

import pytest

from bridge.kube.fake import FakeCluster
from bridge.kube.kinds import NAMESPACE, NETWORK_POLICY, QUOTA, ROLE_BINDING, section
from bridge.policy.tenant import Tenant
from bridge.tenants.namespaces import FORMER_LABEL, TENANT_LABEL, NamespaceRules
from bridge.tenants.namespaces_flow import Namespaces


def tenant(name: str, *namespaces: str, **more: Any) -> Tenant:
    members = more.pop("members", [{"user": "ada", "role": "manager"}, {"user": "bela"}])
    flavors = {"h100": {"limit": 4}, "a100": {"limit": 2}}
    return Tenant.model_validate(
        {"name": name, "namespaces": namespaces, "members": members, "flavors": flavors, **more}
    )


@pytest.fixture
def cluster() -> FakeCluster:
    return FakeCluster()


@pytest.fixture
def namespaces(cluster: FakeCluster) -> Namespaces:
    return Namespaces(cluster, NamespaceRules(user_prefix="oidc:"))


def test_a_namespace_gets_its_tenant_quota_roles_and_walls(
    cluster: FakeCluster, namespaces: Namespaces
) -> None:
    assert namespaces.reconcile([tenant("astro", "astro-jobs")]) == {}
    made = cluster.get(NAMESPACE, "astro-jobs")
    assert made is not None
    assert section(made, "metadata", "labels")[TENANT_LABEL] == "astro"
    assert section(made, "metadata", "annotations")["sluice.sh/default-class"] == "training"
    quota = cluster.get(QUOTA, "sluice", namespace="astro-jobs")
    assert quota is not None
    assert section(quota, "spec", "hard") == {"requests.nvidia.com/gpu": "6"}
    bindings: Any = {item["metadata"]["name"]: item for item in cluster.list(ROLE_BINDING)}  # type: ignore[index,call-overload]
    assert bindings["sluice-manager"]["roleRef"]["name"] == "admin"
    assert [each["name"] for each in bindings["sluice-member"]["subjects"]] == ["oidc:bela"]
    policy = cluster.get(NETWORK_POLICY, "sluice", namespace="astro-jobs")
    assert policy is not None
    assert section(policy, "spec")["policyTypes"] == ["Ingress"]


def test_a_second_pass_writes_nothing_and_drift_is_repaired(
    cluster: FakeCluster, namespaces: Namespaces
) -> None:
    one = tenant("astro", "astro-jobs")
    namespaces.reconcile([one])
    cluster.calls.clear()
    namespaces.reconcile([one])
    assert {verb for verb, _, _ in cluster.calls} == {"list"}
    hard = {"requests.nvidia.com/gpu": "99", "pods": "1"}
    cluster.patch(QUOTA, "sluice", {"spec": {"hard": hard}}, namespace="astro-jobs")  # type: ignore[dict-item]
    cluster.patch(ROLE_BINDING, "sluice-member", {"subjects": []}, namespace="astro-jobs")
    cluster.delete(NETWORK_POLICY, "sluice", namespace="astro-jobs")
    cluster.patch(NAMESPACE, "astro-jobs", {"metadata": {"annotations": {"sluice.sh/classes": "production"}}})
    namespaces.reconcile([one])
    quota = cluster.get(QUOTA, "sluice", namespace="astro-jobs")
    assert quota is not None
    assert section(quota, "spec", "hard") == {"requests.nvidia.com/gpu": "6"}
    binding = cluster.get(ROLE_BINDING, "sluice-member", namespace="astro-jobs")
    assert binding is not None
    assert binding["subjects"] != []
    assert cluster.get(NETWORK_POLICY, "sluice", namespace="astro-jobs") is not None
    cluster.calls.clear()
    namespaces.reconcile([one])
    assert {verb for verb, _, _ in cluster.calls} == {"list"}


def test_somebody_elses_namespace_is_left_alone_until_it_is_handed_over(
    cluster: FakeCluster, namespaces: Namespaces
) -> None:
    cluster.create(NAMESPACE, {"metadata": {"name": "web"}})
    found = namespaces.reconcile([tenant("astro", "web"), tenant("genomics", "genes")])
    assert "kubectl label namespace web sluice.sh/tenant=astro" in found["astro"]
    assert cluster.list(QUOTA, namespace="web") == []
    assert cluster.get(QUOTA, "sluice", namespace="genes") is not None
    cluster.patch(NAMESPACE, "web", {"metadata": {"labels": {TENANT_LABEL: "astro"}}})
    assert namespaces.reconcile([tenant("astro", "web")]) == {}
    assert cluster.get(QUOTA, "sluice", namespace="web") is not None


def test_a_namespace_that_leaves_is_closed_and_kept(cluster: FakeCluster, namespaces: Namespaces) -> None:
    namespaces.reconcile([tenant("astro", "astro-jobs")])
    namespaces.reconcile([tenant("astro")])
    left = cluster.get(NAMESPACE, "astro-jobs")
    assert left is not None
    labels = section(left, "metadata", "labels")
    assert TENANT_LABEL not in labels
    assert labels[FORMER_LABEL] == "astro"
    assert cluster.list(ROLE_BINDING) == []
    quota = cluster.get(QUOTA, "sluice", namespace="astro-jobs")
    assert quota is not None
    assert section(quota, "spec", "hard") == {"requests.nvidia.com/gpu": "0"}
    cluster.calls.clear()
    namespaces.reconcile([tenant("astro")])
    assert {verb for verb, _, _ in cluster.calls} == {"list"}


def test_another_tenants_namespace_is_a_conflict(cluster: FakeCluster, namespaces: Namespaces) -> None:
    namespaces.reconcile([tenant("astro", "shared")])
    found = namespaces.reconcile([tenant("genomics", "shared"), tenant("astro", "shared")])
    assert "tenant astro's" in found["genomics"]
