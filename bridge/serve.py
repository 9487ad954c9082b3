"""The bridge's operations on its socket: tenants and their documents, history, import, health.

An adapter: maps of the wire in, maps out; the work is `bridge.tenants.flow`'s. Shapes are those that the
gateway and `bridge.tenants.command` rely on.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Any, TypeVar

from bridge.errors import InputError, NotFound, Unavailable
from bridge.health import Heartbeat
from bridge.policy.pool import Flavor, pool_of
from bridge.slurm.port import PartHealth, Slurm
from bridge.tenants.changes import document_revision
from bridge.tenants.flow import Preview, Tenants
from bridge.tenants.importing import imported
from bridge.tenants.plan import Action
from bridge.tenants.published import Published
from bridge.tenants.said import Said
from bridge.tenants.source import Text, parse_all
from bridge.wire import Handler

Answer = Mapping[str, Any]
Result = TypeVar("Result")


def handlers(
    *,
    tenants: Tenants,
    slurm: Slurm,
    heartbeat: Heartbeat,
    published: Published | None = None,
    said: Said | None = None,
) -> Mapping[str, Handler]:
    """Return the operations by name.

    `published` are the files for pods, where there are pods; `said` is what job_submit.lua tells, if it does.
    """
    documents = DocumentOperations(tenants, said)

    def health(_args: Mapping[str, Any]) -> Answer:
        return {
            "parts": [asdict(part) for part in (heartbeat.health(), *documents.policy(), *slurm.health())]
        }

    def found(_args: Mapping[str, Any]) -> Answer:
        known = [sourced.tenant.name for sourced in tenants.view.documents]
        pool = pool_of(slurm.nodes(), slurm.partitions(), tenants.site)
        done = imported(slurm.accounting_state(), pool, known=known)
        return {"documents": [asdict(text) for text in done.documents], "notes": list(done.notes)}

    def files(args: Mapping[str, Any]) -> Answer:
        have = args.get("have")
        if published is None or not isinstance(have, Mapping):
            raise InputError("have must be a map of file names to ETags, and this bridge must serve pods")
        changed = published.changed(caller=str(args.get("caller") or ""), have=have)
        return {name: content.data for name, content in changed.items()}

    return {
        "files": files,
        "import": found,
        "tenants": documents.show,
        "document": documents.document,
        "validate": documents.validate,
        "apply": documents.apply,
        "remove": documents.remove,
        "history": documents.history,
        "budgets": lambda args: {"plan": _plan(tenants.budgets(args.get("exhausted")))},
        "health": health,
    }


class DocumentOperations:
    """What can be asked about tenants' documents."""

    def __init__(self, tenants: Tenants, said: Said | None) -> None:
        self._tenants = tenants
        self._said = said

    def policy(self) -> tuple[PartHealth, ...]:
        """Which table slurmctld judges by; empty where it doesn't say."""
        return () if self._said is None else (self._said.table().health,)

    def show(self, _args: Mapping[str, Any]) -> Answer:
        """All documents, their states, the pool's flavors."""
        view = self._tenants.view
        flavors = view.pool.flavors if view.pool else {}
        return {
            "revision": view.revision,
            "policy": [asdict(part) for part in self.policy()],
            "refusals": [
                {**refused._asdict(), "count": count}
                for refused, count in (self._said.refusals() if self._said else {}).items()
            ],
            "moment": view.moment.model_dump(mode="json"),
            "site": self._tenants.site.model_dump(mode="json"),
            "documents": [sourced.tenant.model_dump(mode="json") for sourced in view.documents],
            "states": {name: asdict(state) for name, state in view.states.items()},
            "flavors": {name: _flavor(flavor) for name, flavor in flavors.items()},
        }

    def document(self, args: Mapping[str, Any]) -> Answer:
        """One document: as it is written, as it is read, its revision."""
        text = self._tenants.document(_text(args, "name"))
        return {
            "text": text.text,
            "document": parse_all([text])[0].tenant.model_dump(mode="json"),
            "revision": document_revision(text.text),
        }

    def validate(self, args: Mapping[str, Any]) -> Answer:
        """What `apply` would do."""
        texts, prune = _texts(args), bool(args.get("prune"))
        return _preview(_patiently(lambda: self._tenants.validate(texts, prune=prune), args))

    def apply(self, args: Mapping[str, Any]) -> Answer:
        """Write documents and carry them out; with ``dry_run`` only say what would be done."""
        if args.get("dry_run"):
            return self.validate(args)
        texts, actor, prune = _texts(args), _text(args, "actor"), bool(args.get("prune"))
        expected, revision = _expected(args)

        def act() -> Sequence[Action]:
            return self._tenants.apply(texts, actor=actor, prune=prune, expected=expected, revision=revision)

        return {"plan": _plan(_patiently(act, args))}

    def remove(self, args: Mapping[str, Any]) -> Answer:
        """Remove a document; with ``dry_run`` only say what would be done."""
        name = _text(args, "name")
        if args.get("dry_run"):
            return _preview(_patiently(lambda: self._tenants.validate_removal(name), args))
        actor = _text(args, "actor")
        expected, revision = _expected(args)

        begun = False

        def act() -> Sequence[Action]:
            nonlocal begun
            try:
                return self._tenants.remove(name, actor=actor, expected=expected, revision=revision)
            except Unavailable:
                begun = True
                raise
            except NotFound:
                if not begun:
                    raise
                return self._tenants.reconcile()  # the try before took the document away, and no more

        return {"plan": _plan(_patiently(act, args))}

    def history(self, args: Mapping[str, Any]) -> Answer:
        """The newest changes of documents, of one tenant or of all."""
        name = _text(args, "name") if args.get("name") is not None else None
        limit = args.get("limit", 100)
        if not isinstance(limit, int) or isinstance(limit, bool) or limit < 1:
            raise InputError("limit must be a whole number of at least 1")
        return {"entries": [asdict(entry) for entry in self._tenants.history(name, limit=limit)]}


def _flavor(flavor: Flavor) -> Answer:
    share = flavor.share.model_dump(mode="json") if flavor.share else None
    return {**asdict(flavor), "share": share}


def _preview(preview: Preview) -> Answer:
    return {
        "plan": _plan(preview.actions),
        "revision": preview.revision,
        "changes": [asdict(edit) for edit in preview.edits],
    }


def _plan(actions: Sequence[Action]) -> list[Answer]:
    return [
        {
            "action": action.verb,
            "kind": action.kind,
            "name": action.name,
            "detail": action.detail,
            "drift": action.drift,
        }
        for action in actions
    ]


def _patiently(act: Callable[[], Result], args: Mapping[str, Any], *, pause_s: float = 0.5) -> Result:
    """Try again while Slurm doesn't answer, for ``wait_s`` seconds; every step is repeatable."""
    deadline = time.monotonic() + float(args.get("wait_s") or 0)
    while True:
        try:
            return act()
        except Unavailable:
            if time.monotonic() + pause_s > deadline:
                raise
            time.sleep(pause_s)


def _texts(args: Mapping[str, Any]) -> tuple[Text, ...]:
    documents = args.get("documents")
    if not isinstance(documents, list):
        raise InputError("documents must be a list of {file, text}")
    return tuple(Text(_text(document, "file"), _text(document, "text")) for document in documents)


def _text(args: Mapping[str, Any], name: str) -> str:
    value = args.get(name) if isinstance(args, Mapping) else None
    if not isinstance(value, str):
        raise InputError(f"{name} must be given as a text")
    return value


def _expected(args: Mapping[str, Any]) -> tuple[Mapping[str, str | None], int | None]:
    expected, revision = args.get("expected") or {}, args.get("revision")
    if not isinstance(expected, Mapping) or not isinstance(revision, int | None):
        raise InputError("expected must be a map of tenants to revisions, revision a whole number")
    return expected, revision
