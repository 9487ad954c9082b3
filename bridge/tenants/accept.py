"""Which documents hold, when some of them are wrong: the right ones go on, a wrong one stays as it was.

Pure but for the check that it is given. A folder is refused as a whole; custom resources come one by one
from different people, so that nobody's mistake may stop the others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from bridge.errors import TenantError
from bridge.tenants.resource import Record
from bridge.tenants.source import Text, faults_of, parse

Check = Callable[[Sequence[Text], Sequence[Text]], None]
"""Raises `TenantError` when the second documents can't take the place of the first."""


@dataclass(frozen=True, slots=True)
class Acceptance:
    """The documents that hold; why others don't; which deleted ones have to wait."""

    documents: tuple[Text, ...] = ()
    refused: Mapping[str, str] = field(default_factory=dict)
    """Tenant to the sentence that says what is wrong."""
    kept: Mapping[str, str] = field(default_factory=dict)
    """Deleted tenant to why it is still in force."""

    def document(self, file: str) -> Text | None:
        """Return the document of a file that holds."""
        return next((text for text in self.documents if text.file == file), None)


def accept(records: Sequence[Record], check: Check) -> Acceptance:
    """Choose the documents that hold together; `check` raises `TenantError`, or what stops the pass."""
    kept = _kept(records)
    living = [each for each in records if not each.deleted or each.name in kept]
    base = {each.file: each.in_force for each in living if each.in_force is not None}
    refused = {each.name: each.fault for each in living if each.fault}
    changed = {
        each.file: each.wanted
        for each in living
        if each.wanted is not None and each.wanted != base.get(each.file) and not each.deleted
    }
    documents, wrong = _together(base, changed, check)
    names = {each.file: each.name for each in living}
    refused |= {names[file]: message for file, message in wrong.items()}
    return Acceptance(tuple(documents[file] for file in sorted(documents)), refused, kept)


def _kept(records: Iterable[Record]) -> dict[str, str]:
    """Return the deleted tenants that have others below them."""
    found = list(records)
    children: dict[str, list[str]] = {}
    for each in found:
        if each.deleted:
            continue
        for text in filter(None, (each.wanted, each.in_force)):
            sourced, _ = parse(text)
            if sourced is not None and sourced.tenant.parent:
                children.setdefault(sourced.tenant.parent, []).append(each.name)
    return {
        each.name: f"tenants below it are still there: {', '.join(sorted(set(children[each.name])))}"
        for each in found
        if each.deleted and each.name in children
    }


def _together(
    base: Mapping[str, Text], changed: Mapping[str, Text], check: Check
) -> tuple[dict[str, Text], dict[str, str]]:
    """Put all changes over the base; those that faults name are left out, else one is tried after another."""
    left, wrong = dict(changed), dict[str, str]()
    while left:
        try:
            check(_sorted(base), _sorted({**base, **left}))
        except TenantError as error:
            named = {fault.file: fault.message for fault in faults_of(error) if fault.file in left}
            if not named:
                singles, refused = _one_by_one(base, left, check)
                return singles, {**wrong, **refused}
            wrong |= named
            left = {file: text for file, text in left.items() if file not in named}
            continue
        break
    # What was left out because of another one that is wrong, too, may be right beside the rest.
    return {**base, **left}, wrong


def _one_by_one(
    base: Mapping[str, Text], changed: Mapping[str, Text], check: Check
) -> tuple[dict[str, Text], dict[str, str]]:
    documents, wrong = dict(base), dict[str, str]()
    for file, text in changed.items():
        try:
            check(_sorted(documents), _sorted({**documents, file: text}))
        except TenantError as error:
            wrong[file] = error.message
        else:
            documents[file] = text
    return documents, wrong


def _sorted(texts: Mapping[str, Text]) -> tuple[Text, ...]:
    return tuple(texts[file] for file in sorted(texts))
