"""What a user may have meant otherwise: sentences about a script that sbatch takes without a word.

Pure. In: the script and what `parse` made of it. Out: hints, by line. A hint never refuses anything.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from bridge.sbatch.context import Origin, ParsedScript
from bridge.sbatch.scan import header_end

MOST: Final = 100
"""Hints of one script, at most."""
_LINE: Final = re.compile(rb"^[^\n]*$", re.MULTILINE)
_LATE: Final = re.compile(rb"^#SBATCH\b", re.MULTILINE)
_ALMOST: Final = re.compile(
    rb"^(?:[ \t]+#[ \t]*SBATCH\b|#[ \t]+SBATCH\b|#(?!SBATCH)(?i:sbatch)\b)", re.MULTILINE
)
_MEMORY: Final = frozenset(("mem", "mem-per-cpu", "mem-per-gpu"))


@dataclass(frozen=True, slots=True)
class Hint:
    """One sentence, and the line of the script that it is about (None: another place)."""

    message: str
    line: int | None = None


def hints(script: bytes, parsed: ParsedScript) -> tuple[Hint, ...]:
    """Return the hints, those about lines first."""
    found = [*_lines(script), *_values(parsed), *_overruled(parsed), *_missing(parsed)]
    found = list(dict.fromkeys(found))  # components share what the first one says
    return tuple(sorted(found, key=lambda hint: hint.line or 10**9)[:MOST])


def _lines(script: bytes) -> Iterator[Hint]:
    end = header_end(script)
    for match in _LATE.finditer(script, end):
        said = "this directive comes after the first command and is ignored; move it up"
        yield Hint(said, script.count(b"\n", 0, match.start()) + 1)
    for match in _ALMOST.finditer(script, 0, end):
        said = "this line is a comment: a directive begins with #SBATCH at the first column"
        yield Hint(said, script.count(b"\n", 0, match.start()) + 1)


def _values(parsed: ParsedScript) -> Iterator[Hint]:
    for origins in parsed.origins_of:
        for option, origin in origins.items():
            value = origin.value or ""
            if option in ("time", "time-min") and value.isascii() and value.isdigit():
                yield Hint(
                    f"{_shown(option, origin)} is {value} minutes; write H:MM:SS for hours", origin.line
                )
            if "$" in value and origin.source == "script" and option not in ("export", "comment"):
                yield Hint(
                    f"{_shown(option, origin)} is taken as it is: nothing is expanded here", origin.line
                )


def _overruled(parsed: ParsedScript) -> Iterator[Hint]:
    for option in sorted(parsed.overruled):
        others = sorted(_MEMORY - {option}) if option in _MEMORY else []
        why = f"memory is asked by --{' or --'.join(others)}" if others else "another option rules it out"
        yield Hint(f"--{option} counts for nothing: {why}")


def _missing(parsed: ParsedScript) -> Iterator[Hint]:
    if any(spec.time_limit_min is None for spec in parsed.specs):
        yield Hint(
            "no --time is said: the partition's default holds, and short jobs start sooner when they say so"
        )


def _shown(option: str, origin: Origin) -> str:
    return f"{origin.text}={origin.value}" if origin.source == "environment" else f"--{option}={origin.value}"
