"""Binding of tasks to GPUs and memory, and frequencies: what sbatch checks of these texts.

``--gpu-bind`` (src/common/tres_bind.c), ``--gpu-freq`` (tres_frequency.c),
``--cpu-freq`` (cpu_frequency.c, with Slurm's default governors), ``--mem-bind``
(slurm_resource_info.c). The texts themselves go on as they were written.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from bridge.sbatch.ctext import lower, tokens
from bridge.sbatch.integers import LONG_MAX, strtol
from bridge.sbatch.refusal import bad_option

MOST_REPEATS: Final = 4096
SHARED_GRES: Final = ("mps", "shard")
_GPU_FREQ_WORDS: Final = ("low", "medium", "high", "highm1")


def fault_of_gpu_bind(text: str) -> tuple[str, ...] | None:
    """Return None when every binding of a ``+`` list is one, else the lines that sbatch says first.

    Only the first binding of ``--gpu-bind`` is of GPUs; the others name their resource.
    """
    for token in tokens(f"gres/gpu:{text}", "+"):
        name, colon, binding = token.partition(":")
        if not colon or not name.startswith("gres/"):
            return ()
        said = _fault(binding, shared=name.removeprefix("gres/") in SHARED_GRES)
        if said is not None:
            return said
    return None


def _fault(text: str, *, shared: bool) -> tuple[str, ...] | None:
    binding = lower(text).removeprefix("verbose,")
    if binding.startswith("none") or (not shared and binding.startswith("closest")):
        return None
    kind, colon, value = binding.partition(":")
    if colon and (kind == "per_task" or (kind == "single" and not shared)):
        return None if 0 <= strtol(value)[0] < LONG_MAX else ()
    if not colon or shared or kind not in ("map", "map_gpu", "mask", "mask_gpu"):
        return ()
    listed = text[len(text) - len(value) :]
    return _fault_of_list(listed, "0123456789abcdefABCDEF*" if kind.startswith("mask") else "0123456789*")


def _fault_of_list(text: str, letters: str) -> tuple[str, ...] | None:
    for token in tokens(text, ","):
        item = token.removeprefix("0x") if "a" in letters else token
        for letter in item:
            if letter not in letters:
                return (f"sbatch: error: Failed to validate {item}, offending character is {letter}",)
        if item.count("*") > 1:
            return ()
    return None


def valid_gpu_freq(text: str) -> bool:
    """Whether ``--gpu-freq`` is a frequency or word, ``memory=`` one, or ``verbose``."""
    if not text:
        return False
    for part in tokens(text, ","):
        name, equals, value = part.partition("=")
        if equals:
            if name != "memory" or not _valid_frequency(value):
                return False
        elif part != "verbose" and not _valid_frequency(part):
            return False
    return True


def _valid_frequency(text: str) -> bool:
    if text[:1].isascii() and text[:1].isdigit():
        value, rest = strtol(text)
        return not rest and 0 <= value < LONG_MAX
    return text in _GPU_FREQ_WORDS


_MEM_BIND_WORDS: Final = {
    "p": "prefer",
    "prefer": "prefer",
    "q": "quiet",
    "quiet": "quiet",
    "v": "verbose",
    "verbose": "verbose",
    "no": "none",
    "none": "none",
    "rank": "rank",
    "local": "local",
}
_MEM_BIND_LISTS: Final = (("map_mem", "map_mem"), ("mapmem", "map_mem"), ("mask_mem", "mask_mem"))
_LIST_COMMA = re.compile(r",(?![0-9]|[0-9a-fA-F]*(?:,|$))")


def mem_bind(text: str) -> str:
    """Read ``--mem-bind`` into words that Slurm reads back: ``verbose,map_mem:0,1``.

    Raises
    ------
    Refusal
        A word or list that is not one.
    """
    flags: dict[str, None] = {}
    kind = ""
    for token in _LIST_COMMA.sub(";", text).split(";"):
        word = lower(token)
        known = _MEM_BIND_WORDS.get(word)
        if known in ("prefer", "verbose"):
            flags[known] = None
        elif known == "quiet":
            flags.pop("verbose", None)
        elif known:
            kind = known
        else:
            kind = _mem_bind_list(token, word)
    return ",".join([*flags, *filter(None, [kind])])


def _mem_bind_list(token: str, word: str) -> str:
    names = (*_MEM_BIND_LISTS, ("maskmem", "mask_mem"))
    name = next((full for start, full in names if word.startswith(start)), None)
    if name is None:
        raise _complaint(f'unrecognized --mem-bind argument "{token}"')
    listed = re.split("[:=]", token)[1:2]
    if not listed or not listed[0]:
        raise _complaint(f'missing list for "--mem-bind={name}:<list>"')
    for item in tokens(listed[0], ","):
        _check_item(item, mask=name == "mask_mem")
    return f"{name}:{','.join(_repeated(listed[0]))}"


def _check_item(item: str, *, mask: bool) -> None:
    number, star, times = (item.removeprefix("0x") if mask else item).partition("*")
    letters = "0123456789abcdefABCDEF" if mask else "0123456789"
    for text, part, allowed in ((star + times, times, "0123456789"), (number, number, letters)):
        bad = next((letter for letter in part if letter not in allowed), None)
        if bad is not None:
            raise _complaint(f"Failed to validate number: {text}, the offending character is {bad}")
        if star and part is times and strtol(times)[0] <= 0:
            raise _complaint(f"Invalid {'mask_mem' if mask else 'map_mem'} multiplier: {times}")


def _repeated(text: str) -> Iterator[str]:
    """Write ``0x3*2`` out as sbatch does: ``3,3``."""
    for item in tokens(text, ","):
        value, _, times = item.removeprefix("0x").partition("*")
        yield from [value] * min(int(times or 1), MOST_REPEATS)


def _complaint(message: str) -> Exception:
    return bad_option(message, option="mem-bind")
