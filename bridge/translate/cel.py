"""Evaluates CEL selectors on devices with the official C++ library, and Kubernetes' own additions to it.

What flows in: an expression and a `Device`. What flows out: whether it selects the device. Additions:
``quantity()`` and ``semver()`` with their comparisons (k8s.io/apiserver/pkg/cel/library), and domains
that a device doesn't have read as empty (dynamic-resource-allocation/cel). The only import of the library.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import lru_cache
from typing import Final

from cel_expr_python import cel
from cel_expr_python.ext import ext_bindings, ext_math, ext_optional, ext_strings

from bridge.errors import InputError
from bridge.translate.devices import Device
from bridge.translate.quantity import quantity

_QUANTITY: Final = "quantity"
_SEMVER: Final = "semver"
_LITERAL: Final = re.compile(r"""'([^'\\]*)'|"([^"\\]*)\"""")
_VERSION: Final = re.compile(
    r"(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)(?:-([0-9A-Za-z.-]+))?(?:\+[0-9A-Za-z.-]+)?"
)
Wrapped = dict[str, str]
"""A value of a type that CEL itself doesn't have: kind and canonical text, so that equality is right."""


def _quantity_of(number: Fraction) -> Wrapped:
    return {_QUANTITY: f"{number.numerator}/{number.denominator}"}


def _version_of(text: str) -> Wrapped:
    if not _VERSION.fullmatch(text):
        raise ValueError(f"{text!r} is not a semantic version")
    return {_SEMVER: text.partition("+")[0]}


def _is_quantity(text: str) -> bool:
    try:
        quantity(text)
    except ValueError:
        return False
    return True


_Order = tuple[Fraction, ...] | tuple[int, int, int, bool, tuple[tuple[bool, int, str], ...]]


def _order(value: Mapping[str, str]) -> _Order:
    if _QUANTITY in value:
        return (Fraction(value[_QUANTITY]),)
    match = _VERSION.fullmatch(value[_SEMVER])
    assert match is not None  # noqa: S101 -- `_version_of` has looked
    parts = tuple(
        (not part.isdigit(), int(part) if part.isdigit() else 0, part)
        for part in (match[4] or "").split(".")
        if part
    )
    return (int(match[1]), int(match[2]), int(match[3]), not parts, parts)


def _compare(left: Mapping[str, str], right: Mapping[str, str]) -> int:
    if left.keys() != right.keys():
        raise ValueError("a quantity is compared with a version")
    one, other = _order(left), _order(right)
    return (one > other) - (one < other)  # type: ignore[operator]  # same kind on both sides


def _function(
    name: str, returns: cel.Type, *takes: cel.Type, member: bool = False, impl: Callable[..., object]
) -> cel.FunctionDecl:
    overload = cel.Overload(
        f"sluice_{name}", return_type=returns, parameters=list(takes), is_member=member, impl=impl
    )
    return cel.FunctionDecl(name, [overload])


def functions() -> list[cel.FunctionDecl]:
    """Return Kubernetes' functions on quantities and versions."""
    kind = cel.Type
    pair = (kind.MAP, kind.MAP)
    return [
        _function("quantity", kind.MAP, kind.STRING, impl=lambda text: _quantity_of(quantity(text))),
        _function("isQuantity", kind.BOOL, kind.STRING, impl=_is_quantity),
        _function("semver", kind.MAP, kind.STRING, impl=_version_of),
        _function("isSemver", kind.BOOL, kind.STRING, impl=lambda text: _VERSION.fullmatch(text) is not None),
        _function("compareTo", kind.INT, *pair, member=True, impl=_compare),
        _function("isGreaterThan", kind.BOOL, *pair, member=True, impl=lambda a, b: _compare(a, b) > 0),
        _function("isLessThan", kind.BOOL, *pair, member=True, impl=lambda a, b: _compare(a, b) < 0),
        _function("major", kind.INT, kind.MAP, member=True, impl=lambda a: int(a[_SEMVER].split(".")[0])),
        _function("minor", kind.INT, kind.MAP, member=True, impl=lambda a: int(a[_SEMVER].split(".")[1])),
    ]


def _environment() -> cel.Env:
    return cel.NewEnv(
        variables={"device": cel.Type.DYN},
        functions=functions(),
        extensions=[
            ext_strings.ExtStrings(),
            ext_optional.ExtOptional(),
            ext_bindings.ExtBindings(),
            ext_math.ExtMath(),
        ],
    )


_ENVIRONMENT: Final = _environment()


@lru_cache(maxsize=4096)
def _compiled(expression: str) -> cel.Expression:
    try:
        return _ENVIRONMENT.compile(expression)
    except RuntimeError as error:
        raise InputError(f"the selector {expression!r} isn't valid CEL: {_first_line(error)}") from error


def _first_line(error: Exception) -> str:
    return str(error).splitlines()[0].removeprefix("INVALID_ARGUMENT: ")


def _by_domain(values: Mapping[str, object], expression: str) -> dict[str, dict[str, object]]:
    """Group qualified names by domain; domains that the expression names and the device lacks are empty."""
    domains: dict[str, dict[str, object]] = {
        one or other: {} for one, other in _LITERAL.findall(expression) if "." in (one or other)
    }
    for name, value in values.items():
        domain, _, identifier = name.rpartition("/")
        domains.setdefault(domain, {})[identifier] = value
    return domains


def _variables(device: Device, expression: str) -> dict[str, object]:
    attributes: dict[str, object] = {
        name: _version_of(str(value)) if name in device.versions else value
        for name, value in device.attributes.items()
    }
    capacity: dict[str, object] = {name: _quantity_of(value) for name, value in device.capacity.items()}
    return {
        "driver": device.driver,
        "attributes": _by_domain(attributes, expression),
        "capacity": _by_domain(capacity, expression),
    }


def selects(expression: str, device: Device) -> bool:
    """Return whether a selector selects a device.

    Raises
    ------
    InputError
        The expression isn't CEL, fails on this device (an attribute that it lacks), or gives no bool.
    """
    outcome = _compiled(expression).eval(data={"device": _variables(device, expression)})
    value = outcome.value()
    if not isinstance(value, bool):
        raise InputError(f"the selector {expression!r} fails on device {device.name}: {value}")
    return value
