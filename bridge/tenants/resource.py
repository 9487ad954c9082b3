"""One custom resource `Tenant` as a document, and what its status says.

Pure. What flows in: objects of the API server. What flows out: `Record`s, and status maps. The spec is the
tenant document without `name`, which is the object's own.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

import yaml
from pydantic import JsonValue

from bridge.errors import TenantError
from bridge.kube.kinds import Object, metadata, name_of, number, section, text, texts
from bridge.policy.tenant import Tenant
from bridge.tenants.source import Text, parse

FINALIZER: Final = "sluice.sh/tenant"
WRITTEN: Final = "sluice.sh/document"
"""Annotation with the text that the API was given, so that comments and order come back as they were."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """A custom resource as it is read.

    `wanted` is the document of its spec, None when `fault` says what is wrong with it; `in_force` is the one
    that was accepted last, None for none.
    """

    name: str
    item: Object
    wanted: Text | None
    in_force: Text | None
    fault: str = ""

    @property
    def deleted(self) -> bool:
        """Whether somebody deleted it: it drains."""
        return bool(text(self.item, "metadata", "deletionTimestamp"))

    @property
    def ours(self) -> bool:
        """Whether it has our finalizer."""
        return FINALIZER in texts(self.item, "metadata", "finalizers")

    @property
    def file(self) -> str:
        """The document's name in messages and revisions."""
        return file_of(self.name)


def file_of(name: str) -> str:
    """Return the file name that a tenant's document goes by."""
    return f"{name}.yaml"


def record(item: Object) -> Record:
    """Read one custom resource."""
    name = name_of(item)
    wanted = _text(name, section(item, "spec"), text(item, "metadata", "annotations", WRITTEN))
    sourced, faults = parse(wanted)
    accepted = section(item, "status", "document")
    return Record(
        name=name,
        item=item,
        wanted=wanted if sourced is not None else None,
        in_force=_text(name, accepted, wanted.text) if accepted else None,
        fault="" if sourced is not None else "; ".join(f"{fault.path}: {fault.message}" for fault in faults),
    )


def _text(name: str, spec: Mapping[str, JsonValue], written: str) -> Text:
    values = {"name": name, **spec}
    if written:
        sourced, _ = parse(Text(file_of(name), written))
        if sourced is not None and sourced.tenant == _tenant(values):
            return Text(file_of(name), written)
    # JSON is YAML, and keeps what YAML might read as something else.
    return Text(file_of(name), json.dumps(values, indent=1, ensure_ascii=False) + "\n")


def _tenant(values: Mapping[str, JsonValue]) -> Tenant | None:
    try:
        return Tenant.model_validate(values)
    except ValueError:
        return None


def spec_of(document: Text) -> Mapping[str, JsonValue]:
    """Return a document's spec as it is written (no defaults filled in); raises `TenantError`."""
    values = yaml.safe_load(document.text) if parse(document)[0] is not None else None
    if not isinstance(values, dict):
        raise TenantError(f"{document.file} is not a tenant's document")
    return {str(key): value for key, value in values.items() if key != "name"}


@dataclass(frozen=True, slots=True)
class Condition:
    """One condition of a status: `reason` in CamelCase for programs, `message` for people."""

    kind: str
    true: bool
    reason: str
    message: str = ""


def status(
    item: Object, conditions: Sequence[Condition], *, document: Text | None, now: datetime
) -> Mapping[str, JsonValue]:
    """Return the status; a condition that stays keeps the time of its last change.

    Ready sums up the others: the first that isn't true gives reason and message.
    """
    wrong = next((each for each in conditions if not each.true), None)
    ready = Condition(
        "Ready", wrong is None, wrong.reason if wrong else "InForce", wrong.message if wrong else ""
    )
    old = {text(each, "type"): each for each in _conditions(item)}
    generation = number(item, "metadata", "generation")
    moment = now.strftime("%Y-%m-%dT%H:%M:%SZ")
    written: list[JsonValue] = []
    for each in (ready, *conditions):
        before = old.get(each.kind, {})
        value = "True" if each.true else "False"
        since = text(before, "lastTransitionTime") if before.get("status") == value else ""
        written.append(
            {
                "type": each.kind,
                "status": value,
                "reason": each.reason,
                "message": each.message,
                "observedGeneration": generation,
                "lastTransitionTime": since or moment,
            }
        )
    spec = dict(spec_of(document)) if document is not None else dict(section(item, "status", "document"))
    return {
        "observedGeneration": generation,
        "account": name_of(item) if spec else "",
        "gpus": _gpus(spec),
        "conditions": written,
        "document": spec,
    }


def _conditions(item: Object) -> Sequence[Mapping[str, JsonValue]]:
    found = section(item, "status").get("conditions")
    return [each for each in found if isinstance(each, dict)] if isinstance(found, list) else []


def _gpus(spec: Mapping[str, JsonValue]) -> str:
    flavors = spec.get("flavors")
    if not isinstance(flavors, dict):
        return ""
    return ",".join(f"{name}:{number({'grant': grant}, 'grant', 'limit')}" for name, grant in flavors.items())


def with_finalizer(item: Object, *, present: bool) -> Object:
    """Return the merge patch that puts our finalizer on, or takes it off."""
    others = [each for each in texts(item, "metadata", "finalizers") if each != FINALIZER]
    names: list[JsonValue] = [*others, *([FINALIZER] if present else [])]
    version = metadata(item).get("resourceVersion")
    return {"metadata": {"finalizers": names, "resourceVersion": version}}
