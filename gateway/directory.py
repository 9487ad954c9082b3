"""The tenants as the gateway knows them: the bridge's last good answer, and the rules made from it.

What flows in: the bridge's `tenants` operation, nodes and partitions of Slurm. What flows out:
`Snapshot`, an immutable view that requests read without waiting. When the bridge is away the last answer
stays in use, and its age is shown.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

import anyio.to_thread
import structlog

from bridge.errors import SluiceError, Unavailable
from bridge.policy.moment import NO_MOMENT, Moment
from bridge.policy.pool import pool_of
from bridge.policy.site import NO_SITE, Site
from bridge.policy.table import PolicyTable, table_of
from bridge.policy.tenant import Role, Tenant
from bridge.slurm.port import NodeStatus, PartHealth, PartitionStatus, Slurm
from bridge.wire import Client

_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class TenantState:
    """Whether a tenant's document is in force everywhere."""

    applied: bool
    message: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Documents:
    """One answer of the bridge."""

    revision: str = ""
    """Changes with the documents; says nothing about their order."""
    tenants: tuple[Tenant, ...] = ()
    states: Mapping[str, TenantState] = field(default_factory=dict)
    site: Site = NO_SITE
    moment: Moment = NO_MOMENT
    policy: PartHealth | None = None
    """Whether slurmctld judges by the newest table; None where it doesn't say."""
    refusals: Mapping[tuple[str, str, str], int] = field(default_factory=dict)
    """Tenant, rule and mode to how often, since the bridge began to count."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """What was known at `taken_at`; `table` is None as long as the pool isn't known."""

    documents: Documents
    table: PolicyTable | None
    taken_at: datetime | None

    def tenants_of(self, user: str) -> Mapping[str, Role]:
        """Return the user's tenants with the role in each."""
        return {
            tenant.name: member.role
            for tenant in self.documents.tenants
            for member in tenant.members
            if member.user == user
        }


class TenantSource(Protocol):
    """Where the documents come from."""

    def documents(self) -> Documents:
        """Read them; blocks. Raises `Unavailable`."""
        ...


class BridgeTenants:
    """The documents that the bridge serves on its socket."""

    def __init__(self, client: Client) -> None:
        self._client = client

    def documents(self) -> Documents:
        """Ask the bridge."""
        answer = self._client.call("tenants", timeout_s=10)
        try:
            return Documents(
                revision=str(answer["revision"]),
                tenants=tuple(Tenant.model_validate(document) for document in answer["documents"]),
                states={
                    name: TenantState(applied=bool(state["applied"]), message=str(state.get("message") or ""))
                    for name, state in answer["states"].items()
                },
                site=Site.model_validate(answer["site"]),
                moment=Moment.model_validate(answer["moment"]),
                policy=next((PartHealth(**part) for part in answer["policy"]), None),
                refusals={
                    (str(each["tenant"]), str(each["rule"]), str(each["mode"])): int(each["count"])
                    for each in answer["refusals"]
                },
            )
        except (KeyError, TypeError, ValueError) as error:
            raise Unavailable(
                "the bridge speaks of tenants in a form that this gateway doesn't know; update both",
                part="bridge",
            ) from error


class Directory:
    """Keeps a `Snapshot` fresh.

    Parameters
    ----------
    pool_every_s
        Seconds between two readings of nodes and partitions.
    """

    def __init__(
        self,
        source: TenantSource,
        slurm: Slurm,
        *,
        clock: Callable[[], datetime],
        pool_every_s: float,
    ) -> None:
        self._source = source
        self._slurm = slurm
        self._clock = clock
        self._pool_every_s = pool_every_s
        self._seen: tuple[Sequence[NodeStatus], Sequence[PartitionStatus]] | None = None
        self._pool_at = float("-inf")
        self._refreshing: asyncio.Task[None] | None = None
        self.now = Snapshot(documents=Documents(), table=None, taken_at=None)
        self.gres_types: frozenset[str] | None = None
        """Kinds of generic resources of the cluster; None = not known."""
        self.failure: SluiceError | None = None
        """Why the last reading failed; None when it worked."""

    async def refresh(self) -> None:
        """Read again; the last good answer stays when that fails. Callers at the same time share one."""
        if self._refreshing is None or self._refreshing.done():
            self._refreshing = asyncio.create_task(self._read())
        await asyncio.shield(self._refreshing)

    async def run(self, every_s: float) -> None:
        """Refresh for ever."""
        while True:
            try:
                await self.refresh()
            except Exception:  # noqa: BLE001 - a loop that ends would freeze the tenants for good
                _log.exception("tenants can't be taken in")
            await asyncio.sleep(every_s)

    async def _read(self) -> None:
        await self._read_pool()
        try:
            documents = await anyio.to_thread.run_sync(self._source.documents)
        except SluiceError as error:
            if self.failure is None:
                _log.warning("tenants can't be read", reason=error.message)
            self.failure = error
            return
        self.failure = None
        table = None
        if self._seen is not None:
            pool = pool_of(*self._seen, documents.site)
            table = table_of(documents.tenants, pool, documents.site, documents.moment)
        self.now = Snapshot(documents=documents, table=table, taken_at=self._clock())

    async def _read_pool(self) -> None:
        if self._seen is not None and time.monotonic() - self._pool_at < self._pool_every_s:
            return
        try:
            nodes = await anyio.to_thread.run_sync(self._slurm.nodes)
            partitions = await anyio.to_thread.run_sync(self._slurm.partitions)
            cluster = await anyio.to_thread.run_sync(self._slurm.cluster)
        except SluiceError as error:
            _log.info("the pool can't be read", reason=error.message)
            return
        self._seen, self._pool_at = (nodes, partitions), time.monotonic()
        self.gres_types = cluster.gres_types
