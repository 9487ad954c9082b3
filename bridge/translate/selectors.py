"""Label selectors and node selector terms, with Kubernetes' own operators.

Pure. Sources: k8s.io/apimachinery labels.Requirement.Matches (a missing label satisfies NotIn and
DoesNotExist; Gt and Lt compare whole numbers and a label that isn't one never matches), and
component-helpers nodeaffinity (terms are ORed, inside a term all holds, an empty term matches nothing).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from bridge.errors import InputError
from bridge.translate.document import Doc

_OPERATORS: Final = frozenset({"In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"})
_INTEGER: Final = re.compile(r"[+-]?[0-9]{1,19}")


@dataclass(frozen=True, slots=True, order=True)
class Requirement:
    """One expression on a label or field."""

    key: str
    operator: str
    values: tuple[str, ...] = ()

    def holds(self, labels: Mapping[str, str]) -> bool:
        """Whether labels satisfy it."""
        value = labels.get(self.key)
        match self.operator:
            case "In":
                return value is not None and value in self.values
            case "NotIn":
                return value is None or value not in self.values
            case "Exists":
                return value is not None
            case "DoesNotExist":
                return value is None
            case "Gt":
                return self._compare(value, above=True)
            case _:
                return self._compare(value, above=False)

    def _compare(self, value: str | None, *, above: bool) -> bool:
        if value is None or len(self.values) != 1:
            return False
        if not (_INTEGER.fullmatch(value) and _INTEGER.fullmatch(self.values[0])):
            return False
        return int(value) > int(self.values[0]) if above else int(value) < int(self.values[0])


@dataclass(frozen=True, slots=True, order=True)
class Term:
    """One node selector term: all expressions on labels and on fields hold."""

    labels: tuple[Requirement, ...] = ()
    fields: tuple[Requirement, ...] = ()

    def holds(self, labels: Mapping[str, str], name: str) -> bool:
        """Whether a node of these labels and this name satisfies it; an empty term never holds."""
        if not self.labels and not self.fields:
            return False
        fields = {"metadata.name": name}
        return all(part.holds(labels) for part in self.labels) and all(
            part.holds(fields) for part in self.fields
        )


@dataclass(frozen=True, slots=True)
class LabelSelector:
    """A selector of objects by label; the empty one matches all, None (absent) none."""

    requirements: tuple[Requirement, ...] = ()

    def holds(self, labels: Mapping[str, str]) -> bool:
        """Whether an object's labels satisfy it."""
        return all(part.holds(labels) for part in self.requirements)


def read_requirement(document: Doc) -> Requirement:
    """Read one expression.

    Raises
    ------
    InputError
        An operator that Kubernetes doesn't have.
    """
    operator = document.text("operator")
    if operator not in _OPERATORS:
        raise InputError(f"{document.path}.operator {operator!r} is none of {', '.join(sorted(_OPERATORS))}")
    return Requirement(document.text("key"), operator, document.texts("values"))


def read_term(document: Doc) -> Term:
    """Read one node selector term."""
    return Term(
        tuple(read_requirement(part) for part in document.children("matchExpressions")),
        tuple(read_requirement(part) for part in document.children("matchFields")),
    )


def read_terms(document: Doc) -> tuple[Term, ...]:
    """Read a node selector (``nodeSelectorTerms``)."""
    return tuple(read_term(part) for part in document.children("nodeSelectorTerms"))


def read_label_selector(document: Doc) -> LabelSelector:
    """Read ``matchLabels`` and ``matchExpressions``."""
    exact = (Requirement(key, "In", (value,)) for key, value in document.strings("matchLabels").items())
    return LabelSelector(
        (*exact, *(read_requirement(part) for part in document.children("matchExpressions")))
    )


def any_holds(terms: Iterable[Term], labels: Mapping[str, str], name: str) -> bool:
    """Whether at least one term holds."""
    return any(term.holds(labels, name) for term in terms)
