"""getopt_long as glibc does it, over a table of options: words in, (option, value) pairs out.

sbatch's option string begins with ``+``: the first word that isn't an option ends the options. Long
names may be cut short where that is unambiguous (names that mean the same option don't count as two),
short flags may stand together, a value may be glued to a short option or follow as the next word, an
optional value must be glued (``--nice=5``, ``-kno``). What a value means doesn't belong here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import StrEnum
from typing import Generic, Protocol, TypeVar

from bridge.sbatch.refusal import BAD_OPTION, Refusal
from bridge.sbatch.scan import Word


class Argument(StrEnum):
    """Whether an option takes a value."""

    NONE = "none"
    REQUIRED = "required"
    OPTIONAL = "optional"


class OptionLike(Protocol):
    """What getopt must know of an option: its names, and `key`, equal for two names of one option."""

    @property
    def name(self) -> str: ...  # noqa: D102
    @property
    def short(self) -> str: ...  # noqa: D102
    @property
    def argument(self) -> Argument: ...  # noqa: D102
    @property
    def key(self) -> str: ...  # noqa: D102


AnOption = TypeVar("AnOption", bound=OptionLike)
Take = Callable[[AnOption, "str | None", Word], None]
"""Called for each option in order, with its value and the word that it stands in."""


class Getopt(Generic[AnOption]):
    """A table of options, ready to read words.

    Parameters
    ----------
    options
        In the order in which getopt lists the possibilities of an ambiguous name.
    advice
        What the program prints after getopt's own line.
    exit_code
        What the program then exits with.
    program
        Its name in the messages.
    """

    def __init__(
        self,
        options: Sequence[AnOption],
        *,
        advice: str,
        exit_code: int = BAD_OPTION,
        program: str = "sbatch",
    ) -> None:
        self._program = program
        self._options = [option for option in options if option.name]
        self._by_name = {option.name: option for option in reversed(self._options)}
        self._by_short = {option.short: option for option in reversed(options) if option.short}
        self._advice = advice
        self._exit_code = exit_code

    def read(self, words: Sequence[Word], take: Take[AnOption]) -> int:
        """Hand each option to `take`; return the index of the first word that is not an option's.

        Raises
        ------
        Refusal
            An unknown or ambiguous option, a missing value, or one too many, in glibc's words.
        """
        at = 0
        while at < len(words):
            text = words[at].text
            if text == "--":
                return at + 1
            if len(text) < 2 or text[0] != "-":
                return at
            at = self._long(words, at, take) if text[1] == "-" else self._short(words, at, take)
        return at

    def _long(self, words: Sequence[Word], at: int, take: Take[AnOption]) -> int:
        word = words[at]
        name, glued, value = word.text[2:].partition("=")
        option = self._by_name.get(name) or self._cut_short(name, word)
        if glued and option.argument is Argument.NONE:
            raise self._complaint(f"option '--{option.name}' doesn't allow an argument", option.name, word)
        if glued or option.argument is not Argument.REQUIRED:
            take(option, value if glued else None, word)
            return at + 1
        if at + 1 == len(words):
            raise self._complaint(f"option '--{option.name}' requires an argument", option.name, word)
        take(option, words[at + 1].text, word)
        return at + 2

    def _cut_short(self, name: str, word: Word) -> AnOption:
        found = [option for option in self._options if option.name.startswith(name)]
        if not found:
            raise self._complaint(f"unrecognized option '{word.text}'", name, word)
        first = found[0]
        others = [o for o in found if o.key != first.key or o.argument is not first.argument]
        if others:
            listed = " ".join(f"'--{option.name}'" for option in (first, *others))
            raise self._complaint(f"option '{word.text}' is ambiguous; possibilities: {listed}", name, word)
        return first

    def _short(self, words: Sequence[Word], at: int, take: Take[AnOption]) -> int:
        word = words[at]
        for place, letter in enumerate(word.text[1:], start=2):
            option = self._by_short.get(letter)
            if option is None:
                raise self._complaint(f"invalid option -- '{letter}'", letter, word)
            rest = word.text[place:]
            if option.argument is Argument.NONE:
                take(option, None, word)
            elif rest or option.argument is Argument.OPTIONAL:
                take(option, rest or None, word)
                return at + 1
            elif at + 1 == len(words):
                raise self._complaint(f"option requires an argument -- '{letter}'", option.name, word)
            else:
                take(option, words[at + 1].text, word)
                return at + 2
        return at + 1

    def _complaint(self, message: str, option: str, word: Word) -> Refusal:
        said = f"{self._program}: {message}", self._advice
        return Refusal(*said, exit_code=self._exit_code, option=option, at=word)
