"""The bridge's operations on its socket: tenants, validate, apply, remove, health.

An adapter: maps of the wire in, maps out; the work is `bridge.tenants.flow`'s. Shapes are those that the
gateway and `bridge.tenants.command` rely on.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from bridge.errors import InputError, Unavailable
from bridge.health import Heartbeat
from bridge.slurm.port import Slurm
from bridge.tenants.flow import Tenants
from bridge.tenants.plan import Action
from bridge.tenants.source import Text
from bridge.wire import Handler


def handlers(*, tenants: Tenants, slurm: Slurm, heartbeat: Heartbeat) -> Mapping[str, Handler]:
    """Return the operations by name."""

    def show(_args: Mapping[str, Any]) -> Mapping[str, Any]:
        view = tenants.view
        flavors = view.pool.flavors if view.pool else {}
        return {
            "revision": view.revision,
            "documents": [sourced.tenant.model_dump(mode="json") for sourced in view.documents],
            "states": {name: asdict(state) for name, state in view.states.items()},
            "flavors": {name: asdict(flavor) for name, flavor in flavors.items()},
        }

    def validate(args: Mapping[str, Any]) -> Mapping[str, Any]:
        texts, prune = _texts(args), bool(args.get("prune"))
        return _plan(_patiently(lambda: tenants.validate(texts, prune=prune), args))

    def apply(args: Mapping[str, Any]) -> Mapping[str, Any]:
        texts, actor, prune = _texts(args), _text(args, "actor"), bool(args.get("prune"))
        return _plan(_patiently(lambda: tenants.apply(texts, actor=actor, prune=prune), args))

    def remove(args: Mapping[str, Any]) -> Mapping[str, Any]:
        name, actor = _text(args, "name"), _text(args, "actor")
        return _plan(_patiently(lambda: tenants.remove(name, actor=actor), args))

    def health(_args: Mapping[str, Any]) -> Mapping[str, Any]:
        return {"parts": [asdict(part) for part in (heartbeat.health(), *slurm.health())]}

    return {"tenants": show, "validate": validate, "apply": apply, "remove": remove, "health": health}


def _plan(actions: Sequence[Action]) -> Mapping[str, Any]:
    return {
        "plan": [
            {"action": action.verb, "kind": action.kind, "name": action.name, "detail": action.detail}
            for action in actions
        ]
    }


def _patiently(
    act: Callable[[], Sequence[Action]], args: Mapping[str, Any], *, pause_s: float = 0.5
) -> Sequence[Action]:
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
