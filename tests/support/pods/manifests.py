"""Manifests in short, for tests of the pod door."""

from __future__ import annotations

from typing import Any

from bridge.translate.verdict import Placement, Refuse, Verdict, Wait
from tests.support.pods.scene import Scene

Json = dict[str, Any]
H = {"h1", "h2", "h4"}
A = {"a1", "a2"}


def container(name: str = "train", *, gpus: int | str = 1, **fields: Any) -> Json:
    limits: Json = fields.pop("limits", {"nvidia.com/gpu": gpus})
    requests = fields.pop("requests", {"cpu": 2, "memory": "4Gi"})
    return {
        "name": name,
        "resources": {"requests": requests, "limits": limits, **fields.pop("extra", {})},
        **fields,
    }


def pod(
    *containers: Json, namespace: str = "vega-train", name: str = "p", meta: Json | None = None, **spec: Any
) -> Json:
    return {
        "kind": "Pod",
        "metadata": {"name": name, "namespace": namespace, **(meta or {})},
        "spec": {"containers": [*containers] or [container()], **spec},
    }


def answer(*manifests: Json) -> Verdict:
    return Scene(manifests).verdicts[0]


def placed(*manifests: Json) -> Placement:
    verdict = answer(*manifests)
    assert isinstance(verdict, Placement), verdict
    return verdict


def rule(*manifests: Json) -> str:
    verdict = answer(*manifests)
    assert isinstance(verdict, Refuse | Wait), verdict
    return f"{type(verdict).__name__.lower()} {verdict.rule}"


def affinity(*expressions: Json, fields: tuple[Json, ...] = (), terms: list[Json] | None = None) -> Json:
    term: Json = {"matchExpressions": [*expressions]}
    if fields:
        term["matchFields"] = [*fields]
    return {
        "nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms or [term]}
        }
    }


def expression(key: str, operator: str, *values: str) -> Json:
    return {"key": key, "operator": operator, "values": [*values]}


def template(name: str, *requests: Json, **devices: Any) -> Json:
    return {
        "kind": "ResourceClaimTemplate",
        "metadata": {"name": name, "namespace": "vega-train"},
        "spec": {"spec": {"devices": {"requests": [*requests], **devices}}},
    }


def by_claim(name: str = "t", namespace: str = "vega-train") -> Json:
    return pod(
        container(limits={}, extra={"claims": [{"name": "accel"}]}),
        namespace=namespace,
        resourceClaims=[{"name": "accel", "resourceClaimTemplateName": name}],
    )


def request(name: str = "gpu", **fields: Any) -> Json:
    return {"name": name, "exactly": {"deviceClassName": "gpu.nvidia.com", **fields}}


def cel(text: str) -> list[Json]:
    return [{"cel": {"expression": text}}]
