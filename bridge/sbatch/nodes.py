"""Node counts (``--nodes``) and node lists (``--nodelist``, ``--exclude``) as sbatch checks them.

Counts: verify_node_count() of src/common/proc_args.c; a list or step of sizes is a set of sizes below
16384 (MAX_JOB_SIZE_BITMAP). Lists: sbatch itself only wants the brackets to be right and counts the
distinct names; whether a node exists is slurmctld's business.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from bridge.sbatch.ctext import blank, lower
from bridge.sbatch.integers import INT_MAX, strtol
from bridge.sbatch.refusal import Refusal, bad_number, bad_option, fatal

MOST_SIZES: Final = 16384
_SIZE_SEPARATOR = re.compile(r"[,:-]+")
_STEP = re.compile(r"([0-9]+)-([0-9]+):([0-9]+)")
_DIGITS = re.compile(r"[0-9]+")
_NUMBERED = re.compile(r"(.*?)([0-9]{1,18})")
_RANGE = re.compile(r"([0-9]{1,9})(?:-([0-9]{0,9}))?")
MOST_HOSTS: Final = 65536
"""A host list longer than this is not expanded (Slurm's MAX_RANGE)."""


@dataclass(frozen=True, slots=True)
class NodeCount:
    """How many nodes; `most` 0 means no more than what else is said; `sizes` a list of allowed counts."""

    least: int
    most: int
    sizes: str | None = None


def node_count(text: str) -> NodeCount:
    """Read ``--nodes``: ``N``, ``MIN-MAX`` (with ``k`` and ``m`` suffixes), ``1,2,4`` or ``1-9:2``.

    Raises
    ------
    Refusal
        Not a count, or the maximum below the minimum.
    """
    if "," in text or ":" in text:
        count = _size_list(text)
    elif "-" in text:
        low, _, high = text.partition("-")
        least, most = _one(low), _one(high)
        count = NodeCount(1 if least < 0 else least, most)
    else:
        least = _one(text)
        if least < 0:
            raise _not_a_count(text)
        count = NodeCount(least, least)
    if count.most != 0 and count.most < count.least:
        raise bad_option(
            f"Maximum node count {count.most} is less than minimum node count {count.least}", option="nodes"
        )
    return count


def _one(text: str) -> int:
    value, rest = strtol(text)
    if rest == text:
        if not blank(text):
            raise _not_a_count(text)
        return -1
    for suffixes, factor in (("kK", 1024), ("mM", 1024**2)):
        if rest and rest[0] in suffixes:
            value, rest = value * factor, rest[1:]
    if not blank(rest):
        raise _not_a_count(text)
    return value if 0 <= value <= INT_MAX else -1


def _size_list(text: str) -> NodeCount:
    if text.startswith(","):  # sbatch reads no size at all and complains about the count later
        return NodeCount(-1, -1, "")
    for token in filter(None, _SIZE_SEPARATOR.split(text)):
        value, rest = strtol(token)
        if rest or value >= MOST_SIZES or value < 0:
            raise _not_a_count(token)
    sizes = _stepped(text) if ":" in text else _listed(text)
    if not sizes:  # no size at all: sbatch complains about the count later
        return NodeCount(-1, -1, "")
    ordered = sorted(sizes)
    return NodeCount(ordered[0], ordered[-1], ranges(ordered))


def _stepped(text: str) -> set[int]:
    match = _STEP.fullmatch(text)
    first, last, step = (int(group) for group in match.groups()) if match else (0, 0, 0)
    if step <= 0 or last < first:
        raise _not_a_count(text)
    # The last size itself is never taken (bitfmt2int of src/common/bitstring.c).
    return set(range(first, last, step))


def _listed(text: str) -> set[int]:
    sizes: set[int] = set()
    for item in text.split(","):
        numbers = [int("".join(_DIGITS.findall(part)) or 0) for part in item.split("-")[-2:]]
        sizes.update(range(numbers[0], numbers[-1] + 1))
    return sizes


def ranges(ordered: list[int]) -> str:
    """Write numbers as Slurm does: ``1-3,7``."""
    parts: list[list[int]] = []
    for value in ordered:
        if parts and value == parts[-1][1] + 1:
            parts[-1][1] = value
        else:
            parts.append([value, value])
    return ",".join(f"{low}" if low == high else f"{low}-{high}" for low, high in parts)


def least_of(text: str, what: str) -> int | None:
    """Read a part of ``-B``: ``N``, ``MIN-MAX`` or ``*`` (None, any); get_resource_arg_range().

    Raises
    ------
    Refusal
        Not a number; `what` names the part.
    """
    if not text or text[0] == "*":
        return None
    least, rest = _with_suffix(text)
    if (rest and rest[0] != "-") or least < 0:
        raise bad_number(f'Invalid numeric value "{text}" for {what}.')
    if least > INT_MAX:
        raise bad_number(f"Numeric argument ({least}) too large for {what}.")
    if rest:
        most, after = _with_suffix(rest[1:])
        if (after and after[0] != "-") or most <= 0:
            raise bad_number(f'Invalid numeric value "{text}" for {what}.')
    return least


def _with_suffix(text: str) -> tuple[int, str]:
    value, rest = strtol(text)
    factor = {"k": 1024, "m": 1024**2}.get(lower(rest[:1]), 1)
    return value * factor, rest[1:] if factor > 1 else rest


def _not_a_count(text: str) -> Exception:
    return bad_option(f'"{text}" is not a valid node count', option="nodes")


def hosts(text: str) -> list[str]:
    """Expand a host list (``gpu[1-2,5],login``) in order, repeats kept.

    Raises
    ------
    Refusal
        It is not one.
    """
    names: list[str] = []
    for item in _items(text):
        for name in _expand(item):
            if len(names) == MOST_HOSTS:
                raise _not_a_list()
            names.append(name)
    return names


def _not_a_list(*said: str) -> Refusal:
    return fatal("Invalid node list specified", "nodelist").after(*said)


def _items(text: str) -> Iterator[str]:
    """Split at commas and blanks outside brackets; a lone ``]`` is part of a name."""
    depth = start = 0
    for at, letter in enumerate(text):
        if letter == "[":
            depth += 1
        elif letter == "]" and depth:
            depth -= 1
        elif letter in ", \t\n" and depth == 0:
            if at > start:
                yield text[start:at]
            start = at + 1
    if depth:
        raise _not_a_list()
    if start < len(text):
        yield text[start:]


def _expand(item: str) -> Iterator[str]:
    before, bracket, rest = item.partition("[")
    if not bracket:
        yield item
        return
    inside, _, after = rest.partition("]")
    for part in inside.split(","):
        low, high = _range(part)
        for number in range(int(low), high + 1):
            for tail in _expand(after):
                yield f"{before}{number:0{len(low)}}{tail}"


def _range(part: str) -> tuple[str, int]:
    match = _RANGE.fullmatch(part)
    low, high = (match.group(1), match.group(2) or match.group(1)) if match else ("1", "0")
    if int(high) < int(low):
        raise _not_a_list(f"sbatch: error: _parse_single_range: Invalid range: `{part}'")
    if int(high) - int(low) >= MOST_HOSTS:
        raise _not_a_list(f"sbatch: error: _parse_single_range: Too many hosts in range `{part}'")
    return low, int(high)


def host_list(names: list[str]) -> str:
    """Write names in their order as Slurm does: ``cpu7,gpu[1-2]``; neighbours of one kind share brackets."""
    written: list[str] = []
    numbers: list[int] = []
    kind: tuple[str, int] | None = None
    for name in names:
        match = _NUMBERED.fullmatch(name)
        this = (match.group(1), _width(match.group(2))) if match else None
        if this != kind or this is None:
            written += [_bracketed(kind, numbers)] if kind else []
            kind, numbers = this, []
        if match:
            numbers.append(int(match.group(2)))
        else:
            written.append(name)
    return ",".join(written + ([_bracketed(kind, numbers)] if kind else []))


def distinct(names: list[str]) -> list[str]:
    """Sort names as Slurm does (by what stands before the number, then by it) and drop repeats."""

    def order(name: str) -> tuple[str, int, str]:
        match = _NUMBERED.fullmatch(name)
        return (match.group(1), int(match.group(2)), name) if match else (name, -1, name)

    return sorted(set(names), key=order)


def _width(digits: str) -> int:
    return len(digits) if digits.startswith("0") else 0


def _bracketed(kind: tuple[str, int], numbers: list[int]) -> str:
    prefix, width = kind
    text = _DIGITS.sub(lambda match: match.group().zfill(width), ranges(numbers))
    return f"{prefix}[{text}]" if len(numbers) > 1 else f"{prefix}{text}"
