"""Golden renders: the default whole, each other set as what differs from it. Write them again with
``python -m tests.chart.test_golden`` and read the difference.
"""

from __future__ import annotations

import difflib
from pathlib import Path

import pytest

from tests.chart.renders import HERE, SETS, comparable

WHOLE = "default"


def golden(name: str) -> Path:
    return HERE / "golden" / (f"{name}.yaml" if name == WHOLE else f"{name}.diff")


def text_of(name: str) -> str:
    if name == WHOLE:
        return comparable(WHOLE)
    before, after = (comparable(each).splitlines(keepends=True) for each in (WHOLE, name))
    return "".join(difflib.unified_diff(before, after, WHOLE, name, n=1))


@pytest.mark.parametrize("name", SETS)
def test_the_render_is_the_golden_one(name: str) -> None:
    found, known = text_of(name).splitlines(), golden(name).read_text(encoding="utf-8").splitlines()
    changed = "\n".join(difflib.unified_diff(known, found, "golden", "now", lineterm="", n=2))
    assert found == known, f"{changed[:4000]}\nif it is right: python -m tests.chart.test_golden"


if __name__ == "__main__":
    for each in SETS:
        golden(each).write_text(text_of(each), encoding="utf-8")
