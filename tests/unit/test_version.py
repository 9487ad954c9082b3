"""One version, everywhere."""

from __future__ import annotations

import tomllib
from pathlib import Path

from bridge.version import VERSION

ROOT = Path(__file__).resolve().parents[2]


def test_the_version_is_the_packages() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["version"] == VERSION
