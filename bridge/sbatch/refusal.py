"""What sbatch says when it refuses, as an exception inside the package; `parse` turns it into `ScriptError`.

sbatch prefixes its lines with ``sbatch: error:`` or ``sbatch: fatal:``; getopt's own lines have only the
program's name. Exit codes: 255 (``exit(-1)``) when one option's value is bad, 1 (``error_exit`` or
``fatal``) when a number or a combination is (measured on 26.05.5, `cases/sbatch/expected.tsv`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from bridge.sbatch.scan import Word

BAD_OPTION: Final = 255
BAD_REQUEST: Final = 1


class Refusal(Exception):
    """sbatch would stop here.

    Parameters
    ----------
    words
        The lines that sbatch prints, prefixes included.
    exit_code
        What sbatch exits with.
    option
        Long name of the option at fault, when one is.
    at
        The word at fault, when it isn't the one that was said last.
    among
        Long names of options one of which is at fault: the only one that was said.
    """

    def __init__(
        self,
        *words: str,
        exit_code: int,
        option: str | None = None,
        at: Word | None = None,
        among: Sequence[str] = (),
    ) -> None:
        super().__init__("\n".join(words))
        self.words = words
        self.exit_code = exit_code
        self.option = option
        self.at = at
        self.among = among

    def after(self, *words: str) -> Refusal:
        """Return the same refusal with lines that were said before it."""
        if not words:
            return self
        return Refusal(
            *words, *self.words, exit_code=self.exit_code, option=self.option, at=self.at, among=self.among
        )


class Unsupported(Refusal):
    """sbatch would go on; Sluice can't carry this (yet) and says so by name."""

    def __init__(self, option: str, why: str) -> None:
        super().__init__(f"--{option}: {why}", exit_code=BAD_OPTION, option=option)


def bad_option(message: str, *before: str, option: str | None = None) -> Refusal:
    """One option's value is bad: ``sbatch: error: ...``, exit code 255; `before` goes out as it is."""
    return Refusal(*before, f"sbatch: error: {message}", exit_code=BAD_OPTION, option=option)


def invalid(option: str, *before: str) -> Refusal:
    """Sbatch's usual line about an option's value."""
    return bad_option(f"Invalid --{option} specification", *before, option=option)


def bad_number(message: str, option: str | None = None) -> Refusal:
    """A number or a set of options is bad: ``sbatch: error: ...``, exit code 1."""
    return Refusal(f"sbatch: error: {message}", exit_code=BAD_REQUEST, option=option)


def fatal(message: str, option: str | None = None) -> Refusal:
    """``sbatch: fatal: ...``, exit code 1."""
    return Refusal(f"sbatch: fatal: {message}", exit_code=BAD_REQUEST, option=option)
