"""Says what is wrong in a tenant document in sentences that name the key and the remedy.

Pure. What flows in: pydantic's `ValidationError`. What flows out: `Fault` entries with the path in the
document (``members[0].user``) and one sentence. Which file it was is `bridge.tenants.source`'s business.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from bridge.policy.tenant import Budget, Classes, FlavorGrant, Limits, Member, Tenant


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing that is wrong: `path` in the document (empty for the whole), and what to do."""

    path: str
    message: str


_PARTS: Final[Mapping[str, type[BaseModel]]] = {
    "": Tenant,
    "members": Member,
    "flavors": FlavorGrant,
    "classes": Classes,
    "limits": Limits,
    "budget": Budget,
}
_TENANT_NAMES: Final = "small letters a-z, digits and '-', beginning with a letter, at most 30 characters"
_NAMES: Final[Mapping[str, str]] = {
    "name": _TENANT_NAMES,
    "parent": _TENANT_NAMES,
    "price_book": _TENANT_NAMES,
    "currency": "three capital letters, as EUR",
    "user": "small letters a-z, digits, '_' and '-', beginning with a letter or '_', at most 31 characters",
    "namespaces": "small letters a-z, digits and '-' as Kubernetes takes them, at most 63 characters",
    "[key]": "small letters a-z, digits, '.', '_' and '-', at most 30 characters",
}
_MAPPING: Final = "{last} is {given}; give a mapping of keys and values"
_WHOLE: Final = "{last} is {given}; give a whole number"
_SENTENCES: Final[Mapping[str, str]] = {
    "extra_forbidden": "unknown key {last!r}; known keys here are {keys}",
    "missing": "{last} is missing; add it",
    "greater_than": "{last} is {given}; give more than {gt}",
    "greater_than_equal": "{last} is {given}; give at least {ge}",
    "less_than_equal": "{last} is {given}; give at most {le}",
    "int_type": _WHOLE,
    "int_from_float": _WHOLE,
    "int_parsing": _WHOLE,
    "decimal_type": "{last} is {given}; give an amount, as 2500.00",
    "decimal_parsing": "{last} is {given}; give an amount, as 2500.00",
    "decimal_max_places": "{last} is {given}; give at most {decimal_places} digits after the point",
    "decimal_max_digits": "{last} is {given}; give at most {max_digits} digits",
    "decimal_whole_digits": "{last} is {given}; give at most {whole_digits} digits before the point",
    "finite_number": "{last} is {given}; give an amount, as 2500.00",
    "bool_type": "{last} is {given}; give true or false",
    "string_type": "{last} is {given}; give a text (in quotes when it looks like a number)",
    "string_pattern_mismatch": "{given} is not a name that Slurm and Linux take; use {names}",
    "literal_error": "{given} is not known here; choose {expected}",
    "too_short": "{last} is empty; name at least one",
    "model_type": _MAPPING,
    "model_attributes_type": _MAPPING,
    "dict_type": _MAPPING,
    "tuple_type": "{last} is {given}; give a list",
    "value_error": "{error}",
}
"""Type of pydantic's error to sentence; the names in braces are facts about this error."""


def faults(error: ValidationError) -> tuple[Fault, ...]:
    """Turn a validation error into faults, in the document's order."""
    return tuple(Fault(path_text(item["loc"]), _sentence(item)) for item in error.errors())


def path_text(loc: Sequence[str | int]) -> str:
    """Write pydantic's location as a path: ``("members", 0, "user")`` is ``members[0].user``."""
    text = ""
    for part in loc:
        if part == "[key]":
            continue
        text += f"[{part}]" if isinstance(part, int) else f"{'.' if text else ''}{part}"
    return text


def _sentence(item: ErrorDetails) -> str:
    last = str(item["loc"][-1]) if item["loc"] else "the document"
    facts: dict[str, Any] = {"last": last, "given": _shown(item.get("input")), **(item.get("ctx") or {})}
    facts["keys"] = _known_keys(item["loc"])
    facts["names"] = _NAMES.get(_key(item["loc"]), "a plain name")
    template = _SENTENCES.get(item["type"])
    return template.format(**facts) if template else f"{last}: {item['msg']}; correct it"


def _key(loc: Sequence[str | int]) -> str:
    """Return the key that a value stands under; an entry of a list stands under the list's."""
    return next((str(part) for part in reversed(loc) if not isinstance(part, int)), "")


def _known_keys(loc: Sequence[str | int]) -> str:
    model = _PARTS.get(str(loc[0]) if len(loc) > 1 else "", Tenant)
    return ", ".join(model.model_fields)


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
