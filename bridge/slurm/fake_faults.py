"""Faults of the fake: what a test makes fail, and what it was asked.

Errors are raised as the port's own; the work of a call is not here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from bridge.errors import SluiceError, SlurmRefused
from bridge.slurm.errnos import Errno
from bridge.slurm.fake_records import FakeRecords
from bridge.slurm.port import CommandAnswer


class FakeFaults(FakeRecords):
    """Counts calls and fails the ones that it was told to."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.down: set[str] = set()
        """Parts that are down now: ``slurmctld``, ``slurmdbd``, ``slurmrestd``, ``native``."""
        self.calls: list[str] = []
        """Names of the port's methods in the order they were called."""
        self.said: dict[str, CommandAnswer] = {}
        """What Slurm's commands answer, by name."""
        self.ran: list[tuple[tuple[str, ...], str, dict[str, str]]] = []
        """Commands that were run: words, user, variables."""
        self._faults: dict[str, list[tuple[SluiceError, bool]]] = {}

    def fail_next(self, op: str, error: SluiceError, *, after: bool = False, times: int = 1) -> None:
        """Make the next `times` calls of `op` raise `error`; `after` the work was done (a lost answer)."""
        self._faults.setdefault(op, []).extend([(error, after)] * times)

    def refuse_next(self, words: str, *, errno: int = Errno.ACCOUNTING_POLICY) -> None:
        """Make slurmctld refuse the next submission with these words."""
        self.fail_next("submit", SlurmRefused(words, errno=errno))

    def begin(self, op: str, part: str) -> SluiceError | None:
        """Count a call; raise the fault that comes before the work, return the one that comes after."""
        self.calls.append(op)
        self.require(part, self.down)
        waiting = self._faults.get(op)
        if not waiting:
            return None
        error, after = waiting.pop(0)
        if not after:
            raise error
        return error

    def command(self, words: Sequence[str], *, user: str, variables: Mapping[str, str]) -> CommandAnswer:
        """Answer what a test put into `said`, else as ``--version``."""
        self.begin("command", "slurmctld")
        self.uid_of(user)
        self.ran.append((tuple(words), user, dict(variables)))
        return self.said.get(words[0]) or CommandAnswer(exit_code=0, stdout=b"slurm 26.05.5\n")
