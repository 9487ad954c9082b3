"""Waiting for a condition with a deadline: the only way a test waits."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def wait_for(
    condition: Callable[[], T | None], what: str, *, deadline_s: float = 60.0, every_s: float = 0.2
) -> T:
    """Ask `condition` until it answers something true, and return that.

    Parameters
    ----------
    condition
        Asked at once and then every `every_s` seconds; None, False and empty mean "not yet".
    what
        Words for the failure, as in "job 7 ended".
    deadline_s
        Seconds after which the test fails; the condition is asked at least once more at the end.

    Raises
    ------
    AssertionError
        When the deadline passed; it says what was awaited and what was seen last.
    """
    end = time.monotonic() + deadline_s
    while True:
        late = time.monotonic() >= end
        answer = condition()
        if answer:
            return answer
        if late:
            raise AssertionError(f"after {deadline_s:g} s still not so: {what} (last answer: {answer!r})")
        time.sleep(every_s)
