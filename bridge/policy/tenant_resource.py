"""The custom resource definition of `Tenant`, generated from the document's model.

Pure. What flows in: `bridge.policy.tenant`. What flows out: a CustomResourceDefinition (apiextensions v1)
with a structural schema. The committed copy is ``helm/sluice/files/tenants.crd.yaml``; write it again with::

    python -m bridge.policy.tenant_resource > helm/sluice/files/tenants.crd.yaml

No defaults: what nobody wrote stays unwritten, as in a file. What a schema can't say is said by rules (CEL),
or by the bridge in the status.
"""

from __future__ import annotations

import sys
from typing import Final

import yaml
from pydantic import JsonValue

from bridge.policy.tenant import RESERVED_NAMES, TENANT_NAME, Tenant

Schema = dict[str, JsonValue]

MOST_MEMBERS: Final = 5_000
MOST_FLAVORS: Final = 64
MOST_OTHERS: Final = 256
"""Longest lists: API servers price each rule by what it could cost at most."""

_DROPPED: Final = frozenset(
    {"title", "default", "additionalProperties", "patternProperties", "propertyNames"}
)
_ANY: Final = "x-kubernetes-preserve-unknown-fields"
"""Stands for an amount that is a number or a text; the bridge reads it exactly, no float between."""
_KEPT: Final = frozenset(
    {"type", "description", "enum", "pattern", "format", "minLength", "maxLength", "minItems", "maxItems"}
    | {"minimum", "maximum", "required", "not"}
)

_COLUMNS: Final = (
    ("Parent", ".spec.parent", "string", 0),
    ("Weight", ".spec.weight", "integer", 0),
    ("GPUs", ".status.gpus", "string", 0),
    ("Ready", '.status.conditions[?(@.type=="Ready")].status', "string", 0),
    ("Reason", '.status.conditions[?(@.type=="Ready")].reason', "string", 0),
    ("Message", '.status.conditions[?(@.type=="Ready")].message', "string", 1),
    ("Age", ".metadata.creationTimestamp", "date", 0),
)


def definition() -> Schema:
    """Return the definition."""
    columns: list[JsonValue] = [
        {"name": name, "jsonPath": path, "type": kind, "priority": priority}
        for name, path, kind, priority in _COLUMNS
    ]
    names: Schema = {
        "kind": "Tenant",
        "listKind": "TenantList",
        "plural": "tenants",
        "singular": "tenant",
        "categories": ["sluice"],
    }
    version: Schema = {
        "name": "v1alpha1",
        "served": True,
        "storage": True,
        "subresources": {"status": {}},
        "additionalPrinterColumns": columns,
        "schema": {"openAPIV3Schema": _whole()},
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "tenants.sluice.sh"},
        "spec": {"group": "sluice.sh", "scope": "Cluster", "names": names, "versions": [version]},
    }


def _whole() -> Schema:
    reserved = ", ".join(f"'{name}'" for name in sorted(RESERVED_NAMES))
    rules: list[JsonValue] = [
        {
            "rule": f"self.metadata.name.matches('{TENANT_NAME}')",
            "message": "the name must be lower-case letters, digits and dashes, a letter first, at most 30",
        },
        {"rule": f"!(self.metadata.name in [{reserved}])", "message": "the name is reserved"},
        {
            "rule": "!has(self.spec.parent) || self.spec.parent != self.metadata.name",
            "message": "parent is the tenant itself",
        },
    ]
    return {
        "type": "object",
        "description": "A tenant of Sluice: who they are, what they share, what they may use.",
        "required": ["spec"],
        "x-kubernetes-validations": rules,
        "properties": {
            "apiVersion": {"type": "string"},
            "kind": {"type": "string"},
            "metadata": {"type": "object"},
            "spec": _spec(),
            "status": _status(),
        },
    }


def _spec() -> Schema:
    schema: Schema = Tenant.model_json_schema()
    found = schema.get("$defs")
    spec = _structural(schema, found if isinstance(found, dict) else {})
    properties = spec["properties"]
    assert isinstance(properties, dict)  # noqa: S101 - a model has fields; for the type checker
    del properties["name"]
    spec.pop("required", None)
    _rule(
        properties["classes"],
        "!has(self.default) || !has(self.allowed) || self.default in self.allowed",
        "default is not among allowed",
    )
    flavors = properties["flavors"]
    if isinstance(flavors, dict):
        flavors["maxProperties"] = MOST_FLAVORS
        _rule(
            flavors["additionalProperties"],
            "!has(self.guarantee) || self.guarantee <= self.limit",
            "guarantee is above limit",
        )
    return spec


def _status() -> Schema:
    texts = ("type", "status", "reason", "message", "lastTransitionTime")
    condition: dict[str, JsonValue] = {name: {"type": "string"} for name in texts}
    condition["observedGeneration"] = {"type": "integer", "format": "int64"}
    return {
        "type": "object",
        "description": "What is in force; written by the bridge alone.",
        "properties": {
            "observedGeneration": {"type": "integer", "format": "int64"},
            "account": {"type": "string", "description": "The tenant's account in Slurm."},
            "gpus": {"type": "string", "description": "Limits by flavor, for people."},
            "document": {
                "type": "object",
                "description": "The spec accepted last: what is in force while a newer one is refused.",
                "x-kubernetes-preserve-unknown-fields": True,
            },
            "conditions": {
                "type": "array",
                "x-kubernetes-list-type": "map",
                "x-kubernetes-list-map-keys": ["type"],
                "items": {"type": "object", "required": ["type", "status"], "properties": condition},
            },
        },
    }


def _rule(schema: JsonValue, rule: str, message: str) -> None:
    if isinstance(schema, dict):
        schema["x-kubernetes-validations"] = [{"rule": rule, "message": message}]


def _structural(schema: JsonValue, models: Schema) -> Schema:
    """Return a schema as apiextensions takes it: no references, no null, no `additionalProperties: false`."""
    if not isinstance(schema, dict):
        raise TypeError(f"not a schema: {schema!r}")
    whole = _resolved(schema, models)
    found: Schema = {name: value for name, value in whole.items() if name in _KEPT}
    unknown = (
        whole.keys()
        - _KEPT
        - _DROPPED
        - {"properties", "items", "$defs", "$schema", "const", "exclusiveMinimum", _ANY}
    )
    if unknown:
        raise TypeError(f"no custom resource can say {sorted(unknown)}; extend bridge.policy.tenant_resource")
    if "const" in whole:
        found["enum"] = [whole["const"]]
    properties = whole.get("properties")
    if isinstance(properties, dict):
        found["properties"] = {name: _structural(value, models) for name, value in properties.items()}
    if "items" in whole:
        found["items"] = _structural(whole["items"], models)
        found.setdefault("maxItems", MOST_MEMBERS if "user" in str(found["items"]) else MOST_OTHERS)
    values = _values(whole)
    if values is not None:
        found["additionalProperties"] = _structural(values, models)
    if "exclusiveMinimum" in whole:
        found |= {"minimum": whole["exclusiveMinimum"], "exclusiveMinimum": True}
    if _ANY in whole:
        found[_ANY] = True
    if found.get("type") == "integer":
        found["format"] = "int64"
    return found


def _values(schema: Schema) -> JsonValue:
    """Return the schema of a map's values, None when it is no map."""
    patterns = schema.get("patternProperties")
    if isinstance(patterns, dict) and patterns:
        return next(iter(patterns.values()))
    values = schema.get("additionalProperties")
    return values if isinstance(values, dict) else None


def _resolved(schema: Schema, models: Schema) -> Schema:
    """Follow a reference, and take the one that isn't null of two."""
    choices = schema.get("anyOf")
    if isinstance(choices, list):
        real = [each for each in choices if each != {"type": "null"}]
        if {each.get("type") for each in real if isinstance(each, dict)} == {"number", "string"}:
            return {_ANY: True, **({"description": schema["description"]} if "description" in schema else {})}
        if len(real) != 1 or not isinstance(real[0], dict):
            raise TypeError(f"no custom resource can choose among {choices}")
        others = {name: value for name, value in schema.items() if name != "anyOf"}
        return {**_resolved(real[0], models), **others}
    reference = schema.get("$ref")
    if isinstance(reference, str):
        model = models[reference.rsplit("/", 1)[-1]]
        others = {name: value for name, value in schema.items() if name != "$ref"}
        return {**(model if isinstance(model, dict) else {}), **others}
    return schema


def definition_text() -> str:
    """Return the definition as the committed file has it."""
    head = "# Generated by `python -m bridge.policy.tenant_resource`; a test compares.\n"
    return head + yaml.safe_dump(definition(), sort_keys=False, allow_unicode=True, width=110)


if __name__ == "__main__":
    sys.stdout.write(definition_text())
