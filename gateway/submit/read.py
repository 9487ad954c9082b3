"""From a request to what sbatch would send: the parser with this place's context."""

from __future__ import annotations

import posixpath
from collections.abc import Callable
from datetime import datetime
from functools import partial
from typing import Final

import anyio.to_thread

from bridge.errors import Denied, InputError, NotFound
from bridge.sbatch import FileWanted, ParsedScript, parse
from bridge.wire import Client
from gateway.submit import map as mapping
from gateway.submit.map import Place, Submission

LARGEST_FILE: Final = 1024 * 1024
"""Bytes of a file that an option names."""
MOST_FILES: Final = 16


class Reader:
    """Parses submissions; one for all routes, so that a test of a job is a test of that job.

    Files that options name and that the request doesn't bring are read on the cluster, as the user.
    """

    def __init__(self, place: Place, clock: Callable[[], datetime], files: Client | None = None) -> None:
        self.place = place
        self._clock = clock
        self._files = files

    async def read(self, submission: Submission, *, user: str) -> ParsedScript:
        """Return the job that a submission of `user` asks for.

        Raises
        ------
        ScriptError
            sbatch would refuse it.
        InputError
            It names too many files, or one that is too large.
        Unavailable
            The cluster's name was never read, or the file-agent doesn't answer.
        """
        context = mapping.context(submission, user=user, place=self.place, now=self._clock())
        while True:
            try:
                return parse(
                    submission.script,
                    arguments=mapping.words(submission),
                    argv=submission.argv,
                    variables=submission.environment,
                    context=context,
                )
            except FileWanted as wanted:
                if len(context.files) >= MOST_FILES:
                    raise InputError(f"the options name more than {MOST_FILES} files") from None
                found = await self._content(posixpath.join(context.work_dir, wanted.path), user)
                context = mapping.with_file(context, wanted.path, found)

    async def _content(self, path: str, user: str) -> bytes | None:
        """Read a file as the user; None when there is none that the user may read."""
        if self._files is None:
            return None
        span = {"offset": 0, "length": LARGEST_FILE + 1}
        call = partial(self._files.call, "read", timeout_s=30, user=user, path=path, **span)
        try:
            answer = await anyio.to_thread.run_sync(call)
        except (NotFound, Denied, InputError):
            return None
        data = bytes(answer["data"])
        if len(data) > LARGEST_FILE:
            raise InputError(f"{path} is larger than {LARGEST_FILE} bytes, the most for a file of an option")
        return data
