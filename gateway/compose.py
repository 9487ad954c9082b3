"""Wires the gateway: settings -> store, Slurm, directory, mirror, submissions, ledger.

The only place that knows every part. `Parts` is what routes get (``request.app.state.parts``); its loops run
while `running` is entered.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from ulid import ULID

from bridge.slurm.client import AgentClient
from bridge.slurm.port import Slurm
from bridge.wire import Client
from gateway.api_key import KeyRing
from gateway.auth import Authenticator
from gateway.config import Settings
from gateway.directory import BridgeTenants, Directory, TenantSource
from gateway.documents import TenantDocuments
from gateway.key_desk import KeyDesk
from gateway.ledger.flow import Ledger
from gateway.logs import Logs
from gateway.metrics import Metrics
from gateway.price.flow import Prices
from gateway.readiness import Readiness
from gateway.site import read_site
from gateway.store.engine import Store
from gateway.submit.flow import Submitter
from gateway.submit.map import Place
from gateway.submit.preview import Preview
from gateway.submit.read import Reader
from gateway.submit.replay import Replay
from gateway.track.accounting import AccountingScan
from gateway.track.flow import Tracker


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """Everything that routes use."""

    settings: Settings
    clock: Callable[[], datetime]
    store: Store
    slurm: Slurm
    files: Client
    directory: Directory
    documents: TenantDocuments
    authenticator: Authenticator
    key_desk: KeyDesk
    tracker: Tracker
    scan: AccountingScan
    submitter: Submitter
    preview: Preview
    ledger: Ledger
    prices: Prices
    logs: Logs
    readiness: Readiness
    metrics: Metrics

    def cluster_name(self) -> str:
        """Return the cluster's name; raises `Unavailable` before Slurm has answered once."""
        return self.tracker.mirror.cluster


def compose(
    settings: Settings,
    *,
    store: Store,
    slurm: Slurm | None = None,
    tenants: TenantSource | None = None,
    bridge: Client | None = None,
    files: Client | None = None,
    clock: Callable[[], datetime] = lambda: datetime.now(UTC),
) -> Parts:
    """Build all parts, in a running loop; what isn't given of the services is the real one."""
    slurm = slurm or AgentClient(settings.agent_socket)
    files = files or Client(settings.files_socket, "file-agent")
    bridge = bridge or Client(settings.bridge_socket, "bridge")
    tenants = tenants or BridgeTenants(bridge)
    metrics = Metrics()
    site = read_site(settings.site_file)
    ring = KeyRing(store, clock=clock, cache_s=settings.key_cache_s)
    directory = Directory(tenants, slurm, clock=clock, pool_every_s=settings.pool_every_s)
    ledger = Ledger(store=store)
    tracker = Tracker(
        store=store,
        slurm=slurm,
        metrics=metrics,
        clock=clock,
        poll_min_s=settings.poll_min_s,
        poll_max_s=settings.poll_max_s,
    )
    site = read_site(settings.site_file)
    place = Place(
        cluster=lambda: tracker.mirror.cluster,
        homes_dir=settings.homes_dir,
        host=socket.gethostname(),
        site_options=site.options(),
        login_limits=site.limits(),
        gres_types=lambda: directory.gres_types,
    )
    reader = Reader(place, clock, files)
    submitter = Submitter(
        store=store,
        slurm=slurm,
        directory=directory,
        tracker=tracker,
        metrics=metrics,
        reader=reader,
        clock=clock,
        new_id=lambda: str(ULID()),
        at_once=settings.submissions_at_once,
        resolve_s=settings.submit_resolve_s,
    )
    return Parts(
        settings=settings,
        clock=clock,
        store=store,
        slurm=slurm,
        files=files,
        directory=directory,
        documents=TenantDocuments(bridge),
        authenticator=Authenticator(ring, site.oidc, directory, slurm),
        key_desk=KeyDesk(
            store,
            ring,
            clock=clock,
            max_age=timedelta(days=settings.key_max_days) if settings.key_max_days else None,
        ),
        tracker=tracker,
        scan=_scan(settings, slurm, tracker, ledger, clock),
        submitter=submitter,
        preview=Preview(reader=reader, directory=directory, slurm=slurm),
        ledger=ledger,
        prices=Prices(store=store, directory=directory, clock=clock),
        logs=Logs(files),
        readiness=Readiness(
            store=store,
            slurm=slurm,
            directory=directory,
            files=files,
            clock=clock,
            remembered_s=settings.readiness_remembered_s,
        ),
        metrics=metrics,
    )


@contextlib.asynccontextmanager
async def running(parts: Parts) -> AsyncIterator[None]:
    """Run the loops; at the end, wait for submissions that are under way, then stop."""
    settings = parts.settings
    replay = Replay(
        parts.submitter,
        settle_s=settings.submit_settle_s,
        give_up_s=settings.replay_give_up_s,
        confirm_s=settings.replay_confirm_s,
    )
    loops = [
        asyncio.create_task(parts.directory.run(settings.tenants_every_s), name="directory"),
        asyncio.create_task(parts.prices.run(settings.tenants_every_s), name="prices"),
        asyncio.create_task(parts.tracker.run(), name="tracker"),
        asyncio.create_task(parts.scan.run(settings.accounting_every_s), name="accounting"),
        asyncio.create_task(replay.run(settings.replay_every_s), name="replay"),
    ]
    try:
        yield
    finally:
        await parts.submitter.drain()
        for loop in loops:
            loop.cancel()
        await asyncio.gather(*loops, return_exceptions=True)


def _scan(
    settings: Settings, slurm: Slurm, tracker: Tracker, ledger: Ledger, clock: Callable[[], datetime]
) -> AccountingScan:
    return AccountingScan(
        slurm=slurm,
        tracker=tracker,
        sink=ledger,
        clock=clock,
        margin=timedelta(seconds=settings.accounting_margin_s),
        deep=timedelta(seconds=settings.accounting_deep_s),
        deep_every=timedelta(seconds=settings.accounting_deep_every_s),
        history=timedelta(seconds=settings.accounting_history_s),
    )
