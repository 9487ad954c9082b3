"""Integers as C reads them: what sbatch takes as a number, where it stops, and how it wraps.

sbatch reads numbers by strtol and stores them in ints of a fixed width (src/common/proc_args.c), so
``+1`` and `` 1`` are numbers, ``1x`` has a rest, and a large one wraps. Values here do the same.
"""

from __future__ import annotations

import re
from typing import Final

from bridge.sbatch.refusal import bad_number

INT_MAX: Final = 2**31 - 1
LONG_MAX: Final = 2**63 - 1
ULONG_MAX: Final = 2**64 - 1
LONG_MIN: Final = -(2**63)
_NO_VAL16: Final = 0xFFFE
_LONG = re.compile(r"[ \t\n\v\f\r]*([+-]?[0-9]+)")
_ANY_BASE = re.compile(
    r"[ \t\n\v\f\r]*(?P<sign>[+-]?)"
    r"(?:0[xX](?P<hex>[0-9a-fA-F]{1,16})|(?P<octal>0[0-7]{0,20})|(?P<decimal>[0-9]{1,18}))"
)
_DIGITS_OF_A_LONG: Final = 19


def strtol(text: str) -> tuple[int, str]:
    """Read the number at the start of `text`; return it, clamped to 64 bits, and the rest.

    Without a number the value is 0 and the rest is all of `text`, as in C.
    """
    match = _LONG.match(text)
    if match is None:
        return 0, text
    digits = match.group(1)
    rest = text[match.end() :]
    significant = digits.lstrip("+-").lstrip("0")
    if len(significant) > _DIGITS_OF_A_LONG:
        return (LONG_MIN if digits[0] == "-" else LONG_MAX), rest
    return max(LONG_MIN, min(LONG_MAX, int(digits))), rest


def strtoul(text: str) -> tuple[int, str]:
    """Read as `strtol` an unsigned number: clamped to 2**64 - 1, a negative one wraps."""
    match = _LONG.match(text)
    if match is None:
        return 0, text
    digits = match.group(1)
    significant = digits.lstrip("+-").lstrip("0")[: _DIGITS_OF_A_LONG + 2]
    value = int(significant or 0)
    if value > ULONG_MAX:
        return ULONG_MAX, text[match.end() :]
    return (-value if digits[0] == "-" else value) % (ULONG_MAX + 1), text[match.end() :]


def any_base(text: str) -> int:
    """Read as strtol() with base 0: ``0x`` is hexadecimal, a leading ``0`` octal; a rest is dropped."""
    match = _ANY_BASE.match(text)
    if match is None:
        return 0
    sign = -1 if match["sign"] == "-" else 1
    if match["hex"]:
        return sign * int(match["hex"], 16)
    return sign * int(match["octal"] or match["decimal"], 8 if match["octal"] else 10)


def int32(value: int) -> int:
    """Wrap to a signed 32-bit int."""
    return (value + 2**31) % 2**32 - 2**31


def uint32(value: int) -> int:
    """Wrap to an unsigned 32-bit int."""
    return value % 2**32


def short(value: int | None) -> int | None:
    """Cut to 16 bits, as messages to slurmctld do; what then reads "not set" (NO_VAL16) is not said."""
    cut = None if value is None else value % 2**16
    return None if cut == _NO_VAL16 else cut


def round_up(value: int, unit: int) -> int:
    """Divide, rounding up for positive values and towards zero as C does for negative ones."""
    quotient = abs(value + unit - 1) // unit
    return quotient if value + unit - 1 >= 0 else -quotient


def count(text: str, flag: str, *, positive: bool, option: str) -> int:
    """Read an option's count as parse_int() does; `flag` is how the message names it.

    Raises
    ------
    Refusal
        Not a number, has a rest, is negative (or zero when `positive`), or 2**31 - 1 and more.
    """
    value, rest = strtol(text)
    if rest or value < 0 or (positive and value == 0):
        raise bad_number(f'Invalid numeric value "{text}" for {flag}.', option)
    if value >= INT_MAX:
        raise bad_number(f"Numeric argument ({value}) too large for {flag}.", option)
    return value


def uint16(text: str) -> int | None:
    """Read a 16-bit count as parse_uint16() does; None when it is not one (65534 and more are not)."""
    value, rest = strtol(text)
    return None if rest or not 0 <= value < _NO_VAL16 else value
