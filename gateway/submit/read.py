"""From a request to what sbatch would send: the parser with this place's context."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from bridge.sbatch import ParsedScript, parse
from gateway.submit import map as mapping
from gateway.submit.map import Place, Submission


class Reader:
    """Parses submissions; one for all routes, so that a test of a job is a test of that job."""

    def __init__(self, place: Place, clock: Callable[[], datetime]) -> None:
        self.place = place
        self._clock = clock

    def read(self, submission: Submission, *, user: str) -> ParsedScript:
        """Return the job that a submission of `user` asks for.

        Raises
        ------
        ScriptError
            sbatch would refuse it.
        Unavailable
            The cluster's name was never read.
        """
        return parse(
            submission.script,
            arguments=mapping.words(submission),
            argv=submission.argv,
            variables=submission.environment,
            context=mapping.context(submission, user=user, place=self.place, now=self._clock()),
        )
