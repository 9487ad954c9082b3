"""Answers that end a translation in the middle: a reason to wait, a refusal.

Pure data; `verdict` hands them on with the other answers.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Wait:
    """Ours, but nothing is submitted until something changes."""

    rule: str
    sentence: str


@dataclass(frozen=True, slots=True)
class Refuse:
    """It can't or may not run here, whatever changes."""

    rule: str
    sentence: str


class Refused(Exception):
    """Carries a refusal out of a step."""

    def __init__(self, rule: str, sentence: str) -> None:
        super().__init__(sentence)
        self.words = (rule, sentence)
        self.refuse = Refuse(rule, sentence)


class Waits(Exception):
    """Carries a reason to wait out of a step."""

    def __init__(self, rule: str, sentence: str) -> None:
        super().__init__(sentence)
        self.words = (rule, sentence)
        self.wait = Wait(rule, sentence)
