"""How the cluster's steps tell what they do; the CLI shows it, tests ignore it."""

from __future__ import annotations

from typing import Protocol


class Reporter(Protocol):
    """Told about steps as they happen; one step is open at a time."""

    def begin(self, title: str) -> None:
        """Open a step, e.g. "building sluice-slurm"."""
        ...

    def line(self, text: str) -> None:
        """Show what the open step does now (one line of a command's output)."""
        ...

    def end(self, outcome: str = "") -> None:
        """Close the open step; `outcome` is a word or two beside its title."""
        ...

    def say(self, text: str) -> None:
        """Tell something that stays: a choice made, a fallback taken."""
        ...


class Silent:
    """Tells nobody."""

    def begin(self, title: str) -> None:
        """Ignore it."""

    def line(self, text: str) -> None:
        """Ignore it."""

    def end(self, outcome: str = "") -> None:
        """Ignore it."""

    def say(self, text: str) -> None:
        """Ignore it."""
