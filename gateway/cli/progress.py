"""Shows the cluster's steps: a moving line on a terminal, plain lines with signs of life elsewhere.

What flows in: calls of `bridge.cluster.reporter.Reporter`. What flows out: text on standard error, so that
``--json`` keeps standard output to itself.
"""

from __future__ import annotations

import threading
import time
from typing import Final

from rich.console import Console
from rich.markup import escape
from rich.progress import Progress as Bar
from rich.progress import SpinnerColumn, TextColumn, TimeElapsedColumn

HEARTBEAT_S: Final = 20.0
"""Between two signs of life where no terminal shows a moving line."""

WORTH_SAYING_S: Final = 0.3
"""A step that took less leaves no line."""

DETAIL_WIDTH: Final = 70


class Progress:
    """A `Reporter` on a console; one step is open at a time."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._title = ""
        self._detail = ""
        self._begun = 0.0
        self._bar: Bar | None = None
        self._ended: threading.Event | None = None

    def begin(self, title: str) -> None:
        """Open a step."""
        self._close()
        self._title, self._detail, self._begun = title, "", time.monotonic()
        if self._console.is_terminal:
            self._bar = Bar(
                SpinnerColumn(),
                TextColumn("{task.description}"),
                TimeElapsedColumn(),
                TextColumn("[dim]{task.fields[detail]}"),
                console=self._console,
                transient=True,
            )
            self._bar.add_task(escape(title), total=None, detail="")
            self._bar.start()
        else:
            self._ended = threading.Event()
            threading.Thread(target=self._beat, args=(title, self._ended), daemon=True).start()

    def line(self, text: str) -> None:
        """Show the step's newest line, without keeping it."""
        self._detail = text if len(text) <= DETAIL_WIDTH else f"{text[:DETAIL_WIDTH]}..."
        if self._bar is not None:
            self._bar.update(self._bar.task_ids[0], detail=escape(self._detail))

    def end(self, outcome: str = "") -> None:
        """Close the step."""
        took = time.monotonic() - self._begun
        words = f"{self._title}: {outcome}" if outcome else self._title
        self._close()
        if took >= WORTH_SAYING_S:
            self._print(f"[green]✓[/green] {escape(words)} [dim]({took:.1f} s)[/dim]")

    def say(self, text: str) -> None:
        """Tell something that stays."""
        self._print(f"[yellow]note:[/yellow] {escape(text)}")

    def _beat(self, title: str, ended: threading.Event) -> None:
        begun = time.monotonic()
        while not ended.wait(HEARTBEAT_S):
            seconds = f"{time.monotonic() - begun:.0f} s"
            self._print(f"[dim]  {escape(title)}, {seconds} so far: {escape(self._detail)}[/dim]")

    def _print(self, text: str) -> None:
        self._console.print(text, soft_wrap=True, highlight=False)

    def _close(self) -> None:
        if self._bar is not None:
            self._bar.stop()
            self._bar = None
        if self._ended is not None:
            self._ended.set()
            self._ended = None

    def __enter__(self) -> Progress:
        """Use it for a whole command."""
        return self

    def __exit__(self, *_: object) -> None:
        """Leave no moving line behind, whatever happened."""
        self._close()
