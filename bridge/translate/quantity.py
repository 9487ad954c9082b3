"""Kubernetes quantities as exact numbers, and their rounding for Slurm.

Pure. A quantity is a `Fraction` of its base unit (CPUs, bytes, pieces): sums are exact and nothing is
rounded before `cpus`, `mib` or `pieces` round up, once. Source: k8s.io/apimachinery/pkg/api/resource.
"""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Final

_GRAMMAR: Final = re.compile(
    r"(?P<sign>[+-]?)(?P<number>[0-9]+(?:\.[0-9]*)?|\.[0-9]+)"
    r"(?:(?P<suffix>[numkMGTPE]|[KMGTPE]i)|[eE](?P<exponent>[+-]?[0-9]{1,9}))?"
)
_FACTORS: Final = {
    "n": Fraction(1, 10**9),
    "u": Fraction(1, 10**6),
    "m": Fraction(1, 1000),
    **{suffix: Fraction(1000**power) for power, suffix in enumerate("kMGTPE", start=1)},
    **{f"{suffix}i": Fraction(1024**power) for power, suffix in enumerate("KMGTPE", start=1)},
}
_NANO: Final = 10**9
_MOST: Final = Fraction(2**63 - 1)
"""Kubernetes cuts larger quantities to this, silently."""
_LARGEST_EXPONENT: Final = 40
"""Beyond it a number is above `_MOST`, or below a billionth, whatever its digits (at most 40 are read)."""
_LONGEST: Final = 40


def quantity(value: str | int | float) -> Fraction:
    """Read a quantity as the API server does.

    Parameters
    ----------
    value
        Text (``500m``, ``1.5Gi``, ``129e6``), or a number of a JSON or YAML document.

    Returns
    -------
    Fraction
        Exact, but as in Kubernetes rounded up to a billionth (away from zero) and cut to 63 bits.

    Raises
    ------
    ValueError
        The text isn't a quantity; the message says what one looks like.
    """
    text = value if isinstance(value, str) else repr(value)
    match = _GRAMMAR.fullmatch(text)
    if match is None or len(text) > _LONGEST:
        raise ValueError(
            f"{text[:_LONGEST]!r} is not a quantity; write a number with an optional suffix (500m, 4,"
            " 1.5Gi, 2G)"
        )
    number = Fraction(match["number"].rstrip(".") if match["number"] != "." else "0")
    if match["suffix"]:
        number *= _FACTORS[match["suffix"]]
    elif match["exponent"]:
        exponent = max(-2 * _LARGEST_EXPONENT, min(2 * _LARGEST_EXPONENT, int(match["exponent"])))
        number *= Fraction(10) ** exponent
    number = min(Fraction(ceiling(number * _NANO), _NANO), _MOST)
    return -number if match["sign"] == "-" else number


def ceiling(number: Fraction) -> int:
    """Return the least whole number that is not below."""
    return -(-number.numerator // number.denominator)


def milli(number: Fraction) -> int:
    """Round up to thousandths (Kubernetes keeps CPU so)."""
    return ceiling(number * 1000)


def cpus(number: Fraction) -> int:
    """Round a pod's CPUs up to whole ones, once; at least 1, since 0 means other things to Slurm."""
    return max(1, ceiling(Fraction(milli(number), 1000)))


def mib(number: Fraction) -> int | None:
    """Round a pod's bytes up to MiB; None when there are none (0 would be all memory of the node)."""
    return ceiling(number / 2**20) or None


def spoken(number: Fraction, *, binary: bool = False) -> str:
    """Write a quantity as people do: ``500m``, ``3``, ``64Gi``."""
    if binary:
        for power, suffix in reversed([*enumerate("KMGTPE", start=1)]):
            unit = 1024**power
            if number >= unit and (number / unit).denominator == 1:
                return f"{number / unit}{suffix}i"
    if number.denominator == 1:
        return str(number.numerator)
    return f"{milli(number)}m"
