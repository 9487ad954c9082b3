"""Keeps what the reconcile loop last saw, and says whether the bridge is healthy.

What flows in: the outcome of each pass. What flows out: one `PartHealth` for the loop. Slurm's own parts
are asked through the port by whoever wants to know (`bridge.serve`).
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from bridge.slurm.port import PartHealth


class Heartbeat:
    """The loop's last good pass and its last failure.

    Parameters
    ----------
    stale_s
        Seconds without a good pass after which it isn't healthy.
    clock
        Monotonic seconds.
    """

    def __init__(self, *, stale_s: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._stale_s = stale_s
        self._clock = clock
        self._lock = threading.Lock()
        self._good: float | None = None
        self._problem = ""

    def good(self) -> None:
        """Note a pass that ended well."""
        with self._lock:
            self._good, self._problem = self._clock(), ""

    def bad(self, problem: str) -> None:
        """Note a pass that failed, with its sentence."""
        with self._lock:
            self._problem = problem

    def health(self) -> PartHealth:
        """Whether tenants are in force: a first good pass was made, and none is overdue."""
        with self._lock:
            if self._good is None:
                return PartHealth(part="tenants", healthy=False, detail=self._problem or "no pass yet")
            age = self._clock() - self._good
            detail = f"last good pass {age:.0f} s ago" + (f"; {self._problem}" if self._problem else "")
            return PartHealth(part="tenants", healthy=age <= self._stale_s, detail=detail)
