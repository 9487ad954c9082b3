"""The files that other pods need: users for NSS, the rules for slurmctld.

What flows in: the folders that the bridge writes. What flows out: the contents that a caller lacks, by
ETag (sha256). A file that isn't there is not mentioned: nobody deletes what they have because the bridge
has just started. `bridge.sync` is the other side.
"""

from __future__ import annotations

import hashlib
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from bridge.errors import Unavailable

USER_FILES: Final = ("shadow", "group", "passwd")
POLICY_FILES: Final = ("table.previous.lua", "table.lua", "job_submit.lua")
"""In the order in which they are put in place: what names another file comes after it."""
SLURMCTLD: Final = "slurmctld"
"""The caller whose word is waited for: Slurm looks a new user up once."""


@dataclass(frozen=True, slots=True)
class Content:
    """A file's bytes and their ETag."""

    data: bytes
    etag: str


class Published:
    """The files of one bridge; thread-safe."""

    def __init__(
        self, *, users_dir: Path, policy_dir: Path, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._folders = {
            **dict.fromkeys(USER_FILES, users_dir),
            **dict.fromkeys(POLICY_FILES, policy_dir),
        }
        self._clock = clock
        self._cached: dict[str, tuple[tuple[int, int, int], Content]] = {}
        self._held: dict[str, str] = {}
        self._heard = threading.Condition()

    def changed(self, *, caller: str, have: Mapping[str, str]) -> Mapping[str, Content]:
        """Return what differs from what the caller has (name to ETag), of the files that it asks about."""
        with self._heard:
            if caller == SLURMCTLD:
                self._held = dict(have)
                self._heard.notify_all()
            found = {name: self._content(name) for name in self._folders if name in have}
        return {
            name: content
            for name, content in found.items()
            if content is not None and content.etag != have[name]
        }

    def wait_for_slurmctld(self, *, seconds: float) -> None:
        """Wait until slurmctld has today's passwd; raises `Unavailable` after `seconds`."""
        deadline = self._clock() + seconds
        with self._heard:
            while True:
                wanted = self._content("passwd")
                if wanted is None or self._held.get("passwd") == wanted.etag:
                    return
                left = deadline - self._clock()
                if left <= 0:
                    raise Unavailable(
                        "slurmctld's pod has not fetched the new users yet; look at its container sync",
                        part="sync",
                    )
                self._heard.wait(left)

    def _content(self, name: str) -> Content | None:
        path = self._folders[name] / name
        try:
            status = path.stat()
            stamp = (status.st_ino, status.st_mtime_ns, status.st_size)
            known = self._cached.get(name)
            if known is not None and known[0] == stamp:
                return known[1]
            data = path.read_bytes()
        except FileNotFoundError:
            return None
        content = Content(data, etag(data))
        self._cached[name] = (stamp, content)
        return content


def etag(data: bytes) -> str:
    """Return the ETag of a content."""
    return hashlib.sha256(data).hexdigest()
