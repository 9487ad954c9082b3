"""The test cluster's API server: policies, identities, the audit log, and the tools beside it."""

from __future__ import annotations

import base64
import json
import uuid

import pytest

from tests.support.kube import Cluster, Namespace, pod
from tests.support.stack import Json
from tests.support.waiting import wait_for

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(300)]

ISSUER = "https://kubernetes.default.svc.cluster.local"


def test_policies_without_a_server_stamp_and_refuse(cluster: Cluster, namespace: Namespace) -> None:
    name = f"stamp-{uuid.uuid4().hex[:8]}"
    here = {"matchLabels": {"kubernetes.io/metadata.name": namespace.name}}
    rules = [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}]
    constraints = {"resourceRules": rules, "namespaceSelector": here}
    annotations = '{"sluice.sh/requested-by": request.userInfo.username}'
    stamp = f"Object{{metadata: Object.metadata{{annotations: {annotations}}}}}"
    objects: list[Json] = [
        {
            "apiVersion": "admissionregistration.k8s.io/v1",
            "kind": "MutatingAdmissionPolicy",
            "metadata": {"name": name},
            "spec": {
                "matchConstraints": constraints,
                "reinvocationPolicy": "Never",
                "mutations": [
                    {"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": stamp}}
                ],
            },
        },
        {
            "apiVersion": "admissionregistration.k8s.io/v1",
            "kind": "MutatingAdmissionPolicyBinding",
            "metadata": {"name": name},
            "spec": {"policyName": name},
        },
        {
            "apiVersion": "admissionregistration.k8s.io/v1",
            "kind": "ValidatingAdmissionPolicy",
            "metadata": {"name": name},
            "spec": {
                "matchConstraints": constraints,
                "validations": [
                    {
                        "expression": "!has(object.spec.hostNetwork) || !object.spec.hostNetwork",
                        "message": "host networks are not for tenants",
                    }
                ],
            },
        },
        {
            "apiVersion": "admissionregistration.k8s.io/v1",
            "kind": "ValidatingAdmissionPolicyBinding",
            "metadata": {"name": name},
            "spec": {"policyName": name, "validationActions": ["Deny"]},
        },
    ]
    cluster.apply(*objects)
    try:

        def refused() -> bool:
            # Anew each time: a pod that came in before the policy was in force is not created again.
            namespace.kubectl("delete", "pod", "host", "--ignore-not-found", "--now")
            said = namespace.apply(pod("host", hostNetwork=True), check=False).text
            return "host networks are not for tenants" in said

        wait_for(refused, "the validating policy refuses", every_s=1)

        def stamped() -> str:
            namespace.kubectl("delete", "pod", "plain", "--ignore-not-found", "--now")
            namespace.apply(pod("plain"))
            found: Json = namespace.get("pod", "plain")["metadata"].get("annotations", {})
            return str(found.get("sluice.sh/requested-by", ""))

        assert wait_for(stamped, "the mutating policy stamps", every_s=1) == "admin"
    finally:
        for one in objects:
            cluster.kubectl("delete", one["kind"], name, "--ignore-not-found")


def test_a_service_accounts_token_names_an_issuer_whose_keys_can_be_read(
    cluster: Cluster, namespace: Namespace
) -> None:
    token = namespace.kubectl("create", "token", "default", "--audience", "sluice").stdout.strip()
    part = token.split(".")[1]
    claims = json.loads(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)))
    assert claims["aud"] == ["sluice"]
    assert claims["sub"] == f"system:serviceaccount:{namespace.name}:default"
    found = json.loads(cluster.kubectl("get", "--raw", "/.well-known/openid-configuration").stdout)
    assert claims["iss"] == found["issuer"] == ISSUER
    keys = json.loads(cluster.kubectl("get", "--raw", "/openid/v1/jwks").stdout)["keys"]
    header = token.split(".")[0]
    kid = json.loads(base64.urlsafe_b64decode(header + "=" * (-len(header) % 4)))["kid"]
    assert kid in {key["kid"] for key in keys}


def test_every_request_is_in_the_audit_log_with_its_author_and_answer(
    own_cluster: Cluster, namespace: Namespace
) -> None:
    who = ("--as", f"system:serviceaccount:{namespace.name}:default")
    refused = namespace.kubectl("get", "secrets", *who, check=False)
    assert refused.returncode != 0

    def noted() -> bool:
        return any(
            entry.get("impersonatedUser", {}).get("username") == who[1]
            and entry["verb"] == "list"
            and entry["objectRef"]["resource"] == "secrets"
            and entry["responseStatus"]["code"] == 403
            for entry in own_cluster.audit()
        )

    wait_for(noted, "the refused request is in the audit log")


def test_helm_and_kubectl_speak_to_it(cluster: Cluster) -> None:
    assert cluster.helm("version", "--short").stdout.startswith("v4.")
    version = json.loads(cluster.kubectl("version", "-o", "json").stdout)
    assert version["serverVersion"]["gitVersion"].startswith("v1.37.")
    if cluster.stack:
        assert version["clientVersion"]["gitVersion"] == version["serverVersion"]["gitVersion"]


def test_kwok_is_beside_it(own_cluster: Cluster) -> None:
    node = own_cluster.nodes()[0]
    assert "0." in own_cluster.node_exec(node, "kwok", "--version").stdout
