"""Shows the cluster's steps: a moving line on a terminal, plain lines elsewhere.

What flows in: calls of `bridge.cluster.reporter.Reporter`. What flows out: text on standard error, so that
``--json`` keeps standard output to itself.
"""

from __future__ import annotations

import time
from typing import Final

from rich.console import Console
from rich.markup import escape
from rich.status import Status

HEARTBEAT_S: Final = 20.0
"""Between two signs of life where no terminal shows a moving line."""

WORTH_SAYING_S: Final = 0.3
"""A step that took less and has nothing to tell leaves no line on a terminal."""

DETAIL_WIDTH: Final = 90


class Progress:
    """A `Reporter` on a console."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._moving = console.is_terminal
        self._status: Status | None = None
        self._title = ""
        self._begun = 0.0
        self._beat = 0.0

    def begin(self, title: str) -> None:
        """Open a step."""
        self._close()
        self._title, self._begun = title, time.monotonic()
        self._beat = self._begun
        if self._moving:
            self._status = self._console.status(escape(title))
            self._status.start()
        else:
            self._console.print(escape(f"{title} ..."))

    def line(self, text: str) -> None:
        """Show the step's newest line, without keeping it."""
        now = time.monotonic()
        if self._status is not None:
            shown = text if len(text) <= DETAIL_WIDTH else f"{text[:DETAIL_WIDTH]}..."
            seconds = f"{now - self._begun:.0f} s"
            self._status.update(f"{escape(self._title)} [dim]{seconds} {escape(shown)}[/dim]")
        elif now - self._beat > HEARTBEAT_S:
            self._beat = now
            self._console.print(escape(f"  still {self._title} ({now - self._begun:.0f} s): {text}"))

    def end(self, outcome: str = "") -> None:
        """Close the step."""
        took = time.monotonic() - self._begun
        words = f"{self._title}: {outcome}" if outcome else self._title
        moving = self._moving
        self._close()
        if took >= WORTH_SAYING_S:
            mark = "[green]✓[/green]" if moving else "  done:"
            self._console.print(f"{mark} {escape(words)} [dim]({took:.1f} s)[/dim]")

    def say(self, text: str) -> None:
        """Tell something that stays."""
        if self._status is not None:
            self._status.stop()
        self._console.print(f"[yellow]note:[/yellow] {escape(text)}")
        if self._status is not None:
            self._status.start()

    def _close(self) -> None:
        if self._status is not None:
            self._status.stop()
            self._status = None

    def __enter__(self) -> Progress:
        """Use it for a whole command."""
        return self

    def __exit__(self, *_: object) -> None:
        """Leave no moving line behind, whatever happened."""
        self._close()
