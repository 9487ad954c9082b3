"""What a change makes of the documents, before anything is written.

Pure. What flows in: the documents as they lie in the folder and those that somebody gives. What flows out:
the documents as they would be, the actions that a person reads, and the faults that this change brings.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Final

from bridge.errors import Outdated, TenantError
from bridge.policy.documents import PoolFault, Sourced, capacity_faults, guarantees
from bridge.policy.pool import Pool
from bridge.tenants.plan import Action
from bridge.tenants.source import Text, faults_of, parse_all, refuse


def merged(
    before: Sequence[Text], given: Sequence[Text], *, prune: bool
) -> tuple[tuple[Text, ...], tuple[Action, ...]]:
    """Put the given documents over those in the folder; a tenant keeps the file that it is in.

    The names of the given files are only for messages: a new tenant's document becomes ``NAME.yaml``.
    With `prune` the given documents are all that stay. Raises `TenantError`.
    """
    sourced = parse_all(given)
    _check_files(sourced, given)
    text_of = {text.file: text.text for text in given}
    old = {text.file: text.text for text in before}
    file_of = {item.tenant.name: item.file for item in _readable(before)}
    after = {} if prune else dict(old)
    actions: list[Action] = []
    for item in sourced:
        name = item.tenant.name
        file = file_of.get(name) or _free(name, file_of)
        after[file] = text_of[item.file]
        if old.get(file) != after[file]:
            actions.append(Action("change" if file in old else "create", "document", name))
    actions.extend(Action("remove", "document", name) for name, file in file_of.items() if file not in after)
    return tuple(Text(file, text) for file, text in sorted(after.items())), tuple(actions)


@dataclass(frozen=True, slots=True)
class Edit:
    """One document before and after; None is no document."""

    tenant: str
    file: str
    before: str | None
    after: str | None


def edits(before: Sequence[Text], after: Sequence[Text]) -> tuple[Edit, ...]:
    """Return the documents that differ, by file; a broken one goes by its file's name."""
    old, new = ({text.file: text.text for text in texts} for texts in (before, after))
    names = {item.file: item.tenant.name for item in (*_readable(before), *_readable(after))}
    return tuple(
        Edit(names.get(file, file), file, old.get(file), new.get(file))
        for file in sorted(old.keys() | new.keys())
        if old.get(file) != new.get(file)
    )


@contextmanager
def named_as_given(before: Sequence[Text], given: Sequence[Text]) -> Iterator[None]:
    """Let faults name the files that somebody gave, not those that the folder would have."""
    try:
        yield
    except TenantError as error:
        file_of = {item.tenant.name: item.file for item in _readable(before)}
        names = {
            file_of.get(item.tenant.name) or _free(item.tenant.name, file_of): item.file
            for item in _readable(given)
        }
        refuse([replace(fault, file=names.get(fault.file, fault.file)) for fault in faults_of(error)])


def _free(name: str, file_of: Mapping[str, str]) -> str:
    # Another tenant's document may lie in a file of this name, put there by hand.
    file = f"{name}.yaml"
    while file in file_of.values():
        file = f"_{file}"
    return file


def without(before: Sequence[Text], name: str) -> tuple[Text, ...]:
    """Return the documents without one tenant's."""
    gone = {item.file for item in _readable(before) if item.tenant.name == name}
    return tuple(text for text in before if text.file not in gone)


def _readable(texts: Sequence[Text]) -> tuple[Sourced, ...]:
    # A document that somebody broke by hand can be mended by applying a good one in its place.
    found: list[Sourced] = []
    for text in texts:
        try:
            found.extend(parse_all([text]))
        except TenantError:
            continue
    return tuple(found)


def _check_files(sourced: Sequence[Sourced], given: Sequence[Text]) -> None:
    first: dict[str, str] = {}
    wrong: list[PoolFault] = []
    for item in sourced:
        name = item.tenant.name
        if name in first:
            message = f"tenant {name} is in {first[name]} already; rename or remove one of the two"
            wrong.append(PoolFault(item.file, "name", message))
        first.setdefault(name, item.file)
    files = [text.file for text in given]
    for file in dict.fromkeys(files):
        if files.count(file) > 1:
            wrong.append(PoolFault(file, "", "two documents have this file name; give each its own"))
    refuse(wrong)


def new_capacity_faults(
    before: Sequence[Text], after: Sequence[Text], documents: Sequence[Sourced], pool: Pool
) -> tuple[PoolFault, ...]:
    """Return the faults against the pool that this change brings about.

    A node that fails makes promises that were made before too large; this is no reason to refuse a change
    that has nothing to do with it, or to stop repairing.
    """
    found = capacity_faults(documents, pool)
    if not found or list(before) == list(after):
        return ()
    old = _readable(before)
    known = {fault.path for fault in capacity_faults(old, pool)}
    earlier, now = guarantees(old), guarantees(documents)
    grown = {f"flavors.{name}.guarantee" for name, total in now.items() if total > earlier.get(name, 0)}
    return tuple(fault for fault in found if fault.path not in known or fault.path in grown)


def revision(texts: Sequence[Text]) -> int:
    """Return a number that is another one whenever the documents are other ones, also across restarts."""
    digest = hashlib.sha256()
    for text in texts:
        digest.update(f"{text.file}\0{text.text}\0".encode())
    return int.from_bytes(digest.digest()[:6], "big")


def document_revision(text: str) -> str:
    """Return a short text that is another one whenever the document is."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


ANY: Final = "*"


def check_expected(
    texts: Sequence[Text], expected: Mapping[str, str | None], whole: int | None = None
) -> None:
    """Refuse a change that was made for another state of the documents.

    Parameters
    ----------
    expected
        Tenant to the revision of its document, `ANY` when one must be there, None when none may be.
    whole
        The revision of all documents together; None when it doesn't matter.

    Raises
    ------
    Outdated
        Something else is there.
    """
    if whole is not None and whole != revision(texts):
        raise Outdated("the documents were changed in the meantime; look at the plan again, then apply")
    text_of = {text.file: text.text for text in texts}
    present = {item.tenant.name: document_revision(text_of[item.file]) for item in _readable(texts)}
    for name, wanted in expected.items():
        found = present.get(name)
        if found == wanted or (wanted == ANY and found is not None):
            continue
        if found is None:
            said = f"there is no tenant {name} any more"
        elif wanted is None:
            said = f"there is a tenant {name} already"
        else:
            said = f"tenant {name} was changed in the meantime"
        raise Outdated(f"{said}; read it again, then send the change anew", tenant=name, revision=found)
