"""From a script's bytes to the words of its directives, each with its place.

The grammar is src/sbatch/opt.c's (next_line, get_argument, _opt_batch_script): a directive begins at
column 0 with ``#SBATCH`` (or ``#SLURM``, with a complaint), no blank after it is needed; blank lines and
comments don't end the header, the first other line does; ``'`` and ``"`` group, a backslash escapes, an
unescaped ``#`` outside quotes begins a comment wherever it is; an empty word ends its line. Nothing is
expanded. What the words mean doesn't belong here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Final

from bridge.sbatch.refusal import Refusal, fatal

_MAGIC = re.compile(rb"\n#(?:SBATCH|SLURM)([^\n]*)")
"""A script's first line is its ``#!``, so each directive has a line before it."""
_HEADER = re.compile(rb"(?:[ \t\v\f\r]*+(?:#[^\n]*+)?+(?:\n|\Z))*+")
_NOT_COMMENT = re.compile(rb"\n(?!#)")
_HETJOB = re.compile(r"(?:packjob|hetjob)(?![^ \t\v\f\r])", re.IGNORECASE | re.ASCII)
_PLAIN = re.compile(r"""[^ \t\v\f\r"'\\#]++(?![^ \t\v\f\r])""")
_PIECE = re.compile(
    r"""(?P<run>[^ \t\v\f\r"'\\#]++)|\\(?P<escaped>[^\t\v\f\r])"""
    r"""|"(?P<double>(?:[^"\\]|\\.)*+)(?P<d>"?)|'(?P<single>(?:[^'\\]|\\.)*+)(?P<s>'?)"""
)
_ESCAPE = re.compile(r"\\(.)")
_BLANK: Final = " \t\v\f\r"
OLD_WORD: Final = (
    "sbatch: error: Change from #SLURM to #SBATCH in your script and verify the options are valid in sbatch"
)
OLD_SEPARATOR: Final = (
    'sbatch: warning: The "packjob" component separator is deprecated. Please use "hetjob" instead.'
)
_FOREIGN_COMMANDS: Final = 100
"""sbatch looks for #PBS and #BSUB until it has seen more than 100 lines that aren't comments."""


@dataclass(frozen=True, slots=True)
class Word:
    """One word of a directive; line and column are 1-based, None for a word that isn't a script's."""

    text: str
    line: int | None = None
    column: int | None = None


@dataclass(frozen=True, slots=True)
class Directives:
    """The directive lines of one component, not split into words yet: number, text and its offset."""

    lines: tuple[tuple[int, str, int], ...]
    old_word: bool
    """Whether sbatch met ``#SLURM`` on its way to the component's end: it complains, and takes it."""
    old_separator: bool = False
    """Whether ``#SBATCH packjob`` began the component."""

    def words(self, file: str) -> tuple[Word, ...]:
        """Return the words in order; `file` is the script's name in messages (``stdin`` without one).

        Raises
        ------
        Refusal
            An unmatched quote or a lone ``:``.
        """
        words: list[Word] = []
        for line, text, offset in self.lines:
            directive = text.lstrip(_BLANK)
            begins = offset + len(text) - len(directive)
            try:
                words += split(directive, line=line, offset=begins, file=file)
            except Refusal as refusal:
                raise refusal.after(*[OLD_WORD] * self.old_word) from None
        return tuple(words)


def directives(script: bytes) -> list[Directives]:
    """Read the ``#SBATCH`` lines above the first command: one element a component, at least one.

    ``#SBATCH hetjob`` begins another component; what follows on that line is passed over, as by sbatch.
    The script has no NUL byte.
    """
    end = header_end(script)
    found: list[Directives] = []
    lines: list[tuple[int, str, int]] = []
    old_word = old_separator = False
    for line, text, offset in _lines(script, _MAGIC, end):
        old_word |= offset == len(b"#SLURM")
        separator = _HETJOB.match(text.lstrip(_BLANK))
        if separator is None:
            lines.append((line, text, offset))
            continue
        found.append(Directives(tuple(lines), old_word, old_separator))
        lines, old_separator = [], separator.group().lower() == "packjob"
    found.append(Directives(tuple(lines), old_word, old_separator))
    return found


def header_end(script: bytes) -> int:
    """Return where the first command stands: directives below it are none."""
    header = _HEADER.match(script)
    return header.end() if header else 0


def _lines(script: bytes, pattern: re.Pattern[bytes], end: int) -> Iterator[tuple[int, str, int]]:
    """Yield number, text and offset of the text of each line that begins with a magic word."""
    line, counted = 1, 0
    for match in pattern.finditer(script, 0, end):
        line += script.count(b"\n", counted, match.start() + 1)
        counted = match.start() + 1
        text = match.group(1).decode("utf-8", "surrogateescape")
        yield line, text, match.start(1) - match.start() - 1


def foreign(script: bytes, magic: bytes, file: str) -> tuple[Word, ...] | None:
    """Read the lines of another batch system (``#PBS``, ``#BSUB``); None when there are none.

    They may stand anywhere, also below commands and in here-documents, until more than 100 lines that
    aren't comments have passed (src/sbatch/xlate.c).
    """
    if magic not in script:
        return None
    others = _NOT_COMMENT.finditer(script)
    last = next(islice(others, _FOREIGN_COMMANDS, None), None)
    end = last.start() if last else len(script)
    found = list(_lines(script, re.compile(rb"\n" + magic + rb"([^\n]*)"), end))
    words = (
        word for line, text, offset in found for word in split(text, line=line, offset=offset, file=file)
    )
    return tuple(words) if found else None


def split(text: str, *, line: int, offset: int, file: str) -> Iterator[Word]:
    """Split one directive's text into words; `offset` is where it begins in its line."""
    at = start = 0
    while True:
        while at < len(text) and text[at] in _BLANK:
            at += 1
        if at == len(text) or text[at] == "#" or _HETJOB.match(text, at):
            return
        if text[at] == ":":
            raise fatal(f"{file}: line {line}: Unexpected `:` in [{text[start:]}]")
        plain = _PLAIN.match(text, at)
        if plain:
            word, end = plain.group(), plain.end()
        else:
            word, end, open_quote = _quoted(text, at)
            if open_quote:
                raise fatal(f"{file}: line {line}: Unmatched `{open_quote}` in [{text[start:]}]")
        if not word:
            return
        yield Word(word, line, offset + at + 1)
        at = start = end


def _quoted(text: str, at: int) -> tuple[str, int, str]:
    """Read a word with quotes, escapes or a comment in it: the word, its end, the quote left open."""
    pieces: list[str] = []
    while at < len(text) and text[at] not in _BLANK and text[at] != "#":
        match = _PIECE.match(text, at)
        if match is None:  # a backslash before the line's end or before another blank than a space
            return "".join(pieces), at + 1, ""
        at = match.end()
        plain = match["run"] or match["escaped"]
        if plain is not None:
            pieces.append(plain)
            continue
        quote, end = ('"', match["d"]) if match["double"] is not None else ("'", match["s"])
        if not end:
            return "", at, quote
        pieces.append(_ESCAPE.sub(r"\1", match["double"] or match["single"] or ""))
    return "".join(pieces), at, ""
