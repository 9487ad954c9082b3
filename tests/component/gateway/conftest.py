import os
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any

import httpx
import pytest
import structlog
from fastapi import FastAPI
from sqlmodel import Session

from bridge.errors import Denied, InputError, NotFound, Unavailable
from bridge.slurm.fake import FakeSlurm
from bridge.wire import Client
from gateway.app import create_app
from gateway.auth import new_key
from gateway.compose import Parts, compose
from gateway.config import Settings
from gateway.directory import TenantSource
from gateway.store import keys
from gateway.store.engine import Store
from tests.component.gateway.rig import Clock, FixedTenants, fake_slurm
from tests.support.database import database

USERS = {"ada": False, "bela": False, "chen": False, "root": True}


QUICK = {
    "poll_min_s": 0.02,
    "poll_max_s": 0.05,
    "accounting_every_s": 0.05,
    "tenants_every_s": 0.05,
    "key_cache_s": 0.05,
    "submit_resolve_s": 0.2,
    "submit_settle_s": 0.05,
    "replay_confirm_s": 0.05,
    "replay_every_s": 0.05,
    "readiness_remembered_s": 0.001,
}


# A traceback in structlog's console form, with locals, takes seconds.
structlog.configure(processors=[structlog.processors.format_exc_info, structlog.processors.JSONRenderer()])


class FakeFiles:
    """The file-agent in memory: the owner and the bytes of each path."""

    def __init__(self) -> None:
        self.files: dict[str, tuple[str, bytes]] = {}
        self.down = False
        self.disk_full = False

    def call(self, op: str, *, timeout_s: float = 30, **args: Any) -> Any:
        del timeout_s
        if self.down:
            raise Unavailable("file-agent does not answer on files.sock", part="file-agent")
        path = args["path"]
        if not path.startswith("/home"):
            raise InputError(f"{path} is local to a node", path=path)
        if path not in self.files:
            raise NotFound(f"{path} does not exist", path=path, disk_full=self.disk_full)
        owner, data = self.files[path]
        if owner != args["user"]:
            raise Denied(f"{path} is not {args['user']}'s", path=path)
        assert op == "read"
        offset = args["offset"] if args["offset"] >= 0 else max(0, len(data) + args["offset"])
        piece = data[offset : offset + args["length"]]
        return {"data": piece, "size": len(data), "offset": offset, "disk_full": self.disk_full}


@dataclass
class World:
    """A running gateway, its surroundings, and a client for each user."""

    parts: Parts
    slurm: FakeSlurm
    clock: Clock
    tenants: FixedTenants
    files: FakeFiles
    clients: dict[str, httpx.AsyncClient]
    anonymous: httpx.AsyncClient
    secrets: dict[str, str]

    def __getattr__(self, user: str) -> httpx.AsyncClient:
        return self.clients[user]


class Makes:
    """Makes the parts of whichever test runs: one application, which costs much to build, serves all."""

    def __init__(self) -> None:
        self.parts: Callable[[], Parts] | None = None

    def __call__(self) -> Parts:
        assert self.parts
        return self.parts()


@cache
def _application(max_body_bytes: int) -> tuple[FastAPI, Makes]:
    makes = Makes()
    return create_app(makes, max_body_bytes=max_body_bytes), makes


def served(parts: Callable[[], Parts], *, max_body_bytes: int) -> FastAPI:
    """The application, over these parts from its next start on."""
    app, makes = _application(max_body_bytes)
    makes.parts = parts
    return app


def make_keys(store: Store, now: datetime) -> dict[str, str]:
    """A key for each of `USERS`, in one transaction; returns the secrets."""
    made = {user: new_key(user, label="test", admin=admin, now=now) for user, admin in USERS.items()}

    def add(session: Session) -> None:
        for key, _secret in made.values():
            keys.add(session, key=key)

    store.write_now(add)
    return {user: secret for user, (_key, secret) in made.items()}


WorldMaker = Callable[..., AbstractAsyncContextManager[World]]


@pytest.fixture
def world(tmp_path: Path) -> WorldMaker:
    """A gateway over the fakes, served without a socket, with all its loops running."""

    @asynccontextmanager
    async def make(
        *, bridge: Client | None = None, tenants: TenantSource | None = None, **changes: Any
    ) -> AsyncIterator[World]:
        settings = Settings(**{**QUICK, "database_url": database(tmp_path), **changes})
        store, clock, files = Store.open(settings.database_url), Clock(), FakeFiles()
        fixed = FixedTenants()
        slurm = fake_slurm(clock)
        secrets = make_keys(store, clock())
        app = served(
            lambda: compose(
                settings,
                store=store,
                slurm=slurm,
                tenants=tenants or fixed,
                bridge=bridge,
                files=files,  # type: ignore[arg-type]
                clock=clock,
            ),
            max_body_bytes=settings.max_body_bytes,
        )
        async with app.router.lifespan_context(app):
            parts: Parts = app.state.parts
            await parts.directory.refresh()
            await parts.tracker.fresh()
            transport = httpx.ASGITransport(app, raise_app_exceptions=False)
            clients = {
                user: httpx.AsyncClient(
                    transport=transport,
                    base_url="http://sluice",
                    headers={"Authorization": f"Bearer {secret}"},
                )
                for user, secret in secrets.items()
            }
            anonymous = httpx.AsyncClient(transport=transport, base_url="http://sluice")
            yield World(parts, slurm, clock, fixed, files, clients, anonymous, secrets)
        store.close()

    # Settings of the machine that runs the tests have no say here.
    for name in [*os.environ]:
        if name.startswith("SLUICE_GATEWAY_"):
            del os.environ[name]
    return make
