"""Dataclasses of the port <-> plain maps, used by both ends of the wire.

In: the frozen dataclasses of `bridge.job` and `bridge.slurm.port`. Out: maps of msgpack's own types
(str, int, float, bool, bytes, datetime, None, list, map); a field that has its default is left out.
The conversion of a class is worked out once from its annotations, so that a listing of 10,000 jobs
costs no reflection. What doesn't belong here: sockets (`bridge.wire`) and Slurm's own formats.
"""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Callable, Mapping
from datetime import datetime
from enum import StrEnum
from typing import Any, Final, TypeVar

from bridge.errors import InputError

Plain = dict[str, Any]
Convert = Callable[[Any], Any] | None
"""None means "travels as it is"."""

_AS_IT_IS: Final = (str, int, float, bool, bytes, datetime, types.NoneType)
_T = TypeVar("_T")


@dataclasses.dataclass(frozen=True, slots=True)
class _Field:
    name: str
    default: Any
    encode: Convert
    decode: Convert


_KNOWN: Final[dict[type, tuple[_Field, ...]]] = {}


def encode(value: object) -> Plain:
    """Turn one dataclass into a map of msgpack's types."""
    plain: Plain = {}
    for field in _fields(type(value)):
        item = getattr(value, field.name)
        if field.default is not dataclasses.MISSING and item == field.default:
            continue
        plain[field.name] = item if field.encode is None else field.encode(item)
    return plain


def decode(cls: type[_T], plain: Mapping[str, Any]) -> _T:
    """Build `cls` from a map that `encode` made.

    Raises
    ------
    InputError
        A key that is no field, or a field that is missing: the two ends differ in version.
    """
    known = _fields(cls)
    given = {
        field.name: plain[field.name] if field.decode is None else field.decode(plain[field.name])
        for field in known
        if field.name in plain
    }
    if len(given) != len(plain):
        extra = sorted(set(plain) - set(given))
        raise InputError(f"{cls.__name__} has no field {', '.join(extra)}: update both ends of the wire")
    try:
        return cls(**given)
    except TypeError as error:
        raise InputError(f"{cls.__name__} is incomplete: {error}") from error


def _fields(cls: type) -> tuple[_Field, ...]:
    known = _KNOWN.get(cls)
    if known is None:
        known = _KNOWN[cls] = _work_out(cls)
    return known


def _work_out(cls: type) -> tuple[_Field, ...]:
    hints = typing.get_type_hints(cls)
    found = []
    for field in dataclasses.fields(cls):
        default = field.default
        if field.default_factory is not dataclasses.MISSING:
            default = field.default_factory()
        forth, back = _converters(hints[field.name], f"{cls.__name__}.{field.name}")
        found.append(_Field(name=field.name, default=default, encode=forth, decode=back))
    return tuple(found)


def _converters(hint: Any, where: str) -> tuple[Convert, Convert]:
    origin, args = typing.get_origin(hint), typing.get_args(hint)
    if hint in _AS_IT_IS or origin is typing.Literal:
        return None, None
    if origin in (typing.Union, types.UnionType):
        return _union(args, where)
    if origin in (tuple, frozenset):
        return _collection(origin, args[0], where)
    if origin is not None and issubclass(origin, Mapping):
        return _mapping(args[1], where)
    if isinstance(hint, type) and issubclass(hint, StrEnum):
        return str, hint
    if isinstance(hint, type) and dataclasses.is_dataclass(hint):
        return encode, _decoder(hint)
    raise TypeError(f"{where}: {hint!r} has no form on the wire")


def _decoder(cls: type) -> Callable[[Any], Any]:
    return lambda plain: decode(cls, plain)


def _union(args: tuple[Any, ...], where: str) -> tuple[Convert, Convert]:
    pairs = [_converters(arg, where) for arg in args if arg is not types.NoneType]
    if all(forth is None for forth, _ in pairs):
        return None, None
    if len(pairs) != 1:
        raise TypeError(f"{where}: a union of several converted types has no form on the wire")
    forth, back = pairs[0]
    return _optional(forth), _optional(back)


def _optional(convert: Convert) -> Convert:
    return None if convert is None else lambda value: None if value is None else convert(value)


def _collection(origin: Any, item: Any, where: str) -> tuple[Convert, Convert]:
    forth, back = _converters(item, where)
    # Sets are sorted so that equal values have equal bytes.
    arrange: Callable[[Any], list[Any]] = list if origin is tuple else sorted

    def encode_items(value: Any) -> list[Any]:
        items = arrange(value)
        return items if forth is None else [forth(each) for each in items]

    def decode_items(value: Any) -> Any:
        return origin(value) if back is None else origin(back(each) for each in value)

    return encode_items, decode_items


def _mapping(item: Any, where: str) -> tuple[Convert, Convert]:
    forth, back = _converters(item, where)
    if forth is not None or back is not None:
        raise TypeError(f"{where}: a map of converted values has no form on the wire")
    return dict, None
