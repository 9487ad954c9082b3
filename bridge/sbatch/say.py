"""Saying options to a draft: from directives, variables and arguments, each with where it came from.

slurm_process_option() of src/common/slurm_opt.c: a variable says a flag by being empty, ``yes`` or a
number that isn't 0, and takes it back by anything else; a few options are heeded among the arguments
only.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from bridge.sbatch import foreign
from bridge.sbatch.context import Origin
from bridge.sbatch.ctext import lower
from bridge.sbatch.draft import Draft
from bridge.sbatch.getopt import Argument, Getopt
from bridge.sbatch.grammar import GRAMMARS
from bridge.sbatch.integers import strtol
from bridge.sbatch.options import BY_KEY, EARLY_VARIABLES, OPTIONS, VARIABLES, Option
from bridge.sbatch.refusal import BAD_OPTION, Refusal, Unsupported
from bridge.sbatch.scan import Word

_READ: Final = {name: read for name, (read, _) in GRAMMARS.items()}
_GRAMMAR_OF: Final = {option.key: option.grammar for option in reversed(OPTIONS)}
_DROPPED: Final = "SBATCH_POWER"
"""sbatch knows the variable but no option for it any more, and exits without a word."""


class Speaker:
    """Says options to one draft and remembers where it is."""

    def __init__(self, draft: Draft, getopt: Getopt[Option]) -> None:
        self.draft = draft
        self.getopt = getopt
        self.at: Word | None = None
        self._variable: str | None = None

    def directive(self, option: Option, value: str | None, word: Word) -> None:
        """Say an option of the script."""
        self.at = word
        if not option.early:
            self._say(option, value, Origin("script", word.text, word.line, word.column, value))

    def argument(self, option: Option, value: str | None, word: Word) -> None:
        """Say an argument; those that count early have been said."""
        self.at = word
        if not option.early:
            self._say(option, value, Origin("argument", word.text, value=value))

    def first_pass(self, words: Sequence[Word]) -> int:
        """Say the arguments before the script, as sbatch does, whichever component they belong to.

        They are said again in their turn; what isn't of one component alone is there from the start, and
        sbatch takes all of it for said by variables.
        """

        def say(option: Option, value: str | None, word: Word) -> None:
            self.at = word
            self._say(option, value, Origin("argument", word.text, value=value), as_variable=True)

        end = self.getopt.read(words, say)
        self.at = None
        return end

    def foreign(self, script: bytes, file: str) -> None:
        """Say what ``#PBS`` or ``#BSUB`` lines ask, unless they are to be ignored."""
        if not self.draft.ignore_pbs:
            foreign.translate(
                script, file, self.draft, lambda key, value, word: self.directive(BY_KEY[key], value, word)
            )
        self.at = None

    def variables(self, values: Mapping[str, str], *, early: bool = False) -> None:
        """Say what the caller's variables ask, in sbatch's order."""
        if not values:
            return
        for name, key in (EARLY_VARIABLES if early else VARIABLES).items():
            if name in values:
                self._variable = name
                self._say_variable(BY_KEY[key], values[name], name)
        self._variable = None
        if not early and _DROPPED in values:
            raise Refusal(exit_code=BAD_OPTION, option="power")

    def _say_variable(self, option: Option, value: str, name: str) -> None:
        if option.argument is Argument.NONE and not _means_yes(value):
            self.draft.reset(option.key)
            self.draft.by_variable.discard(option.key)
            return
        given = None if option.argument is Argument.OPTIONAL and not value else value
        self._say(option, given, Origin("environment", name, value=given))

    def _say(self, option: Option, value: str | None, origin: Origin, *, as_variable: bool = False) -> None:
        key = option.key
        self.draft.origins[key] = origin
        if value is not None and not value.isascii() and not _is_text(value):
            raise Unsupported(key, "the value is not UTF-8 text")
        _READ[_GRAMMAR_OF.get(key, option.grammar)](self.draft, option, value)
        by_variable = as_variable or origin.source == "environment"
        self.draft.said[key] = by_variable
        if by_variable:
            self.draft.by_variable.add(key)
        else:
            self.draft.by_variable.discard(key)

    def place(self, refusal: Refusal) -> tuple[int | None, int | None, str]:
        """Return line, column and text of what is being read, else of where the option was said."""
        if refusal.at is not None:
            return refusal.at.line, refusal.at.column, refusal.at.text
        if self._variable is not None:
            return None, None, self._variable
        if self.at is not None:
            return self.at.line, self.at.column, self.at.text
        origin = self.draft.origins.get(refusal.option or "")
        return (origin.line, origin.column, origin.text) if origin else (None, None, "")


def _means_yes(value: str) -> bool:
    number, rest = strtol(value)
    return value == "" or lower(value) == "yes" or (number != 0 and not rest)


def _is_text(value: str) -> bool:
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True
