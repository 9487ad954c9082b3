"""sbatch's whole command line: its options, then the script's name, then the script's own arguments.

Pure. For a client that has the command line and must find the script in it; the options mean nothing here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bridge.errors import ScriptError
from bridge.sbatch.options import Option
from bridge.sbatch.refusal import Refusal
from bridge.sbatch.scan import Word
from bridge.sbatch.site import SiteOption, getopt

_SEPARATOR = ":"


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandLine:
    """A command line, taken apart."""

    options: tuple[str, ...]
    """sbatch's own words, separators of components included."""
    script: str | None = None
    """As it was written; None for standard input."""
    argv: tuple[str, ...] = ()
    values: tuple[tuple[str, str | None], ...] = ()
    """Each option by its long name, with its value, in order."""

    @property
    def said(self) -> frozenset[str]:
        """Long names of the options."""
        return frozenset(name for name, _ in self.values)

    @property
    def wraps(self) -> bool:
        """Whether there is no script: a command stands in its place, or nothing is to be run."""
        return bool(self.said & {"wrap", "external"})

    @property
    def script_name(self) -> str | None:
        """The script's file name, the default name of the job; None for standard input."""
        return None if self.script is None else self.script.rpartition("/")[2]


def read_command_line(arguments: Sequence[str], options: tuple[SiteOption, ...] = ()) -> CommandLine:
    """Take a command line apart.

    Raises
    ------
    ScriptError
        An unknown or ambiguous option, or one without its value, in sbatch's words.
    """
    found: list[tuple[str, str | None]] = []

    def take(option: Option, value: str | None, _word: Word) -> None:
        found.append((option.key, value))

    words = [Word(text) for text in arguments]
    reader = getopt(options)
    at = 0
    try:
        while True:
            at += reader.read(words[at:], take)
            if at >= len(words) or words[at].text != _SEPARATOR:
                break
            at += 1
    except Refusal as refusal:
        raise ScriptError(
            refusal.words[0],
            errors=[{"line": None, "column": None, "option": refusal.option, "message": refusal.words[0]}],
            slurm_words="\n".join(refusal.words),
            exit_code=refusal.exit_code,
        ) from None
    mine = arguments[:at]
    if mine and mine[-1] == "--":
        mine = mine[:-1]
    rest = arguments[at:]
    takes_script = bool(rest) and all(name not in ("wrap", "external") for name, _ in found)
    return CommandLine(
        options=tuple(mine),
        script=rest[0] if takes_script else None,
        argv=tuple(rest[1:] if takes_script else rest),
        values=tuple(found),
    )
