"""Tenant documents as a folder of YAML files: reading, checking, writing.

What flows in: a folder (``NAME.yaml``) or documents with their file names. What flows out: `Sourced`
tenants, or one `TenantError` that lists every fault with file, path in the file and remedy. Nothing is
half read: one wrong document refuses all. What the documents mean together is `bridge.policy.pool`'s.
"""

from __future__ import annotations

import os
import re
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar, Final, Protocol

import yaml
from pydantic import ValidationError

from bridge.errors import NotFound, TenantError
from bridge.policy.documents import PoolFault, Sourced
from bridge.policy.faults import faults
from bridge.policy.tenant import Tenant

MAX_BYTES: Final = 256 * 1024
"""A document; 20 members take about 1 KiB."""
MAX_DEPTH: Final = 12
"""Nesting of mappings and lists; a tenant needs 4."""
MAX_DOCUMENTS: Final = 10_000
KEPT_CHARACTERS: Final = 8 * 1024
"""Longest document that is remembered with what was read from it."""


@dataclass(frozen=True, slots=True)
class Text:
    """One document as it is written, and the name of its file (no folder)."""

    file: str
    text: str


class _Loader(yaml.SafeLoader):
    """YAML of plain values: no aliases, no duplicate keys, no dates, no numbers in base 60."""

    yaml_implicit_resolvers: ClassVar[dict[Any, Any]] = {}  # type: ignore[misc]  # the stubs say "instance"
    depth = 0

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        event = self.peek_event()  # type: ignore[no-untyped-call]
        if isinstance(event, yaml.AliasEvent):
            raise _wrong(event, "aliases (*name) are not taken here; write the value itself")
        if getattr(event, "tag", None) not in (None, "!"):  # "!" alone says "a text", as quotes do
            raise _wrong(event, "tags (!name) are not taken here; write the value itself")
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise _wrong(event, f"nested deeper than {MAX_DEPTH} levels; write it flat")
        node: yaml.Node | None = super().compose_node(parent, index)
        self.depth -= 1
        return node

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        seen: set[str] = set()
        for key, _value in node.value:
            name = str(key.value)
            if name in seen:
                raise _wrong(key, f"key {name!r} is here twice; keep one")
            seen.add(name)
        return super().construct_mapping(node, deep=deep)


_Loader.add_implicit_resolver("tag:yaml.org,2002:null", re.compile(r"(?:~|null|)$"), ["~", "n", ""])
_Loader.add_implicit_resolver("tag:yaml.org,2002:bool", re.compile(r"(?:true|false)$"), list("tf"))
_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:int", re.compile(r"-?(?:0|[1-9][0-9]*)$"), list("-0123456789")
)
_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:float", re.compile(r"-?[0-9]+\.[0-9]+$"), list("-0123456789")
)


def _wrong(place: Any, message: str) -> yaml.MarkedYAMLError:  # noqa: ANN401 - an event or a node of PyYAML
    return yaml.MarkedYAMLError(problem=message, problem_mark=place.start_mark)


def parse(document: Text) -> tuple[Sourced | None, tuple[PoolFault, ...]]:
    """Read one document; gives the tenant, or why it isn't one."""
    # A pass reads all documents again and again, and reading a thousand of them takes seconds.
    return _parse_known(document) if len(document.text) <= KEPT_CHARACTERS else _parse(document)


@lru_cache(maxsize=2 * MAX_DOCUMENTS)
def _parse_known(document: Text) -> tuple[Sourced | None, tuple[PoolFault, ...]]:
    return _parse(document)


def _parse(document: Text) -> tuple[Sourced | None, tuple[PoolFault, ...]]:
    values, problem = _load(document.text)
    if problem is not None:
        return None, (PoolFault(document.file, problem[0], problem[1]),)
    try:
        tenant = Tenant.model_validate(values)
    except ValidationError as error:
        return None, tuple(PoolFault(document.file, fault.path, fault.message) for fault in faults(error))
    return Sourced(document.file, tenant), ()


def _load(text: str) -> tuple[object, tuple[str, str] | None]:
    size = len(text.encode("utf-8", "surrogatepass"))
    if size > MAX_BYTES:
        return None, ("", f"{size} bytes are above the limit of {MAX_BYTES}; split it by tenant")
    try:
        values = yaml.load(text, _Loader)  # noqa: S506 - a SafeLoader, narrowed further
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = f"line {mark.line + 1}, column {mark.column + 1}" if mark else ""
        if error.problem == "but found another document":
            return None, (place, "a second document begins here; give each tenant a file of its own")
        return None, (place, f"not readable as YAML: {error.problem or error.context}")
    except (yaml.YAMLError, RecursionError, ValueError):
        return None, ("", "not readable as YAML; it has characters or a shape that YAML doesn't take")
    if values is None:
        return None, ("", "the document is empty; give at least name, members and flavors")
    return values, None


def parse_all(documents: Iterable[Text]) -> tuple[Sourced, ...]:
    """Read documents, sorted by tenant; raises `TenantError` with the faults of all of them."""
    found: list[Sourced] = []
    wrong: list[PoolFault] = []
    for document in documents:
        sourced, problems = parse(document)
        wrong.extend(problems)
        if sourced is not None:
            found.append(sourced)
    refuse(wrong)
    return tuple(sorted(found, key=lambda sourced: sourced.tenant.name))


def refuse(wrong: Sequence[PoolFault]) -> None:
    """Raise `TenantError` when there are faults: the first one in the sentence, all in the details."""
    if not wrong:
        return
    first = wrong[0]
    place = f"{first.file}: {first.path}" if first.path else first.file
    more = f" (and {len(wrong) - 1} more)" if len(wrong) > 1 else ""
    raise TenantError(
        f"{place}: {first.message}{more}; nothing was applied",
        errors=[{"file": fault.file, "path": fault.path, "message": fault.message} for fault in wrong],
    )


def faults_of(error: TenantError) -> tuple[PoolFault, ...]:
    """Return the faults that `refuse` raised."""
    errors = error.details.get("errors")
    found = errors if isinstance(errors, list) else []
    return tuple(PoolFault(one["file"], one["path"], one["message"]) for one in found)


class Source(Protocol):
    """Where documents are kept: `Folder`, or custom resources (`bridge.tenants.resources`)."""

    path: Path
    """Folder of the audit log."""

    def texts(self) -> tuple[Text, ...]:
        """Return all documents, by name."""
        ...

    def write(self, documents: Mapping[str, str]) -> None:
        """Write documents, file name to text."""
        ...

    def remove(self, files: Iterable[str]) -> None:
        """Remove documents; raises `NotFound` for one that isn't there."""
        ...


class Folder:
    """The source of truth: ``*.yaml`` files in one folder that only the bridge writes."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def texts(self) -> tuple[Text, ...]:
        """Read all files, by name. Raises `TenantError` for one that isn't UTF-8 or is too large."""
        found: list[Text] = []
        wrong: list[PoolFault] = []
        paths = sorted(p for p in self.path.glob("*.yaml") if p.is_file()) if self.path.is_dir() else []
        if len(paths) > MAX_DOCUMENTS:
            raise TenantError(f"{self.path} has {len(paths)} documents, at most {MAX_DOCUMENTS} are taken")
        for path in paths:
            with path.open("rb") as file:
                data = file.read(MAX_BYTES + 1)
            try:
                found.append(Text(path.name, data.decode("utf-8")))
            except UnicodeDecodeError:
                wrong.append(PoolFault(path.name, "", "not UTF-8; save the file as UTF-8"))
        refuse(wrong)
        return tuple(found)

    def write(self, documents: Mapping[str, str]) -> None:
        """Write documents (file name to text), each by rename so that nobody reads half of one."""
        self.path.mkdir(parents=True, exist_ok=True)
        for file, text in documents.items():
            replace_file(self.path / file, text.encode())

    def remove(self, files: Iterable[str]) -> None:
        """Remove documents; raises `NotFound` for one that isn't there."""
        for file in files:
            try:
                (self.path / file).unlink()
            except FileNotFoundError as error:
                raise NotFound(f"there is no document {file} to remove", file=file) from error


def replace_file(path: Path, data: bytes, *, mode: int = 0o644) -> bool:
    """Put `data` at `path` by rename, on disk before it is seen; False when it was there already."""
    try:
        if path.read_bytes() == data and path.stat().st_mode & 0o7777 == mode:
            return False
    except FileNotFoundError:
        pass
    fresh = path.with_name(f".{path.name}.new")
    with fresh.open("wb") as file:
        file.write(data)
        file.flush()
        os.fchmod(file.fileno(), mode)
        os.fsync(file.fileno())
    fresh.replace(path)
    return True
