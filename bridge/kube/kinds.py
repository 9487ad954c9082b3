"""The kinds of objects that Sluice reads and writes, and their places in the API.

Pure. One constant a kind: the chart's roles grant exactly these (held by a test).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias

from pydantic import JsonValue

Object: TypeAlias = Mapping[str, JsonValue]
"""One object as JSON."""

GROUP: Final = "sluice.sh"
VERSION: Final = "v1alpha1"


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind: group ("" is core), version, plural name, and whether its objects live in namespaces."""

    kind: str
    group: str
    version: str
    plural: str
    namespaced: bool = True

    @property
    def api_version(self) -> str:
        """As objects spell it."""
        return f"{self.group}/{self.version}" if self.group else self.version

    def path(self, namespace: str = "", name: str = "", subresource: str = "") -> str:
        """Return the path of a collection or an object; a namespaced kind without namespace means all."""
        root = f"/apis/{self.group}/{self.version}" if self.group else f"/api/{self.version}"
        where = f"/namespaces/{namespace}" if self.namespaced and namespace else ""
        return f"{root}{where}/{self.plural}" + "".join(f"/{part}" for part in (name, subresource) if part)


TENANT: Final = Kind("Tenant", GROUP, VERSION, "tenants", namespaced=False)
NAMESPACE: Final = Kind("Namespace", "", "v1", "namespaces", namespaced=False)
QUOTA: Final = Kind("ResourceQuota", "", "v1", "resourcequotas")
CONFIG_MAP: Final = Kind("ConfigMap", "", "v1", "configmaps")
POD: Final = Kind("Pod", "", "v1", "pods")
ROLE_BINDING: Final = Kind("RoleBinding", "rbac.authorization.k8s.io", "v1", "rolebindings")
NETWORK_POLICY: Final = Kind("NetworkPolicy", "networking.k8s.io", "v1", "networkpolicies")
LEASE: Final = Kind("Lease", "coordination.k8s.io", "v1", "leases")
TOKEN_REVIEW: Final = Kind("TokenReview", "authentication.k8s.io", "v1", "tokenreviews", namespaced=False)


def metadata(item: Object) -> Mapping[str, JsonValue]:
    """Return an object's metadata."""
    return section(item, "metadata")


def section(item: Object, *path: str) -> Mapping[str, JsonValue]:
    """Return a map inside an object, empty where it is missing."""
    found: JsonValue | Object = item
    for name in path:
        found = found.get(name) if isinstance(found, Mapping) else None
    return found if isinstance(found, Mapping) else {}


def text(item: Object, *path: str) -> str:
    """Return a text inside an object, empty where it is missing."""
    value = section(item, *path[:-1]).get(path[-1])
    return value if isinstance(value, str) else ""


def name_of(item: Object) -> str:
    """Return an object's name."""
    return text(item, "metadata", "name")


def number(item: Object, *path: str) -> int:
    """Return a whole number inside an object, 0 where it is missing."""
    value = section(item, *path[:-1]).get(path[-1])
    return value if isinstance(value, int) and not isinstance(value, bool) else 0


def texts(item: Object, *path: str) -> tuple[str, ...]:
    """Return a list of texts inside an object, empty where it is missing."""
    value = section(item, *path[:-1]).get(path[-1])
    return tuple(each for each in value if isinstance(each, str)) if isinstance(value, list) else ()
