"""TRES texts as sbatch reads and rewrites them: ``gres/gpu:h100:2,cpu=4``.

slurm_get_next_tres() of src/common/slurm_protocol_defs.c reads them, slurm_option_update_tres_per_task()
of src/common/slurm_opt.c edits one entry of ``--tres-per-task``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from bridge.sbatch.ctext import lower, tokens
from bridge.sbatch.integers import strtol

_SUFFIXES: Final = {"k": 1024, "m": 1024**2, "g": 1024**3, "t": 1024**4, "p": 1024**5}
_COUNT = re.compile(r"([0-9]{1,20})([a-zA-Z]*)")


class InvalidTres(ValueError):
    """The text is no list of TRES; `said` is what sbatch prints about it beforehand, if anything."""

    def __init__(self, said: str = "") -> None:
        super().__init__(said)
        self.said = said


class Tres(NamedTuple):
    """One entry: ``gres/NAME:TYPE:COUNT``."""

    name: str | None
    type: str | None
    amount: int


def with_prefix(text: str) -> str:
    """Give each entry of a ``--gres`` its ``gres/`` (gres_prepend_tres_type() of gres.c)."""
    return f"gres/{text}".replace(",", ",gres/").replace("gres/gres/", "gres/")


def prefixed(prefix: str, text: str | None) -> str | None:
    """Write ``2,h100:1`` as ``gres/gpu:2,gres/gpu:h100:1`` (xfmt_tres() of proc_args.c)."""
    return ",".join(f"{prefix}:{token}" for token in tokens(text or "", ",")) or None


def entries(text: str, kind: str = "gres") -> Iterator[Tres]:
    """Yield the entries of one kind; entries of other kinds and counts of 0 are passed over.

    Raises
    ------
    InvalidTres
        At the first entry that is not one.
    """
    rest = text
    while True:
        _, found, rest = rest.partition(kind)
        if not found:
            return
        entry, _, rest = rest.removeprefix("/").partition(",")
        if not entry:
            continue
        tres = _entry(entry, kind)
        if tres.amount:
            yield tres


def _entry(entry: str, kind: str) -> Tres:
    at = entry.rfind("=") if "=" in entry else entry.rfind(":")
    name: str | None = entry
    type_: str | None = None
    if at >= 0:
        name, tail = entry[:at], entry[at + 1 :]
        value = _number(tail)
        if not tail or (value is None and entry[at] == "="):
            raise InvalidTres
        if value is None:
            type_ = tail
    else:
        value = _number(entry)
        if value is not None:
            return Tres(None, None, value)
    if name and ":" in name:
        if type_ is not None:
            raise InvalidTres
        name, _, type_ = name.partition(":")
    if type_ is not None and kind != "gres":
        raise InvalidTres(f"sbatch: error: TRES '{kind}' can't have a type ({name}:{type_})")
    return Tres(name or None, type_, 1 if value is None else value)


def _number(text: str) -> int | None:
    match = _COUNT.fullmatch(text)
    if match is None:
        return None
    suffix = lower(match.group(2))
    if not suffix:
        return int(match.group(1))
    factor = _SUFFIXES.get(suffix[0])
    if factor is None or suffix[1:] not in ("", "b", "ib"):
        return None
    if suffix[1:] == "b":
        factor = 1000 ** (list(_SUFFIXES).index(suffix[0]) + 1)
    return int(match.group(1)) * factor % 2**64


def with_count(text: str | None, name: str, count: int) -> str | None:
    """Set the count of one entry of a ``--tres-per-task`` text; 0 takes it out; a new one goes first."""
    at = lower(text).find(lower(name)) if text else -1
    if text is None or at < 0:
        if not count:
            return text
        return f"{name}={count},{text}" if text else f"{name}={count}"
    if strtol(text[at + len(name) + 1 :])[0] == count:
        return text
    before = text[:at].removesuffix(",")
    after = text[at:].partition(",")[2]
    middle = f"{name}={count}" if count else ""
    return ",".join(filter(None, (before, middle, after))) or None
