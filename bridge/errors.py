"""The one tree of errors that Sluice raises on purpose.

Adapters turn library errors into these once, by type or number, never by text. Everything above an
adapter catches only these. Each carries one sentence for the person who caused it: what, where, how
to mend it. `code` is a stable slug: it is the last part of the HTTP problem type and of the wire's
error frame (`bridge.wire`), so it never changes once released.

What doesn't belong here: HTTP statuses (`gateway.problems`) and exit codes (`gateway.cli`).
"""

from __future__ import annotations

from typing import ClassVar


class SluiceError(Exception):
    """Anything that Sluice refuses or can't do; its text is one sentence for the user.

    Parameters
    ----------
    message
        What happened, where, and how to mend it.
    **details
        JSON-able facts about this error, shown beside the sentence (`option`, `line`, `rule`, ...).
    """

    code: ClassVar[str] = "internal"

    def __init__(self, message: str, **details: object) -> None:
        super().__init__(message)
        self.message = message
        self.details = details


class InputError(SluiceError):
    """What the caller gave is wrong (a document, a script, a field); nothing was done."""

    code: ClassVar[str] = "invalid-input"


class TooLarge(InputError):
    """The request is above a limit in bytes; the sentence names the limit."""

    code: ClassVar[str] = "too-large"


class KeyReused(InputError):
    """An idempotency key came again with another request."""

    code: ClassVar[str] = "key-reused"


class ScriptError(InputError):
    """A batch script or its options were refused before anything was sent.

    `details["errors"]` is a list of ``{"line", "column", "option", "message"}``.
    """

    code: ClassVar[str] = "invalid-script"


class TenantError(InputError):
    """A tenant document is wrong; `details["errors"]` lists ``{"file", "path", "message"}``."""

    code: ClassVar[str] = "invalid-tenant"


class PolicyRefused(SluiceError):
    """A tenant's rule refuses the request; `details["rule"]` is the rule's stable name."""

    code: ClassVar[str] = "policy-refused"


class NotFound(SluiceError):
    """The thing named doesn't exist, or isn't visible to the caller."""

    code: ClassVar[str] = "not-found"


class Unauthenticated(SluiceError):
    """The caller is not known: no key, or one that is not valid."""

    code: ClassVar[str] = "unauthenticated"


class Denied(SluiceError):
    """The caller is known and may not do this."""

    code: ClassVar[str] = "denied"


class Conflict(SluiceError):
    """The request contradicts the present state (e.g. an idempotency key still in flight)."""

    code: ClassVar[str] = "conflict"


class Outdated(Conflict):
    """The request names a revision that is no longer the present one; read again, then decide."""

    code: ClassVar[str] = "outdated"


class Unavailable(SluiceError):
    """A part that is needed doesn't answer now; the same request may be sent again.

    `details["part"]` names the part; `retry_after_s` is a hint in seconds.
    """

    code: ClassVar[str] = "unavailable"

    def __init__(self, message: str, *, retry_after_s: int = 5, **details: object) -> None:
        super().__init__(message, retry_after_s=retry_after_s, **details)
        self.retry_after_s = retry_after_s


class OutcomeUnknown(Unavailable):
    """A write was sent and no answer came: it may or may not have happened.

    Look for the write (`admin_comment`) before trying again; never simply repeat it.
    """

    code: ClassVar[str] = "outcome-unknown"


class SlurmRefused(SluiceError):
    """Slurm refused; the text is Slurm's own words, `details["errno"]` Slurm's number."""

    code: ClassVar[str] = "slurm-refused"

    def __init__(self, message: str, *, errno: int = 0, **details: object) -> None:
        super().__init__(message, errno=errno, **details)
        self.errno = errno


class UnknownState(SluiceError):
    """Slurm showed a job state that this version doesn't know; the job counts as neither live nor ended."""

    code: ClassVar[str] = "unknown-job-state"


class Unsupported(SluiceError):
    """No adapter carries this field or option; `details["field"]` names it. Nothing was sent."""

    code: ClassVar[str] = "unsupported"


class StepFailed(SluiceError):
    """A step of `up`, `down` or a build failed: command, its last lines and the remedy."""

    code: ClassVar[str] = "step-failed"

    def __init__(self, message: str, *, command: str = "", tail: str = "", remedy: str = "") -> None:
        super().__init__(message, command=command, tail=tail, remedy=remedy)
        self.command = command
        self.tail = tail
        self.remedy = remedy


def _tree(base: type[SluiceError]) -> dict[str, type[SluiceError]]:
    found = {base.code: base}
    for child in base.__subclasses__():
        found.update(_tree(child))
    return found


def by_code(code: str) -> type[SluiceError]:
    """Return the error class of a stable code, `SluiceError` itself when the code is unknown."""
    return _tree(SluiceError).get(code, SluiceError)
