"""A tenant's namespaces: what should be there, what is, and the steps between.

Pure. What flows in: documents, the objects of the cluster. What flows out: steps. A namespace belongs to the
tenant that its label ``sluice.sh/tenant`` names; one that exists without the label is somebody else's, and is
never touched. A namespace that leaves a tenant stays with all that is in it, closed: no member, no GPU.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal

from pydantic import JsonValue

from bridge.kube.kinds import (
    NAMESPACE,
    NETWORK_POLICY,
    QUOTA,
    ROLE_BINDING,
    Kind,
    Object,
    metadata,
    name_of,
    section,
    text,
)
from bridge.policy.tenant import Role, Tenant

TENANT_LABEL: Final = "sluice.sh/tenant"
FORMER_LABEL: Final = "sluice.sh/former-tenant"
CLASSES: Final = "sluice.sh/classes"
DEFAULT_CLASS: Final = "sluice.sh/default-class"
MANAGED: Final[Mapping[str, JsonValue]] = {"app.kubernetes.io/managed-by": "sluice"}
NAME: Final = "sluice"
"""Of the quota and the network policy in each namespace."""

Verb = Literal["create", "change", "delete"]


@dataclass(frozen=True, slots=True, kw_only=True)
class NamespaceRules:
    """What a site may choose.

    `gpu_resources` are the extended resources that count as GPUs; `roles` the ClusterRole of each role of a
    member; `user_prefix` stands before user names where the API server's OIDC settings put one.
    """

    gpu_resources: tuple[str, ...] = ("nvidia.com/gpu",)
    roles: Mapping[Role, str] = field(default_factory=lambda: {"member": "edit", "manager": "admin"})
    user_prefix: str = ""


@dataclass(frozen=True, slots=True)
class Step:
    """One write."""

    verb: Verb
    kind: Kind
    namespace: str
    item: Object


@dataclass(frozen=True, slots=True)
class Present:
    """The cluster's objects: every namespace that concerns us, and what of ours is in them."""

    namespaces: Sequence[Object] = ()
    objects: Mapping[Kind, Sequence[Object]] = field(default_factory=dict)

    def namespace(self, name: str) -> Object | None:
        """Return a namespace."""
        return next((item for item in self.namespaces if name_of(item) == name), None)

    def find(self, kind: Kind, namespace: str, name: str) -> Object | None:
        """Return an object of ours."""
        return next(
            (
                item
                for item in self.objects.get(kind, ())
                if name_of(item) == name and text(item, "metadata", "namespace") == namespace
            ),
            None,
        )


def steps(
    tenants: Iterable[Tenant], present: Present, rules: NamespaceRules
) -> tuple[tuple[Step, ...], Mapping[str, str]]:
    """Compare; returns the steps in their order, and tenant to what keeps its namespaces from being right."""
    found: list[Step] = []
    problems: dict[str, str] = {}
    wanted: set[str] = set()
    for tenant in tenants:
        for name in tenant.namespaces:
            there = present.namespace(name)
            problem = _problem(tenant.name, name, there)
            if problem:
                problems.setdefault(tenant.name, problem)
                continue
            wanted.add(name)
            found.extend(_kept(NAMESPACE, "", _namespace(tenant, name), there))
            for kind, item in _inside(tenant, name, rules):
                found.extend(_kept(kind, name, item, present.find(kind, name, name_of(item))))
    for item in present.namespaces:
        if name_of(item) not in wanted and text(item, "metadata", "labels", TENANT_LABEL):
            found.extend(_left(item, present, rules))
    return tuple(found), problems


def _problem(tenant: str, name: str, there: Object | None) -> str:
    if there is None:
        return ""
    owner = text(there, "metadata", "labels", TENANT_LABEL)
    if text(there, "metadata", "deletionTimestamp"):
        return f"namespace {name} is being deleted; it is made anew when it is gone"
    if not owner:
        return (
            f"namespace {name} was there before; hand it over with"
            f" `kubectl label namespace {name} {TENANT_LABEL}={tenant}`, or choose another name"
        )
    if owner != tenant:
        return f"namespace {name} is tenant {owner}'s; take it out of that document first"
    return ""


def _namespace(tenant: Tenant, name: str) -> Object:
    return {
        "metadata": {
            "name": name,
            "labels": {**MANAGED, TENANT_LABEL: tenant.name},
            "annotations": {
                CLASSES: ",".join(tenant.classes.allowed),
                DEFAULT_CLASS: tenant.classes.default,
            },
        }
    }


def _inside(tenant: Tenant, namespace: str, rules: NamespaceRules) -> Iterator[tuple[Kind, Object]]:
    total = sum(grant.limit for grant in tenant.flavors.values())
    yield QUOTA, _quota(namespace, total, rules)
    yield NETWORK_POLICY, _network_policy(tenant.name, namespace)
    for role, cluster_role in rules.roles.items():
        users = sorted(member.user for member in tenant.members if member.role == role)
        yield ROLE_BINDING, _role_binding(namespace, role, cluster_role, users, rules)


def _quota(namespace: str, gpus: int, rules: NamespaceRules) -> Object:
    hard: dict[str, JsonValue] = {f"requests.{name}": str(gpus) for name in rules.gpu_resources}
    return {"metadata": _meta(namespace, NAME), "spec": {"hard": hard}}


def _network_policy(tenant: str, namespace: str) -> Object:
    """Pods hear from the tenant's own namespaces, and from nobody else's."""
    own: JsonValue = {"namespaceSelector": {"matchLabels": {TENANT_LABEL: tenant}}}
    return {
        "metadata": _meta(namespace, NAME),
        "spec": {"podSelector": {}, "policyTypes": ["Ingress"], "ingress": [{"from": [own]}]},
    }


def _role_binding(
    namespace: str, role: Role, cluster_role: str, users: Sequence[str], rules: NamespaceRules
) -> Object:
    group = "rbac.authorization.k8s.io"
    subjects: list[JsonValue] = [
        {"apiGroup": group, "kind": "User", "name": f"{rules.user_prefix}{user}"} for user in users
    ]
    return {
        "metadata": _meta(namespace, f"{NAME}-{role}"),
        "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": cluster_role},
        "subjects": subjects,
    }


def _meta(namespace: str, name: str) -> dict[str, JsonValue]:
    return {"name": name, "namespace": namespace, "labels": dict(MANAGED)}


def _left(item: Object, present: Present, rules: NamespaceRules) -> Iterator[Step]:
    """Close a namespace that no document names any more; its label goes last, so that a crash is mended."""
    name = name_of(item)
    for binding in present.objects.get(ROLE_BINDING, ()):
        if text(binding, "metadata", "namespace") == name:
            yield Step("delete", ROLE_BINDING, name, binding)
    yield from _kept(QUOTA, name, _quota(name, 0, rules), present.find(QUOTA, name, NAME))
    former = text(item, "metadata", "labels", TENANT_LABEL)
    labels: dict[str, JsonValue] = {TENANT_LABEL: None, FORMER_LABEL: former}
    yield Step("change", NAMESPACE, "", {"metadata": {"name": name, "labels": labels}})


def _kept(kind: Kind, namespace: str, wanted: Object, there: Object | None) -> Iterator[Step]:
    if there is None:
        yield Step("create", kind, namespace, wanted)
        return
    if section(there, "roleRef") != section(wanted, "roleRef"):  # which can't be changed
        yield Step("delete", kind, namespace, there)
        yield Step("create", kind, namespace, wanted)
        return
    same = all(there.get(name) == value for name, value in wanted.items() if name != "metadata")
    marks = all(
        section(there, "metadata", name).get(key) == value
        for name in ("labels", "annotations")
        for key, value in section(wanted, "metadata", name).items()
    )
    # An empty list of subjects is left out by the server.
    if not same and kind is ROLE_BINDING:
        same = not wanted.get("subjects") and not there.get("subjects")
    if not same or not marks:
        found = {name: value for name, value in wanted.items() if name != "metadata"}
        change = {name: _undone(there.get(name), value) for name, value in found.items()}
        marked = {
            name: value for name, value in metadata(wanted).items() if name in ("labels", "annotations")
        }
        yield Step("change", kind, namespace, {**change, "metadata": {**marked, "name": name_of(wanted)}})


def _undone(there: JsonValue, wanted: JsonValue) -> JsonValue:
    """Return the merge patch value that also takes away what somebody added."""
    if not isinstance(wanted, dict) or not isinstance(there, dict):
        return wanted
    extra: dict[str, JsonValue] = dict.fromkeys(there.keys() - wanted.keys())
    return {**extra, **{name: _undone(there.get(name), value) for name, value in wanted.items()}}
