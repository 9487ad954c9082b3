"""The reference of the chart's values, made from their own comments (as helm-docs does).

Pure. What flows in: the text of ``helm/sluice/values.yaml``. What flows out: ``docs/reference/chart.md``. A
comment that begins with ``# --`` describes the key below it, over one line or more. Write it again with::

    python -m bridge.cluster.chart > docs/reference/chart.md
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import yaml
from pydantic import JsonValue

VALUES: Final = Path(__file__).parents[2] / "helm" / "sluice" / "values.yaml"
_KEY: Final = re.compile(r"^(?P<indent> *)(?P<key>[A-Za-z][A-Za-z0-9]*):")
_LONG: Final = 60
"""Characters of a default that are shown; lists and maps beyond it are named only."""

_HEAD: Final = """# Reference: values of the chart

Generated from `helm/sluice/values.yaml` by `python -m bridge.cluster.chart`; a test compares. Types and
ranges are in `helm/sluice/values.schema.json`, which helm checks at every install and upgrade.

| Value | Default | What it is |
|---|---|---|
"""


@dataclass(frozen=True, slots=True)
class Value:
    """One value: its path with dots, its default, its description."""

    path: str
    default: JsonValue
    about: str


def described(text: str) -> Iterator[Value]:
    """Yield the values that have a description, in the order of the file."""
    whole: JsonValue = yaml.safe_load(text)
    path: list[tuple[int, str]] = []
    about: list[str] = []
    for line in text.splitlines():
        stripped = line.strip()
        if stripped.startswith("# -- "):
            about = [stripped.removeprefix("# -- ")]
            continue
        if stripped.startswith("#"):
            about = [*about, stripped.removeprefix("#").strip()] if about else []
            continue
        match = _KEY.match(line)
        if match is None:
            about = []
            continue
        indent = len(match["indent"])
        path = [*((depth, key) for depth, key in path if depth < indent), (indent, match["key"])]
        if about:
            names = [key for _, key in path]
            yield Value(".".join(names), _at(whole, names), " ".join(about))
        about = []


def _at(whole: JsonValue, names: list[str]) -> JsonValue:
    for name in names:
        whole = whole[name] if isinstance(whole, dict) else None
    return whole


def reference(text: str) -> str:
    """Return the page."""
    rows = (f"| `{value.path}` | {_shown(value.default)} | {value.about} |\n" for value in described(text))
    return _HEAD + "".join(rows)


def _shown(default: JsonValue) -> str:
    if default in ("", None, [], {}):
        return ""
    words = default if isinstance(default, str) else json.dumps(default, ensure_ascii=False)
    return f"`{words}`" if len(words) <= _LONG else "see the file"


if __name__ == "__main__":
    sys.stdout.write(reference(VALUES.read_text(encoding="utf-8")))
