"""Whether the gateway can serve: each part that it works with, asked by name.

A part that is not needed may be down while requests are served: accounting, logs or changes of tenants
stop, the rest goes on.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Final

import anyio.to_thread

from bridge.errors import SluiceError, Unavailable
from bridge.slurm.port import Slurm
from bridge.wire import Client
from gateway.directory import Directory
from gateway.store import cursors
from gateway.store.engine import Store

ANSWER_S: Final = 5.0
"""A part that is silent for longer is not healthy."""
LEAST_FREE_MIB: Final = 8
"""On the store's disk, when it is a file: what a few hundred jobs take, and SQLite's log of writes."""
NEEDED: Final = frozenset({"store", "slurm-agent", "slurmctld", "tenants"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One part and how it is."""

    part: str
    healthy: bool
    detail: str = ""

    @property
    def needed(self) -> bool:
        """Whether nothing can be served without it."""
        return self.part in NEEDED


class Readiness:
    """Asks all parts at once; answers are shared for `remembered_s`: the route is open to everybody."""

    def __init__(
        self,
        *,
        store: Store,
        slurm: Slurm,
        directory: Directory,
        files: Client,
        clock: Callable[[], datetime],
        remembered_s: float,
    ) -> None:
        self._store = store
        self._clock = clock
        self._slurm = slurm
        self._directory = directory
        self._files = files
        self._remembered_s = remembered_s
        self._asking: asyncio.Task[Sequence[Part]] | None = None
        self._asked_at = float("-inf")

    async def parts(self) -> Sequence[Part]:
        """Return every part; never raises."""
        recent = time.monotonic() - self._asked_at < self._remembered_s
        if self._asking is None or (self._asking.done() and not recent):
            self._asking = asyncio.create_task(self._ask())
            self._asked_at = time.monotonic()
        return await asyncio.shield(self._asking)

    async def _ask(self) -> Sequence[Part]:
        store, slurm, files = await asyncio.gather(self._ask_store(), self._ask_slurm(), self._ask_files())
        return [store, *slurm, *self._tenants(), files]

    async def _ask_store(self) -> Part:
        # What it takes to serve is a write: a full disk still gives what is on it.
        wrote = partial(cursors.move, cluster="", name=cursors.READINESS, to=self._clock())
        try:
            async with asyncio.timeout(ANSWER_S):
                await self._store.write(wrote)
        except (SluiceError, TimeoutError) as error:
            return Part(part="store", healthy=False, detail=_words(error))
        free_mib = self._store.free_mib()
        if free_mib is not None and free_mib < LEAST_FREE_MIB:
            detail = f"its disk is full: {free_mib} MiB are free of the {LEAST_FREE_MIB} MiB that it needs"
            return Part(part="store", healthy=False, detail=detail)
        return Part(part="store", healthy=True)

    async def _ask_slurm(self) -> list[Part]:
        try:
            async with asyncio.timeout(ANSWER_S):
                found = await anyio.to_thread.run_sync(self._slurm.health, abandon_on_cancel=True)
        except (SluiceError, TimeoutError) as error:
            return [Part(part="slurm-agent", healthy=False, detail=_words(error))]
        parts = [Part(part=part.part, healthy=part.healthy, detail=part.detail) for part in found]
        return [Part(part="slurm-agent", healthy=True), *parts]

    async def _ask_files(self) -> Part:
        # Any answer is a sign of life; this one is refused because the path is not absolute.
        ask = partial(self._files.call, "stat", timeout_s=ANSWER_S, user="root", path="")
        try:
            await anyio.to_thread.run_sync(ask, abandon_on_cancel=True)
        except Unavailable as error:
            return Part(part="file-agent", healthy=False, detail=error.message)
        except SluiceError:
            pass
        return Part(part="file-agent", healthy=True)

    def _tenants(self) -> list[Part]:
        failure, taken_at = self._directory.failure, self._directory.now.taken_at
        if taken_at is None:
            detail = failure.message if failure else "not read yet"
            known = Part(part="tenants", healthy=False, detail=detail)
        else:
            known = Part(part="tenants", healthy=True, detail=f"as of {taken_at:%Y-%m-%dT%H:%M:%SZ}")
        bridge = Part(part="bridge", healthy=failure is None, detail=failure.message if failure else "")
        policy = self._directory.now.documents.policy
        if policy is None:
            return [bridge, known]
        return [bridge, known, Part(part="policy", healthy=policy.healthy, detail=policy.detail)]


def _words(error: BaseException) -> str:
    return error.message if isinstance(error, SluiceError) else f"no answer within {ANSWER_S:g} s"
