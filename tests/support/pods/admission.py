"""Runs the chart's admission policies on objects, with the same CEL library as the bridge's.

What the API server does with them, as far as these policies go: match conditions, variables in order, JSON
patches of mutating policies, validations with their messages. Namespace selectors are looked at here by name
of the label alone.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import yaml
from cel_expr_python import cel
from cel_expr_python.ext import ext_bindings, ext_optional, ext_strings

from bridge.translate.cel import functions
from bridge.translate.world import KUBE_CONTROLLERS
from tests.support.pods.apiserver import Manifest
from tests.support.pods.controllers import OPERATORS
from tests.support.stack import CHECKOUT

POLICIES = CHECKOUT / "helm" / "sluice" / "files" / "admission"
BRIDGE = "system:serviceaccount:sluice-system:sluice-bridge"
CONTROLLERS = sorted(KUBE_CONTROLLERS | set(OPERATORS.values()))
PLACES = {
    '"@ACTIONS@"': "[Deny]",
    "@NAME@": "sluice",
    "@BRIDGE@": BRIDGE,
    "@SYSTEM@": "sluice-system",
    "@PREFIX@": "",
    "@CONTROLLERS@": str(CONTROLLERS),
}


@cache
def policies() -> tuple[Manifest, ...]:
    """Return all policies, as the chart would render them for a release named sluice."""
    found: list[Manifest] = []
    for path in sorted(POLICIES.glob("*.yaml")):
        text = path.read_text()
        for place, value in PLACES.items():
            text = text.replace(place, value)
        found += [item for item in yaml.safe_load_all(text) if not item["kind"].endswith("Binding")]
    return tuple(found)


@cache
def _environment() -> cel.Env:
    names = ("object", "oldObject", "request", "namespaceObject", "variables")
    escape = cel.Overload(
        "escape_key",
        return_type=cel.Type.STRING,
        parameters=[cel.Type.STRING],
        impl=lambda key: key.replace("~", "~0").replace("/", "~1"),
    )
    return cel.NewEnv(
        variables=dict.fromkeys(names, cel.Type.DYN),
        functions=[cel.FunctionDecl("escapeKey", [escape]), *functions()],
        extensions=[ext_strings.ExtStrings(), ext_optional.ExtOptional(), ext_bindings.ExtBindings()],
    )


@cache
def _compiled(expression: str) -> cel.Expression:
    # Kubernetes' own type for patches is a plain map here.
    plain = expression.replace("jsonpatch.escapeKey(", "escapeKey(").replace("JSONPatch{", "{")
    plain = re.sub(r"(?<=[{\s])(op|path|value): ", r"'\1': ", plain)
    return _environment().compile(plain)


@dataclass(frozen=True)
class Review:
    """One request to the API server."""

    item: Manifest
    user: str = "bo"
    operation: str = "CREATE"
    resource: str = "pods"
    old: Manifest | None = None
    groups: tuple[str, ...] = ("system:authenticated",)
    namespace: Manifest | None = None

    def variables(self) -> dict[str, Any]:
        resource, _, sub = self.resource.partition("/")
        return {
            "object": self.item,
            "oldObject": self.old,
            "request": {
                "operation": self.operation,
                "userInfo": {"username": self.user, "groups": list(self.groups)},
                "namespace": self.item["metadata"].get("namespace", ""),
                "kind": {"kind": self.item.get("kind", "")},
                "resource": {"resource": resource},
                "subResource": sub,
            },
            "namespaceObject": self.namespace or {"metadata": {}},
            "variables": {},
        }


def _evaluate(expression: str, variables: dict[str, Any]) -> Any:
    value = _compiled(expression).eval(data=variables)
    if value.type().name() == "*error*" or "ERROR" in value.type().name().upper():
        raise AssertionError(f"{expression}: {value.value()}")
    return value.plain_value()


def _matches(policy: Manifest, review: Review) -> bool:
    constraints = policy["spec"]["matchConstraints"]
    tenant = "sluice.sh/tenant" in ((review.namespace or {}).get("metadata", {}).get("labels") or {})
    for wanted in constraints.get("namespaceSelector", {}).get("matchExpressions", ()):
        if wanted["key"] == "sluice.sh/tenant" and (wanted["operator"] == "Exists") != tenant:
            return False
        if wanted["operator"] == "NotIn" and review.item["metadata"].get("namespace") in wanted["values"]:
            return False
    return any(
        review.resource in rule["resources"] and review.operation in rule["operations"]
        for rule in constraints["resourceRules"]
    )


def _prepared(policy: Manifest, review: Review) -> dict[str, Any] | None:
    """Return all variables of a policy, None when it doesn't look at the request."""
    if not _matches(policy, review):
        return None
    variables = review.variables()
    for condition in policy["spec"].get("matchConditions", ()):
        if not _evaluate(condition["expression"], variables):
            return None
    for variable in policy["spec"].get("variables", ()):
        variables["variables"][variable["name"]] = _evaluate(variable["expression"], variables)
    return variables


def mutate(review: Review) -> Manifest:
    """Return the object after all mutating policies."""
    item = copy.deepcopy(review.item)
    for policy in policies():
        if policy["kind"] != "MutatingAdmissionPolicy":
            continue
        for mutation in policy["spec"]["mutations"]:
            now = Review(**{**vars(review), "item": item})
            variables = _prepared(policy, now)
            if variables is not None:
                for patch in _evaluate(mutation["jsonPatch"]["expression"], variables):
                    _patch(item, patch)
    return item


def _patch(item: Manifest, patch: dict[str, Any]) -> None:
    assert patch["op"] == "add"
    *path, last = (part.replace("~1", "/").replace("~0", "~") for part in patch["path"].split("/")[1:])
    at: Any = item
    for part in path:
        at = at[int(part)] if isinstance(at, list) else at[part]
    if isinstance(at, list):
        assert last == "-"
        at.append(patch["value"])
    else:
        at[last] = patch["value"]


def refusals(review: Review) -> Iterator[str]:
    """Yield the message of each validation that fails."""
    for policy in policies():
        variables = _prepared(policy, review) if policy["kind"] == "ValidatingAdmissionPolicy" else None
        if variables is None:
            continue
        for validation in policy["spec"]["validations"]:
            if not _evaluate(validation["expression"], variables):
                if "messageExpression" in validation:
                    yield _evaluate(validation["messageExpression"], variables)
                else:
                    yield validation["message"]


def admit(review: Review) -> tuple[Manifest, tuple[str, ...]]:
    """Mutate, then validate."""
    item = mutate(review)
    return item, tuple(refusals(Review(**{**vars(review), "item": item})))
