"""Carries out what `bridge.tenants.namespaces` plans: lists, compares, writes; each pass repairs drift."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

import structlog

from bridge.errors import Conflict, Denied, InputError, NotFound, Outdated
from bridge.kube.kinds import NAMESPACE, NETWORK_POLICY, QUOTA, ROLE_BINDING, name_of
from bridge.kube.port import Cluster
from bridge.policy.tenant import Tenant
from bridge.tenants.namespaces import MANAGED, TENANT_LABEL, NamespaceRules, Present, Step, steps

_log = structlog.get_logger(__name__)
INSIDE: Final = (QUOTA, NETWORK_POLICY, ROLE_BINDING)
OURS: Final = ",".join(f"{name}={value}" for name, value in MANAGED.items())


class Namespaces:
    """The namespaces of all tenants."""

    def __init__(self, cluster: Cluster, rules: NamespaceRules) -> None:
        self._cluster = cluster
        self._rules = rules

    def reconcile(self, tenants: Iterable[Tenant]) -> Mapping[str, str]:
        """Bring the cluster to what the documents say; returns what is wrong, by tenant."""
        documents = list(tenants)
        planned, problems = steps(documents, self._present(documents), self._rules)
        found = dict(problems)
        owner = {name: tenant.name for tenant in documents for name in tenant.namespaces}
        for step in planned:
            namespace = step.namespace or name_of(step.item)
            try:
                self._do(step)
            except (Conflict, NotFound, Outdated):
                continue  # changed just now: the next pass looks again
            except (Denied, InputError) as error:
                found.setdefault(owner.get(namespace, ""), error.message)
            else:
                _log.info("namespace changed", verb=step.verb, kind=step.kind.kind, namespace=namespace)
        return found

    def _present(self, documents: Iterable[Tenant]) -> Present:
        named = {name for tenant in documents for name in tenant.namespaces}
        labelled = list(self._cluster.list(NAMESPACE, selector=TENANT_LABEL))
        known = {name_of(item) for item in labelled}
        others = [self._cluster.get(NAMESPACE, name) for name in sorted(named - known)]
        return Present(
            (*labelled, *(item for item in others if item is not None)),
            {kind: self._cluster.list(kind, selector=OURS) for kind in INSIDE} if named or labelled else {},
        )

    def _do(self, step: Step) -> None:
        name = name_of(step.item)
        if step.verb == "create":
            self._cluster.create(step.kind, step.item, namespace=step.namespace)
        elif step.verb == "change":
            self._cluster.patch(step.kind, name, step.item, namespace=step.namespace)
        else:
            self._cluster.delete(step.kind, name, namespace=step.namespace)
