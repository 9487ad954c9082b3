"""Tenant documents through the bridge: read one, put one, remove one, with the plan of each.

What flows in: a name, a document's text, what its sender thinks is there. What flows out: `Written` and the
bridge's plan. Everything blocks. The bridge checks, writes and records; what doesn't belong here: HTTP, and
what all requests read without waiting (`gateway.directory`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from bridge.errors import NotFound, Unavailable
from bridge.policy.tenant import Tenant
from bridge.wire import Client

WAIT_S: Final = 10.0
"""For Slurm to answer, inside the bridge."""
TIMEOUT_S: Final = 60.0

ANY: Final = "*"
"""As expected revision: some document is there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """A document as it is in force: as text, as read, and its revision."""

    text: str
    tenant: Tenant
    revision: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One step of a plan, in the bridge's words."""

    action: str
    kind: str
    name: str
    detail: str
    drift: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One change of a document; `before` None is a new one, `after` None a removed one."""

    at: datetime
    actor: str
    change: str
    before: str | None
    after: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Expected:
    """What must be there for a change to be made; `revision` None is no document."""

    revision: str | None


class TenantDocuments:
    """The bridge's documents."""

    def __init__(self, client: Client) -> None:
        self._client = client

    def get(self, name: str) -> Written:
        """Read a tenant's document; `NotFound` for an unknown name."""
        answer = self._client.call("document", name=name, timeout_s=TIMEOUT_S)
        try:
            return Written(
                text=str(answer["text"]),
                tenant=Tenant.model_validate(answer["document"]),
                revision=str(answer["revision"]),
            )
        except (KeyError, TypeError, ValueError) as error:
            raise _strange() from error

    def history(self, name: str, *, limit: int) -> tuple[Change, ...]:
        """Return the newest changes of a tenant's document, also of one that is gone; `NotFound` for none."""
        answer = self._client.call("history", name=name, limit=limit, timeout_s=TIMEOUT_S)
        try:
            found = tuple(
                Change(
                    at=each["at"],
                    actor=str(each["actor"]),
                    change=str(each["change"]),
                    before=each["before"],
                    after=each["after"],
                )
                for each in answer["entries"]
            )
        except (KeyError, TypeError) as error:
            raise _strange() from error
        if not found:
            raise NotFound(f"there is no tenant {name}, and none was ever written", tenant=name)
        return found

    def put(
        self, name: str, text: str, *, actor: str, expected: Expected | None, dry_run: bool
    ) -> tuple[Step, ...]:
        """Write a document and carry it out; returns the plan. Raises `TenantError`, `Outdated`."""
        answer = self._client.call(
            "apply",
            documents=[{"file": f"{name}.yaml", "text": text}],
            **self._how(name, actor, expected, dry_run),
        )
        return _steps(answer)

    def remove(self, name: str, *, actor: str, expected: Expected | None, dry_run: bool) -> tuple[Step, ...]:
        """Take a document away; returns the plan. Raises `NotFound`, `Outdated`."""
        return _steps(self._client.call("remove", name=name, **self._how(name, actor, expected, dry_run)))

    @staticmethod
    def _how(name: str, actor: str, expected: Expected | None, dry_run: bool) -> dict[str, Any]:
        return {
            "actor": actor,
            "expected": {} if expected is None else {name: expected.revision},
            "dry_run": dry_run,
            "wait_s": WAIT_S,
            "timeout_s": TIMEOUT_S,
        }


def _steps(answer: Mapping[str, Any]) -> tuple[Step, ...]:
    try:
        steps: Sequence[Mapping[str, Any]] = answer["plan"]
        return tuple(Step(**step) for step in steps)
    except (KeyError, TypeError) as error:
        raise _strange() from error


def _strange() -> Unavailable:
    return Unavailable(
        "the bridge speaks of documents in a form that this gateway doesn't know; update both",
        part="bridge",
    )
