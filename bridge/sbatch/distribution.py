"""``--distribution``: how tasks go to nodes, sockets and cores; verify_dist_type() of proc_args.c."""

from __future__ import annotations

from typing import Final

from bridge.sbatch.ctext import lower, tokens
from bridge.sbatch.integers import INT_MAX, strtol
from bridge.sbatch.refusal import bad_option

ARBITRARY: Final = "arbitrary"
PLANE: Final = "plane"
_LEVELS: Final = ("block", "cyclic", "fcyclic")
_FLAGS: Final = ("pack", "nopack")
_DEEPEST: Final = 3


def distribution(text: str, planesize: str = "") -> str:
    """Read ``--distribution`` into Slurm's own spelling: ``block:cyclic,pack``, ``plane=2``, ``arbitrary``.

    Parameters
    ----------
    text
        As the user wrote it.
    planesize
        The caller's ``SLURM_DIST_PLANESIZE``, used by ``plane`` without a size.

    Raises
    ------
    Refusal
        Not a distribution.
    """
    if lower(text[:5]) == PLANE:
        return _plane(text.partition("=")[2] if "=" in text else planesize)
    parts = tokens(text, ",")
    if not parts or text.startswith(","):
        raise _invalid()
    base = _base(parts[0])
    flag = ",".join(parts[1:])
    if base in _FLAGS:
        return f"{base},{_flag(flag)}" if flag else base
    return f"{base},{_flag(flag)}" if flag else base


def plane_size(written: str | None) -> int | None:
    """Return the size of ``plane=N``, None for any other distribution."""
    return int(written.partition("=")[2]) if written and written.startswith("plane=") else None


def _plane(size: str) -> str:
    value, rest = strtol(size)
    if not size or rest or not 0 < value <= INT_MAX:
        raise bad_option(
            "Invalid --distribution specification",
            "sbatch: error: Invalid plane size or size not specified",
            option="distribution",
        )
    return f"plane={value}"


def _base(text: str) -> str:
    levels = tokens(text, ":")
    if len(levels) > _DEEPEST:
        raise _invalid()
    defaults = ("block", "cyclic", levels[1] if len(levels) > 1 and levels[1] != "*" else "cyclic")
    names = [lower(defaults[at] if level == "*" else level) for at, level in enumerate(levels)]
    if len(names) == 1 and names[0] in ("arbitrary", "hostfile"):
        return ARBITRARY
    if len(names) == 1 and names[0] in _FLAGS:
        return names[0]
    known = bool(names) and names[0] in _LEVELS[:2] and all(name in _LEVELS for name in names)
    if not known:
        raise _invalid()
    return ":".join(names)


def _flag(text: str) -> str:
    if lower(text) not in _FLAGS:
        raise _invalid()
    return lower(text)


def _invalid() -> Exception:
    return bad_option("Invalid --distribution specification", option="distribution")
