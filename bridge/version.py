"""Sluice's version, said by the command line, the API and the chart."""

from __future__ import annotations

from typing import Final

VERSION: Final = "0.1.0"
"""The same as in pyproject.toml, which images don't have (a test holds it)."""
