"""The custom resource definition: as committed, structural, and with every field of the document."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bridge.policy.tenant import Tenant
from bridge.policy.tenant_resource import definition, definition_text

COMMITTED = Path(__file__).parents[3] / "helm" / "sluice" / "files" / "tenants.crd.yaml"


def schemas(schema: Any) -> Iterator[dict[str, Any]]:
    yield schema
    for each in (schema.get("properties") or {}).values():
        yield from schemas(each)
    for name in ("items", "additionalProperties"):
        if name in schema:
            yield from schemas(schema[name])


def test_the_committed_definition_is_the_models() -> None:
    assert COMMITTED.read_text() == definition_text(), "python -m bridge.policy.tenant_resource > " + str(
        COMMITTED
    )


def test_the_schema_is_structural_and_without_defaults() -> None:
    version: Any = definition()["spec"]["versions"][0]  # type: ignore[index,call-overload]
    whole = version["schema"]["openAPIV3Schema"]
    for each in schemas(whole):
        assert "type" in each or each.get("x-kubernetes-preserve-unknown-fields") is True, each
        assert not {"$ref", "anyOf", "title", "default", "const", "patternProperties"} & each.keys(), each
        assert not ("properties" in each and "additionalProperties" in each), each
        assert each.get("type") != "array" or "maxItems" in each or "x-kubernetes-list-type" in each, each
    assert set(whole["properties"]["spec"]["properties"]) == Tenant.model_fields.keys() - {"name"}
