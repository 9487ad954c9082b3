"""Who may what: each route of the app, asked by each role and by a member of another tenant.

The routes are the app's own: one that nobody declared here fails.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Final

import httpx
from fastapi.routing import APIRoute
from starlette.routing import BaseRoute, Route

from bridge.health import Heartbeat
from bridge.policy.tenant import Tenant
from bridge.serve import handlers
from gateway.api_key import new_key
from gateway.app import create_app
from gateway.principal import grant_of
from gateway.store import keys
from tests.component.gateway.conftest import World, WorldMaker
from tests.component.gateway.rig import SCRIPT
from tests.unit.tenants.site import Site

PEOPLE: Final = {
    "anonymous": None,
    "stranger": "chen",  # a member of another tenant, and its manager
    "member": "dora",  # of the tenant, neither owner nor manager
    "owner": "bela",
    "manager": "ada",
    "administrator": "root",
}
NARROWED: Final = {
    "reader": ("bela", ["read"]),
    "submitter": ("bela", ["submit"]),
    "keeper": ("bela", ["keys"]),
    "elsewhere": ("bela", ["read", "submit", "keys", "tenant=genomics"]),
}
"""Keys of the owner that may less."""
ROLES: Final = (*PEOPLE, *NARROWED)
RAW: Final = {"Content-Type": "text/x-shellscript"}


@dataclass(frozen=True)
class Expected:
    """Statuses by role; `default` is everybody else's but the anonymous one's, who gets 401."""

    default: int
    statuses: Mapping[str, int] = field(default_factory=dict)
    audited: bool = False
    send: Mapping[str, Any] = field(default_factory=dict)
    open: bool = False

    def of(self, role: str) -> int:
        if role == "anonymous" and not self.open:
            return 401
        return self.statuses.get(role, self.default)


def readable(default: int = 200, **statuses: int) -> Expected:
    return Expected(default, {"submitter": 403, "keeper": 403, **statuses})


UNSEEN: Final = {"stranger": 404, "elsewhere": 404}
ADMINISTRATORS: Final = dict.fromkeys((role for role in ROLES if role != "administrator"), 403)
DOCUMENT: Final = {"name": "merlin", "members": [{"user": "ada"}], "flavors": {"h100": {"limit": 1}}}
BOOK: Final = {
    "name": "merlin",
    "currency": "EUR",
    "timezone": "UTC",
    "per": "hour",
    "on_demand": [{"from": "2026-01-01", "gpu": "2.40", "cpu": "0.03", "memory_gib": "0.004"}],
}

EXPECTED: Final[Mapping[str, Expected]] = {
    "POST /v1/jobs": Expected(
        201,
        {"reader": 403, "keeper": 403, "elsewhere": 403},
        audited=True,
        send={"content": SCRIPT, "headers": RAW},
    ),
    "POST /v1/jobs:test": Expected(
        200, {"submitter": 403, "keeper": 403, "elsewhere": 403}, send={"content": SCRIPT, "headers": RAW}
    ),
    "POST /v1/scripts:lint": Expected(
        200, {"submitter": 403, "keeper": 403}, send={"content": SCRIPT, "headers": RAW}
    ),
    "GET /v1/scripts:options": readable(),
    "POST /v1/commands/{command}": Expected(
        200,
        {"reader": 403, "keeper": 403, "elsewhere": 403},
        audited=True,
        send={"json": {"args": ["17"]}},
    ),
    "GET /v1/jobs": readable(),
    "GET /v1/jobs/{job}": readable(**UNSEEN),
    "DELETE /v1/jobs/{job}": Expected(
        202, {**UNSEEN, "member": 403, "reader": 403, "keeper": 403}, audited=True
    ),
    "GET /v1/jobs/{job}/{stream}": readable(**UNSEEN, member=403, manager=403),
    "GET /v1/tenants": readable(),
    "GET /v1/tenants/{name}": Expected(200, ADMINISTRATORS),
    "GET /v1/tenants/{name}/history": Expected(200, ADMINISTRATORS),
    "PUT /v1/tenants/{name}": Expected(201, ADMINISTRATORS, audited=True, send={"json": DOCUMENT}),
    "DELETE /v1/tenants/{name}": Expected(200, ADMINISTRATORS, audited=True),
    "GET /v1/whoami": readable(),
    "GET /v1/reports/usage": readable(),
    "GET /v1/reports/cost": readable(),
    "GET /v1/prices": readable(),
    "GET /v1/prices/{name}": readable(),
    "GET /v1/prices/{name}/history": readable(),
    "PUT /v1/prices/{name}": Expected(201, ADMINISTRATORS, audited=True, send={"json": BOOK}),
    "DELETE /v1/prices/{name}": Expected(204, ADMINISTRATORS, audited=True),
    "POST /v1/keys": Expected(
        201,
        # A key may not more than the one that made it, and nobody's key is for a stranger's tenant.
        {"reader": 403, "submitter": 403, "keeper": 403, "elsewhere": 422},
        audited=True,
        send={"json": {}},
    ),
    "GET /v1/keys": readable(),
    "GET /v1/keys/{key}": readable(**UNSEEN, member=404, manager=404),
    "DELETE /v1/keys/{key}": Expected(
        200, {**UNSEEN, "member": 404, "manager": 404, "reader": 403, "submitter": 403}, audited=True
    ),
    "GET /v1/audit": readable(),
    "GET /v1/schemas/tenant": Expected(200, open=True),
    "GET /healthz": Expected(200, open=True),
    "GET /readyz": Expected(200, open=True),
    "GET /metrics": Expected(200, open=True),
}


OPEN_PAGES: Final = {
    "GET /openapi.json",
    "GET /docs",
    "GET /docs/oauth2-redirect",
    "GET /redoc",
    "mount /static-offline-docs",
}
"""The API's description: it says nothing about anybody."""


def routes_of_the_app() -> set[str]:
    def never() -> Any:
        raise AssertionError("the app is not started")

    return set(_below(create_app(never, max_body_bytes=1).routes))


def _below(routes: Sequence[BaseRoute]) -> Iterator[str]:
    for route in routes:
        if (router := getattr(route, "original_router", None)) is not None:
            yield from _below(router.routes)
        elif isinstance(route, Route | APIRoute):
            yield from (f"{method} {route.path}" for method in route.methods or () if method != "HEAD")
        else:  # whatever it is, it has to be declared
            yield f"mount {getattr(route, 'path', route)}"


def test_each_route_of_the_app_has_an_expectation_and_no_other() -> None:
    assert routes_of_the_app() == EXPECTED.keys() | OPEN_PAGES


class BridgeInMemory:
    """Answers as the bridge's socket does."""

    def __init__(self, site: Site) -> None:
        self.operations = handlers(tenants=site.tenants, slurm=site.slurm, heartbeat=Heartbeat(stale_s=60))

    def call(self, op: str, *, timeout_s: float = 30.0, **args: Any) -> Any:
        del timeout_s
        return self.operations[op]({**args, "wait_s": 0})


@dataclass
class Asking:
    """A gateway with somebody in each role, and something to ask for."""

    world: World
    site: Site
    sent: dict[str, str]

    async def prepared(self, route: str) -> str:
        """Make what the route is about; returns its path."""
        _method, path = route.split()
        if "{job}" in path:
            made = await self.world.bela.post("/v1/jobs", content=SCRIPT, headers=RAW)
            assert made.status_code == 201, made.text
            self.world.files.files[f"/home/bela/slurm-{made.json()['job_id']}.out"] = ("bela", b"x")
            if "{stream}" in path:
                self.world.slurm.start(made.json()["job_id"])
                await self.world.parts.tracker.fresh()
            path = path.replace("{job}", made.json()["id"]).replace("{stream}", "stdout")
        path = path.replace("{command}", "scancel")
        if "{key}" in path:
            made = await self.world.bela.post("/v1/keys", json={"label": "asked for"})
            path = path.replace("{key}", made.json()["id"])
        if "{name}" in path:
            path = path.replace("{name}", "merlin")
            body = BOOK if path.startswith("/v1/prices") else DOCUMENT
            change = partial(self.world.root.request, url=path.removesuffix("/history"))
            await (change("DELETE") if route.startswith("PUT") else change("PUT", json=body))
        return path

    async def ask(self, route: str, path: str, role: str) -> httpx.Response:
        headers = dict(EXPECTED[route].send.get("headers", {}))
        if role in self.sent:
            headers["Authorization"] = f"Bearer {self.sent[role]}"
        rest = {name: value for name, value in EXPECTED[route].send.items() if name != "headers"}
        return await self.world.anonymous.request(route.split(maxsplit=1)[0], path, headers=headers, **rest)

    async def newest(self) -> dict[str, Any]:
        items = (await self.world.root.get("/v1/audit", params={"limit": 1})).json()["items"]
        return dict(items[0]) if items else {"id": 0}


async def key_of(world: World, user: str, words: list[str]) -> str:
    key, text = new_key(user, label="narrow", grant=grant_of(words), now=world.clock())
    await world.parts.store.write(partial(keys.add, key=key))
    return text


def asking(
    world: WorldMaker,
    folder: Path,
    story: Callable[[Asking], Any],
) -> None:
    async def run() -> None:
        site = Site(folder)
        async with world(bridge=BridgeInMemory(site)) as w:
            astro, genomics = w.tenants.tenants
            w.tenants.tenants = (
                _changed(astro, [*astro.model_dump()["members"], {"user": "dora"}]),
                _changed(genomics, [{"user": "chen", "role": "manager"}]),
            )
            w.slurm.add_tenant("astro", users=("dora",), qos=("training", "batch", "production-astro"))
            await w.parts.directory.refresh()
            await w.root.put("/v1/prices/default", json=BOOK | {"name": "default"})
            sent = {role: w.secrets[user] for role, user in PEOPLE.items() if user in w.secrets}
            sent["member"] = await key_of(w, "dora", ["read", "submit", "keys"])
            sent["administrator"] = await key_of(w, "ada", ["admin"])
            for role, (user, words) in NARROWED.items():
                sent[role] = await key_of(w, user, words)
            await story(Asking(w, site, sent))

    asyncio.run(run())


def _changed(tenant: Tenant, members: list[dict[str, Any]]) -> Tenant:
    return Tenant.model_validate(tenant.model_dump(mode="json") | {"members": members})


def test_each_role_gets_what_is_expected_and_each_write_is_in_the_audit_log(
    world: WorldMaker, tmp_path: Path
) -> None:
    """One gateway for all of them: making one costs more than asking it."""

    async def story(a: Asking) -> None:
        wrong = [found for route in EXPECTED for role in ROLES async for found in _judged(a, route, role)]
        assert not wrong, "\n".join(wrong)

    asking(world, tmp_path, story)


async def _judged(a: Asking, route: str, role: str) -> AsyncIterator[str]:
    path, expected = await a.prepared(route), EXPECTED[route]
    last = (await a.newest())["id"] if expected.audited else 0
    answer = await a.ask(route, path, role)
    if answer.status_code != expected.of(role):
        yield f"{route} as {role}: {answer.status_code}, not {expected.of(role)}: {answer.text[:200]}"
        return
    if answer.is_error and answer.headers["content-type"] != "application/problem+json":
        yield f"{route} as {role}: the error is no problem document"
    if answer.is_error or not expected.audited:
        return
    entry = await a.newest()
    user = "ada" if role == "administrator" else PEOPLE.get(role) or NARROWED[role][0]
    if entry["id"] == last or entry["user"] != user or not entry["actor"].startswith("key "):
        yield f"{route} as {role}: not in the audit log"
    elif entry["before"] == entry["after"]:
        yield f"{route} as {role}: before and after are the same in the audit log"


def test_nothing_is_answered_without_a_valid_credential(world: WorldMaker, tmp_path: Path) -> None:
    async def story(a: Asking) -> None:
        secret = a.sent["owner"]
        wrong = (
            None,
            "Bearer nonsense",
            "Bearer a.b.c",
            "Bearer sluice_000000000000_" + "A" * 43,
            "Basic YTpi",
            f"Bearer {secret[:-43]}{'B' * 43}",
        )
        for route, expected in EXPECTED.items():
            if expected.open:
                continue
            method, path = route.split()
            for header in wrong:
                answer = await a.world.anonymous.request(
                    method,
                    path.replace("{stream}", "stdout").replace("{", "").replace("}", ""),
                    headers={"Authorization": header} if header else {},
                )
                assert answer.status_code == 401, (route, header, answer.text)
                assert "www-authenticate" in answer.headers

    asking(world, tmp_path, story)
