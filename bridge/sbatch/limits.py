"""``--propagate``: which limits of the caller's process the job gets, as variables that slurmstepd reads.

_set_rlimit_env() of src/sbatch/sbatch.c: the soft limits, all of them unless some are named; a ``U`` before
the number says that the user named them. A job that loads its user's login environment gets that login's.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from bridge.sbatch.draft import Draft
from bridge.sbatch.refusal import BAD_REQUEST, Refusal, Unsupported

NAMES: Final = ("CPU", "FSIZE", "DATA", "STACK", "CORE", "RSS", "NPROC", "NOFILE", "MEMLOCK", "AS")
"""Slurm's limits, in its order."""
_EVERY: Final = "ALL"
_NOT_ANY: Final = "NONE"
_UNLIMITED: Final = 2**64 - 1
"""RLIM_INFINITY as C prints it."""


def check(draft: Draft) -> None:
    """Refuse a name that is none, as sbatch does before it sends anything."""
    if draft.get_user_env or draft.propagate in (None, _EVERY, _NOT_ANY):
        return
    for name in _named(draft):
        if name not in NAMES:
            raise Refusal(
                f"sbatch: error: Bad rlimit name: {name}",
                f"sbatch: error: --propagate={draft.propagate} is not valid.",
                exit_code=BAD_REQUEST,
                option="propagate",
            )


def variables(draft: Draft, limits: Mapping[str, int] | None) -> dict[str, str]:
    """Return the variables of the limits that are sent.

    Raises
    ------
    Unsupported
        Limits are named, and the caller's are not known.
    """
    if draft.get_user_env or draft.propagate == _NOT_ANY:
        return {}
    named = draft.propagate is not None
    if limits is None:
        if named:
            raise Unsupported("propagate", "the limits to take along are not known; give them as `limits`")
        return {}
    wanted = NAMES if draft.propagate in (None, _EVERY) else _named(draft)
    mark = "U" if named else ""
    return {
        f"SLURM_RLIMIT_{name}": f"{mark}{_UNLIMITED if limits[name] < 0 else limits[name]}"
        for name in NAMES
        if name in wanted and name in limits
    }


def _named(draft: Draft) -> list[str]:
    text = (draft.propagate or "").replace("\t", ",").replace(" ", ",")
    return [name.removeprefix("RLIMIT_") for name in text.split(",") if name]
