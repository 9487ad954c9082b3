"""How a rule refuses: the exception that carries a `Refusal` out of the steps of a decision, and its words.

Pure.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from bridge.policy.request import Refusal

_PLAIN: Final = re.compile(r"[A-Za-z0-9._,:=/@+-]{1,60}")


class Refused(Exception):
    """A rule refuses; carries the `Refusal`."""

    def __init__(self, rule: str, sentence: str) -> None:
        super().__init__(sentence)
        self.refusal = Refusal(rule, f"{sentence} (rule {rule})")


def shown(text: str) -> str:
    """Return a user's text for a sentence; whatever isn't plain is not repeated."""
    return text if _PLAIN.fullmatch(text) else "(unreadable)"


def listed(names: Sequence[str]) -> str:
    """Return names for a sentence."""
    return ", ".join(names) if names else "none"
