"""Exit codes of ``sluice``, for scripts; the same for every command.

What doesn't belong here: the errors themselves (`bridge.errors`), HTTP statuses (`gateway.problems`).
"""

from __future__ import annotations

from typing import Final

from bridge import errors

OK: Final = 0
"""Done, or already as asked."""

FAILED: Final = 1
"""Refused by a rule or by Slurm, a step failed, or the job that was waited for did not end well."""

USAGE: Final = 2
"""The command line, a document or a script is wrong; nothing was done."""

NOT_FOUND: Final = 3
"""The job, tenant, stack or part named doesn't exist, or isn't visible to the caller."""

DENIED: Final = 4
"""No key, a wrong key, or a key that may not do this."""

UNAVAILABLE: Final = 5
"""A part that is needed doesn't answer (Docker, the gateway, Slurm); trying again later may work."""

INTERNAL: Final = 70
"""A fault of Sluice itself (EX_SOFTWARE)."""

_BY_ERROR: Final[tuple[tuple[type[errors.SluiceError], int], ...]] = (
    (errors.InputError, USAGE),
    (errors.Unsupported, USAGE),
    (errors.NotFound, NOT_FOUND),
    (errors.Denied, DENIED),
    (errors.Unauthenticated, DENIED),
    (errors.Unavailable, UNAVAILABLE),
    (errors.PolicyRefused, FAILED),
    (errors.SlurmRefused, FAILED),
    (errors.Conflict, FAILED),
    (errors.StepFailed, FAILED),
)


def code_of(error: errors.SluiceError) -> int:
    """Return the exit code of an error; `INTERNAL` for one that has none of its own."""
    for kind, code in _BY_ERROR:
        if isinstance(error, kind):
            return code
    return INTERNAL
