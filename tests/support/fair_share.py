"""The worked example of ``docs/explanation/fair-share.md`` as numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from tests.support.stack import CHECKOUT

PAGE: Final = CHECKOUT / "docs" / "explanation" / "fair-share.md"


@dataclass(frozen=True, slots=True)
class Team:
    """One line of the page's table."""

    name: str
    weight: int
    share: float
    billing: int
    used: int
    usage: float
    level_fs: float


def teams() -> list[Team]:
    """Read the table."""
    lines = [line.strip("| \n").split("|") for line in PAGE.read_text().splitlines() if line.startswith("| ")]
    cells = [[cell.strip() for cell in line] for line in lines if not line[0].strip().startswith("team")]
    return [
        Team(name, int(weight), float(share), int(billing), int(used), float(usage), float(level_fs))
        for name, weight, share, billing, used, usage, level_fs in cells
    ]
