"""Text as C's string functions see it in the C locale: blanks, case, tokens."""

from __future__ import annotations

from typing import Final

SPACE: Final = " \t\n\v\f\r"
"""What isspace() takes."""

_LOWER: Final = {upper: upper + 32 for upper in range(ord("A"), ord("Z") + 1)}


def lower(text: str) -> str:
    """Make A to Z small and leave everything else (strcasecmp() knows no other letters)."""
    return text.lower() if text.isascii() else text.translate(_LOWER)


def blank(text: str) -> bool:
    """Whether there is nothing but space, as xstring_is_whitespace() says."""
    return not text.strip(SPACE)


def tokens(text: str, separator: str) -> list[str]:
    """Split as strtok() does: runs of separators count once, empty tokens don't exist."""
    return [token for token in text.split(separator) if token]
