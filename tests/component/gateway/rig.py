"""A gateway's parts over the fake Slurm and a store on disk, for tests that drive them step by step."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from ulid import ULID

from bridge.errors import Unavailable
from bridge.policy.tenant import Tenant
from bridge.slurm.fake import FakeSlurm
from gateway.directory import Directory, Documents, TenantState
from gateway.metrics import Metrics
from gateway.store.engine import Store
from gateway.submit.flow import Submitter
from gateway.submit.map import Place, Submission
from gateway.submit.read import Reader
from gateway.submit.replay import Replay
from gateway.track.flow import Tracker

SCRIPT = b"#!/bin/bash\n#SBATCH --gpus=h100:1 --time=5\nhostname\n"
TENANTS = (
    Tenant.model_validate(
        {
            "name": "astro",
            "members": [{"user": "ada", "role": "manager"}, {"user": "bela"}],
            "flavors": {"h100": {"limit": 4, "guarantee": 2}},
            "classes": {"allowed": ["production", "training", "batch"], "default": "training"},
        }
    ),
    Tenant.model_validate(
        {
            "name": "genomics",
            "members": [{"user": "chen"}],
            "flavors": {"a100": {"limit": 8}, "h100": {"limit": 2}},
        }
    ),
)


class Died(BaseException):
    """The process was killed here: nothing after this point ran."""


class FixedTenants:
    """Documents in memory."""

    def __init__(self, tenants: tuple[Tenant, ...] = TENANTS) -> None:
        self.tenants = tenants
        self.down = False

    def documents(self) -> Documents:
        if self.down:
            raise Unavailable("bridge does not answer", part="bridge")
        return Documents(
            revision="1",
            tenants=self.tenants,
            states={tenant.name: TenantState(applied=True) for tenant in self.tenants},
        )


class Clock:
    """A clock that a test moves, on top of the real one."""

    def __init__(self) -> None:
        self.ahead = timedelta(0)

    def __call__(self) -> datetime:
        return datetime.now(UTC) + self.ahead

    def forward(self, **step: float) -> None:
        self.ahead += timedelta(**step)


def fake_slurm(clock: Callable[[], datetime]) -> FakeSlurm:
    slurm = FakeSlurm(clock=lambda: clock().replace(microsecond=0))
    slurm.add_tenant("astro", users=("ada", "bela"), qos=("training", "batch", "production-astro"))
    slurm.add_tenant("genomics", users=("chen",))
    return slurm


@dataclass
class Gateway:
    """One process: its parts, and the loops that a test wants."""

    store: Store
    slurm: FakeSlurm
    tenants: FixedTenants
    directory: Directory
    tracker: Tracker
    submitter: Submitter
    replay: Replay

    async def submit(self, user: str = "ada", key: str | None = None, **fields: Any) -> str:
        accepted = await self.submitter.submit(
            Submission(**{"script": SCRIPT, **fields}),
            user=user,
            key=key,
        )
        return accepted.job.id

    async def settled(self) -> None:
        """Replay until nothing is open."""

        async def nothing_open() -> bool:
            return await self.replay.once() == 0

        await until(nothing_open)


@contextlib.asynccontextmanager
async def gateway(
    url: str,
    slurm: FakeSlurm,
    clock: Clock,
    *,
    settle_s: float = 0.05,
    resolve_s: float = 0.2,
) -> AsyncIterator[Gateway]:
    """Run a gateway's parts with its polling loop; leaving is a kill: nothing is finished in order."""
    store, metrics, tenants = Store.open(url), Metrics(), FixedTenants()
    directory = Directory(tenants, slurm, clock=clock, pool_every_s=60)
    tracker = Tracker(
        store=store, slurm=slurm, metrics=metrics, clock=clock, poll_min_s=0.02, poll_max_s=0.05
    )
    submitter = Submitter(
        store=store,
        slurm=slurm,
        directory=directory,
        tracker=tracker,
        metrics=metrics,
        reader=Reader(
            Place(cluster=lambda: tracker.mirror.cluster, homes_dir="/home", host="gateway"), clock
        ),
        clock=clock,
        new_id=lambda: str(ULID()),
        at_once=4,
        resolve_s=resolve_s,
    )
    replay = Replay(submitter, settle_s=settle_s, give_up_s=3600, confirm_s=0.05)
    await directory.refresh()
    polling = asyncio.create_task(tracker.run())
    try:
        await tracker.fresh()
        yield Gateway(store, slurm, tenants, directory, tracker, submitter, replay)
    finally:
        polling.cancel()
        await asyncio.gather(polling, return_exceptions=True)
        store.close()


async def until(condition: Callable[[], Awaitable[bool]], *, deadline_s: float = 10) -> None:
    """Wait for a condition, by asking."""
    loop = asyncio.get_running_loop()
    end = loop.time() + deadline_s
    while not await condition():
        assert loop.time() < end, "the condition did not come true"
        await asyncio.sleep(0.01)
