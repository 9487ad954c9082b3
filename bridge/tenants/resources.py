"""Tenant documents as custom resources: a source like a folder, and the pass that keeps their status true.

What flows in: `Tenant` objects. What flows out: the documents that are accepted (a wrong one stays as it was
when it was last right, and its status says why), finalizers, status. A deleted one drains: it leaves the
documents at once, and goes when nothing of it is left in Slurm.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, Protocol

import structlog
from pydantic import JsonValue

from bridge.errors import Conflict, NotFound, Outdated, Unavailable
from bridge.kube.kinds import TENANT, Object, metadata, section
from bridge.kube.port import Cluster
from bridge.tenants.accept import Acceptance, accept
from bridge.tenants.resource import (
    WRITTEN,
    Condition,
    Record,
    file_of,
    record,
    spec_of,
    status,
    with_finalizer,
)
from bridge.tenants.source import Text
from bridge.tenants.state import TenantState

_log = structlog.get_logger(__name__)
NOT_READ: Final = "the tenants have not been read from the cluster yet; try again in a moment"


class Resources:
    """The custom resources as `bridge.tenants.flow` sees a folder.

    Parameters
    ----------
    path
        Where the audit log of changes that came through the API is kept.
    """

    def __init__(self, cluster: Cluster, path: Path) -> None:
        self.path = path
        self._cluster = cluster
        self._accepted: dict[str, Text] | None = None

    def texts(self) -> tuple[Text, ...]:
        """Return the accepted documents, by name; raises `Unavailable` before the first pass."""
        if self._accepted is None:
            raise Unavailable(NOT_READ, part="bridge")
        return tuple(self._accepted[file] for file in sorted(self._accepted))

    def accepted(self, documents: Iterable[Text]) -> None:
        """Take what a pass found right."""
        self._accepted = {text.file: text for text in documents}

    def write(self, documents: Mapping[str, str]) -> None:
        """Write documents (file name to text) into their objects; `Outdated` when one changed just now."""
        for file, text in documents.items():
            name = file.removesuffix(".yaml")
            body: Object = {
                "metadata": {"name": name, "annotations": {WRITTEN: text}},
                "spec": dict(spec_of(Text(file, text))),
            }
            found = self._cluster.get(TENANT, name)
            try:
                if found is None:
                    self._cluster.create(TENANT, body)
                else:
                    whole: Object = {**found, "spec": body["spec"], "metadata": _annotated(found, text)}
                    self._cluster.replace(TENANT, whole)
            except Conflict as error:
                raise Outdated(
                    f"tenant {name} was changed in the meantime; read it again", tenant=name
                ) from error
            if self._accepted is not None:
                self._accepted[file] = Text(file, text)

    def remove(self, files: Iterable[str]) -> None:
        """Delete objects; raises `NotFound` for one that isn't there."""
        for file in files:
            if not self._cluster.delete(TENANT, file.removesuffix(".yaml")):
                raise NotFound(f"there is no tenant {file.removesuffix('.yaml')} to remove")
            if self._accepted is not None:
                self._accepted.pop(file, None)


def _annotated(item: Object, text: str) -> dict[str, JsonValue]:
    annotations: dict[str, JsonValue] = {**section(item, "metadata", "annotations"), WRITTEN: text}
    return {**metadata(item), "annotations": annotations}


class Reconciler(Protocol):
    """What a pass needs of `bridge.tenants.flow.Tenants`."""

    def check(self, before: Sequence[Text], after: Sequence[Text]) -> None:
        """Raise what applying `after` in place of `before` would raise."""
        ...


class ResourcePass:
    """One look at all custom resources: which documents hold, then what their statuses say.

    `read` comes before the tenants' own pass, `report` after it.
    """

    def __init__(
        self,
        cluster: Cluster,
        source: Resources,
        tenants: Reconciler,
        *,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._cluster = cluster
        self._source = source
        self._tenants = tenants
        self._clock = clock
        self._found: tuple[Record, ...] = ()
        self._acceptance = Acceptance()

    def read(self, *, hold: bool = True) -> None:
        """List, put finalizers on what is new (with `hold`), and take the documents that hold."""
        found = [record(item) for item in self._cluster.list(TENANT)]
        self._found = tuple(self._finalized(each) if hold else each for each in found)
        self._acceptance = accept(self._found, self._tenants.check)
        self._source.accepted(self._acceptance.documents)

    def report(
        self, states: Mapping[str, TenantState], namespaces: Mapping[str, str], *, trouble: str = ""
    ) -> tuple[str, ...]:
        """Write every status that isn't true any more, let go what has drained.

        Parameters
        ----------
        states
            As the tenants' pass left them, by tenant.
        namespaces
            Tenant to what is wrong with its namespaces.
        trouble
            Why the pass failed; then nothing is let go.

        Returns
        -------
        tuple of str
            The tenants that are gone.
        """
        gone: list[str] = []
        for each in self._found:
            drained = each.deleted and not trouble and each.name not in states
            if drained and each.name not in self._acceptance.kept:
                self._let_go(each)
                gone.append(each.name)
                continue
            conditions = self._conditions(each, states.get(each.name), namespaces.get(each.name, ""), trouble)
            self._write_status(each, conditions)
        return tuple(gone)

    def _finalized(self, each: Record) -> Record:
        if each.ours or each.deleted:
            return each
        try:
            return record(self._cluster.patch(TENANT, each.name, with_finalizer(each.item, present=True)))
        except (NotFound, Outdated):
            return each  # changed just now: the next pass sees it

    def _let_go(self, each: Record) -> None:
        if not each.ours:
            return
        try:
            self._cluster.patch(TENANT, each.name, with_finalizer(each.item, present=False))
            _log.info("tenant let go", tenant=each.name)
        except (NotFound, Outdated):
            return

    def _conditions(
        self, each: Record, state: TenantState | None, namespaces: str, trouble: str
    ) -> tuple[Condition, ...]:
        refused = self._acceptance.refused.get(each.name, "")
        kept = self._acceptance.kept.get(each.name, "")
        if each.deleted:
            why = kept or (state.message if state is not None else trouble)
            return (Condition("InSlurm", False, "Draining", why),)
        if trouble or (state is None and not refused):
            in_slurm = Condition("InSlurm", False, "Waiting", trouble or NOT_READ)
        elif state is None:
            in_slurm = Condition("InSlurm", False, "NeverAccepted", "nothing of it is in force")
        else:
            message = "" if state.applied else state.message
            in_slurm = Condition("InSlurm", state.applied, "Applied" if state.applied else "Waiting", message)
        return (
            Condition("Accepted", not refused, "Refused" if refused else "Valid", refused),
            in_slurm,
            Condition("NamespacesReady", not namespaces, "Conflict" if namespaces else "Applied", namespaces),
        )

    def _write_status(self, each: Record, conditions: Sequence[Condition]) -> None:
        document = self._acceptance.document(file_of(each.name))
        wanted = status(each.item, conditions, document=document, now=self._clock())
        if wanted == section(each.item, "status"):
            return
        try:
            change: Object = {
                "metadata": {**metadata(each.item)},
                "spec": dict(section(each.item, "spec")),
                "status": dict(wanted),
            }
            self._cluster.replace(TENANT, change, subresource="status")
        except (NotFound, Outdated):
            return  # changed just now: the next pass writes it
