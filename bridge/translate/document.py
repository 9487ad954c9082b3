"""Typed access to a JSON mapping: each wrong type becomes one sentence that names the field.

Pure. The one place where `object` values of a parsed document are looked at; the readers of this package
go through it. A field that is absent or null gives the empty value of its type, as in Kubernetes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from types import MappingProxyType
from typing import Final

from bridge.errors import InputError
from bridge.translate.quantity import quantity

Json = Mapping[str, object]
EMPTY: Final[Json] = MappingProxyType({})


class Doc:
    """One mapping of a document and its path (``spec.containers[0]``)."""

    __slots__ = ("_values", "path")

    def __init__(self, values: object, path: str = "") -> None:
        if not isinstance(values, Mapping):
            raise InputError(f"{path or 'the object'} must be a mapping")
        self._values: Json = values
        self.path = path

    def _at(self, key: str) -> str:
        return f"{self.path}.{key}" if self.path else key

    def has(self, key: str) -> bool:
        """Whether the field is there and not null."""
        return self._values.get(key) is not None

    def names(self) -> tuple[str, ...]:
        """Return the names of all fields."""
        return tuple(self._values)

    def text(self, key: str) -> str:
        """Return a string, "" where absent."""
        value = self._values.get(key)
        if value is None:
            return ""
        if not isinstance(value, str):
            raise InputError(f"{self._at(key)} must be a string, not {value!r}")
        return value

    def number(self, key: str) -> int | None:
        """Return a whole number, None where absent."""
        value = self._values.get(key)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int):
            raise InputError(f"{self._at(key)} must be a whole number, not {value!r}")
        return value

    def flag(self, key: str) -> bool:
        """Return a truth value, False where absent."""
        value = self._values.get(key)
        if value is None:
            return False
        if not isinstance(value, bool):
            raise InputError(f"{self._at(key)} must be true or false, not {value!r}")
        return value

    def child(self, key: str) -> Doc:
        """Return the mapping below a field, an empty one where absent."""
        value = self._values.get(key)
        return Doc(EMPTY if value is None else value, self._at(key))

    def children(self, key: str) -> tuple[Doc, ...]:
        """Return the mappings of a list."""
        return tuple(Doc(item, f"{self._at(key)}[{index}]") for index, item in enumerate(self._list(key)))

    def texts(self, key: str) -> tuple[str, ...]:
        """Return the strings of a list."""
        values = self._list(key)
        for value in values:
            if not isinstance(value, str):
                raise InputError(f"{self._at(key)} must be a list of strings, not {value!r} among them")
        return tuple(str(value) for value in values)

    def strings(self, key: str) -> Mapping[str, str]:
        """Return a mapping of strings (labels, annotations)."""
        child = self.child(key)
        return {name: child.text(name) for name in child.names()}

    def quantities(self, key: str) -> Mapping[str, Fraction]:
        """Return a mapping of Kubernetes quantities (a resource list)."""
        child = self.child(key)
        return {name: child.quantity(name) for name in child.names()}

    def quantity(self, key: str) -> Fraction:
        """Return one quantity, 0 where absent."""
        value = self._values.get(key)
        if value is None:
            return Fraction(0)
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            raise InputError(f"{self._at(key)} must be a quantity, not {value!r}")
        try:
            return quantity(value)
        except ValueError as error:
            raise InputError(f"{self._at(key)}: {error}") from error

    def _list(self, key: str) -> Sequence[object]:
        value = self._values.get(key)
        if value is None:
            return ()
        if isinstance(value, str) or not isinstance(value, Sequence):
            raise InputError(f"{self._at(key)} must be a list")
        return value

    @property
    def raw(self) -> Json:
        """The mapping itself, for what is handed on unread."""
        return self._values
