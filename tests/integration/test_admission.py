"""The chart's admission policies on a real API server: each case as its user makes it, and what stays frozen.

Needs a cluster of 1.37 or newer, named by KUBECONFIG_TEST. The policies are scoped to two namespaces of
their own, so that nobody else's pods meet them; pods are made by dry run, but for one Job.
"""

from __future__ import annotations

import copy
import os
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import pytest
import yaml
from kubernetes import client, config, dynamic
from kubernetes.client.exceptions import ApiException

from bridge.translate.verdict import Refuse
from tests.support.pods.admission import PLACES, POLICIES
from tests.support.pods.apiserver import Manifest
from tests.support.pods.scene import DATA, documents
from tests.support.waiting import wait_for
from tests.unit.translate.test_admission import AT_THE_DOOR, STAMP
from tests.unit.translate.test_cases import REACHED, scene_of

KUBECONFIG = os.environ.get("KUBECONFIG_TEST", "")
pytestmark = pytest.mark.skipif(not KUBECONFIG, reason="KUBECONFIG_TEST names no cluster")
LABEL = "sluice.sh/policies-under-test"


@dataclass(frozen=True)
class Cluster:
    """A cluster with the policies in force for two namespaces."""

    inside: str
    outside: str
    admin: Any
    user: Any

    def refusal(self, manifest: Manifest) -> str | None:
        """Make a pod as its user, by dry run; return why it is refused."""
        item = copy.deepcopy(manifest)
        where = self.outside if item["metadata"]["namespace"] == "tools" else self.inside
        item["metadata"]["namespace"] = where
        try:
            self.kind("Pod", self.user).create(body=item, namespace=where, dry_run="All")
        except ApiException as error:
            return str(error.body)
        return None

    def kind(self, name: str, who: Any, group: str = "v1") -> Any:
        return who.resources.get(api_version=group, kind=name)


def rendered(name: str, *, inside: str, outside: str) -> Iterator[Manifest]:
    """Yield the policies under a name of their own, for two namespaces alone."""
    for path in sorted(POLICIES.glob("*.yaml")):
        text = path.read_text()
        for place, value in {**PLACES, "@NAME@": name}.items():
            text = text.replace(place, value)
        for item in yaml.safe_load_all(text):
            constraints = item["spec"].get("matchConstraints")
            if constraints:
                wanted = constraints["namespaceSelector"]["matchExpressions"][0]["operator"]
                where = inside if wanted == "Exists" else outside
                constraints["namespaceSelector"] = {"matchLabels": {LABEL: where}}
            yield item


def freed(core: Any, namespace: str) -> bool:
    try:
        for left in core.list_namespaced_pod(namespace).items:
            core.patch_namespaced_pod(left.metadata.name, namespace, {"metadata": {"finalizers": None}})
    except ApiException:
        return False
    return True


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    mark = uuid.uuid4().hex[:8]
    connect: Any = config.new_client_from_config
    api, as_user = connect(KUBECONFIG), connect(KUBECONFIG)
    as_user.set_default_header("Impersonate-User", "bo")
    dynamic_client: Any = dynamic.DynamicClient
    admin, user = dynamic_client(api), dynamic_client(as_user)
    found = Cluster(f"policies-in-{mark}", f"policies-out-{mark}", admin, user)
    policies = list(rendered(f"under-test-{mark}", inside=found.inside, outside=found.outside))
    core: Any = client.CoreV1Api(api)
    rbac: Any = client.RbacAuthorizationV1Api(api)
    try:
        for name in (found.inside, found.outside):
            notes = {"sluice.sh/classes": "training,development,batch,production"}
            meta = {"name": name, "labels": {LABEL: name}, "annotations": notes}
            core.create_namespace({"metadata": meta})
            role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "admin"}
            subject = {"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "bo"}
            rbac.create_namespaced_role_binding(
                name, {"metadata": {"name": "bo"}, "roleRef": role, "subjects": [subject]}
            )
        for item in policies:
            found.kind(item["kind"], admin, item["apiVersion"]).create(body=item)
        (bad,) = documents(DATA / "manifests" / "241-privileged-with-gpu.yaml")
        wait_for(lambda: "would see every GPU" in (found.refusal(bad) or ""), "the policies are in force")
        (stray,) = documents(DATA / "manifests" / "069-gpu-outside-tenants.yaml")
        wait_for(lambda: "belongs to no tenant" in (found.refusal(stray) or ""), "the pool is closed")
        yield found
    finally:
        for item in policies:
            found.kind(item["kind"], admin, item["apiVersion"]).delete(name=item["metadata"]["name"])
        for name in (found.inside, found.outside):
            # The policies go on for a moment after they are deleted.
            wait_for(partial(freed, core, name), f"pods of {name} are freed")
            core.delete_namespace(name)


def test_each_case_is_judged_as_the_translation_judges_it(cluster: Cluster) -> None:
    judged = 0
    for row in REACHED:
        written = [
            item for item in documents(DATA / "manifests" / f"{row['case']}.yaml") if item["kind"] == "Pod"
        ]
        for item, verdict in zip(written, scene_of(row).verdicts, strict=False):
            if item["spec"].get("priorityClassName") or item["spec"].get("runtimeClassName"):
                continue  # objects that a cluster for tests need not have
            refused = cluster.refusal(item)
            expected = isinstance(verdict, Refuse) and verdict.rule.startswith(AT_THE_DOOR)
            assert (refused is not None) == expected, (row["case"], verdict, refused)
            judged += 1
    assert judged > 70


def test_a_jobs_pod_says_who_made_it_and_keeps_what_is_ours(cluster: Cluster) -> None:
    (job,) = copy.deepcopy(documents(DATA / "manifests" / "251-stamp-in-template.yaml"))
    job["metadata"]["namespace"] = cluster.inside
    jobs, pods = cluster.kind("Job", cluster.user, "batch/v1"), cluster.kind("Pod", cluster.user)
    made = jobs.create(body=job, namespace=cluster.inside)
    assert made.metadata.annotations[STAMP] == "bo"

    def first() -> Any:
        return next(iter(pods.get(namespace=cluster.inside).items), None)

    wait_for(lambda: first() is not None, "the Job has its pod")
    found = first()
    assert found.metadata.annotations[STAMP] == "system:serviceaccount:kube-system:job-controller"
    assert found.spec.schedulerName == "sluice"
    assert "sluice.sh/placement" in found.metadata.finalizers
    for change in (
        {"annotations": {"sluice.sh/job-id": "4711"}},
        {"labels": {"sluice.sh/tenant": "lyra"}},
        {"finalizers": None},
    ):
        with pytest.raises(ApiException) as refused:
            pods.patch(
                body={"metadata": change},
                name=found.metadata.name,
                namespace=cluster.inside,
                content_type="application/merge-patch+json",
            )
        assert "sluice.sh" in str(refused.value.body)
    jobs.delete(name=made.metadata.name, namespace=cluster.inside, propagation_policy="Background")
