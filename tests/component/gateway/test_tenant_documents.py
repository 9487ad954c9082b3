"""``/v1/tenants/{name}``: the gateway before the bridge's own operations, over the fake Slurm."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import msgpack
import pytest

from bridge.errors import Unavailable
from bridge.health import Heartbeat
from bridge.serve import handlers
from gateway.directory import BridgeTenants
from tests.component.gateway.conftest import World, WorldMaker
from tests.support.bad_documents import BAD_DOCUMENTS
from tests.unit.tenants.site import Site

MERLIN: dict[str, Any] = {
    "name": "merlin",
    "members": [{"user": "ada", "role": "manager"}],
    "flavors": {"h100": {"limit": 2}},
}
YAML = "# by hand\nname: merlin\nmembers: [{user: ada}]\nflavors: {h100: {limit: 3}}\n"


class BridgeInMemory:
    """Answers as the bridge's socket does."""

    def __init__(self, site: Site) -> None:
        self.operations = handlers(tenants=site.tenants, slurm=site.slurm, heartbeat=Heartbeat(stale_s=60))

    def call(self, op: str, *, timeout_s: float = 30.0, **args: Any) -> Any:
        del timeout_s
        answer = self.operations[op]({**args, "wait_s": 0})
        return msgpack.unpackb(msgpack.packb(answer, datetime=True), timestamp=3)  # as on the wire


@dataclass
class Both:
    gateway: World
    site: Site

    async def put(self, body: Any = None, **sent: Any) -> httpx.Response:
        content = {"json": body} if isinstance(body, dict) else {"content": body}
        return await self.gateway.root.put("/v1/tenants/merlin", **content, **sent)


def told(world: WorldMaker, folder: Path, story: Callable[[Both], Coroutine[Any, Any, None]]) -> None:
    @asynccontextmanager
    async def both() -> AsyncIterator[Both]:
        site = Site(folder)
        bridge = BridgeInMemory(site)
        async with world(bridge=bridge, tenants=BridgeTenants(bridge)) as gateway:  # type: ignore[arg-type]
            yield Both(gateway, site)

    async def run() -> None:
        async with both() as surroundings:
            await story(surroundings)

    asyncio.run(run())


def detail(answer: httpx.Response, status: int) -> str:
    assert answer.status_code == status, answer.text
    return str(answer.json()["detail"])


def steps(answer: httpx.Response) -> list[str]:
    return [f"{step['action']} {step['kind']} {step['name']}" for step in answer.json()["plan"]]


def test_a_tenant_is_made_read_changed_and_removed(world: WorldMaker, tmp_path: Path) -> None:
    async def story(w: Both) -> None:
        foreseen = await w.put(MERLIN, params={"dry_run": "true"})
        assert (foreseen.status_code, foreseen.json()["revision"]) == (200, None)
        assert {"create document merlin", "create user ada", "change table table.lua"} <= set(steps(foreseen))
        assert w.site.slurm.associations == {}
        made = await w.put(MERLIN)
        assert (made.status_code, steps(made)) == (201, steps(foreseen))
        found = await w.gateway.root.get("/v1/tenants/merlin")
        assert found.headers["etag"] == made.headers["etag"] == f'"{made.json()["revision"]}"'
        assert found.json()["document"]["flavors"]["h100"] == {"limit": 2, "guarantee": 0, "lendable": True}
        assert found.json()["state"] == {"applied": True, "message": "applied"}
        again = await w.put(MERLIN)
        assert (again.status_code, steps(again)) == (200, [])
        gone = await w.gateway.root.delete("/v1/tenants/merlin")
        assert gone.json()["revision"] is None
        assert "remove association merlin" in steps(gone)
        assert "no tenant merlin" in detail(await w.gateway.root.get("/v1/tenants/merlin"), 404)
        assert "no tenant merlin" in detail(await w.gateway.root.delete("/v1/tenants/merlin"), 404)

    told(world, tmp_path / "bridge", story)


def test_a_change_made_for_another_revision_is_refused(world: WorldMaker, tmp_path: Path) -> None:
    async def story(w: Both) -> None:
        only_new = {"If-None-Match": "*"}
        assert "no tenant merlin" in detail(await w.put(MERLIN, headers={"If-Match": "*"}), 412)
        first = (await w.put(MERLIN, headers=only_new)).headers["etag"]
        wider = {**MERLIN, "flavors": {"h100": {"limit": 4}}}
        assert "merlin already" in detail(await w.put(wider, headers=only_new), 412)
        second = await w.put(wider, headers={"If-Match": first})
        assert second.status_code == 200
        late = {**MERLIN, "weight": 9}
        assert "changed in the meantime" in detail(await w.put(late, headers={"If-Match": first}), 412)
        stale = await w.gateway.root.delete("/v1/tenants/merlin", headers={"If-Match": first})
        assert "changed in the meantime" in detail(stale, 412)
        assert w.site.slurm.associations["merlin", ""].grp_tres["gres/gpu:h100"] == 4
        assert (await w.put(wider, headers={"If-Match": first})).status_code == 200, "it is so already"

    told(world, tmp_path / "bridge", story)


def test_yaml_is_kept_as_it_is_written_and_every_change_is_recorded(
    world: WorldMaker, tmp_path: Path
) -> None:
    async def story(w: Both) -> None:
        assert (await w.put(MERLIN)).status_code == 201
        assert (await w.put(YAML, headers={"Content-Type": "application/yaml"})).status_code == 200
        await w.gateway.root.delete("/v1/tenants/merlin")
        newest, change, first = w.site.tenants.history("merlin")
        assert (newest.change, newest.before, newest.after) == ("remove", YAML, None)
        assert (change.change, change.after) == ("change", YAML)
        assert (first.change, first.before) == ("create", None)
        assert first.actor.startswith("http:root (key ")

    told(world, tmp_path / "bridge", story)


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE"])
def test_members_and_managers_have_no_say_in_documents(
    world: WorldMaker, tmp_path: Path, method: str
) -> None:
    async def story(w: Both) -> None:
        await w.put(MERLIN)
        for user in ("ada", "bela", "chen"):
            client: httpx.AsyncClient = getattr(w.gateway, user)
            answer = await client.request(method, "/v1/tenants/merlin", json=MERLIN)
            assert "administrator" in detail(answer, 403)
        assert len(w.site.tenants.history()) == 1

    told(world, tmp_path / "bridge", story)


@pytest.mark.parametrize(
    ("body", "content_type", "words"),
    [
        (b"", "application/json", "not readable as JSON"),
        (b"[" * 100_000, "application/json", "not readable as JSON"),
        (b'{"name": "merlin", "name": "x"}', "application/json", "a key twice"),
        (b'{"name": "other"}', "application/json", "the path names tenant merlin, the document other"),
        (b'{"name": "merlin", "colour": 1}', "application/json", "merlin.yaml: colour: unknown key 'colour'"),
        (b"name: merlin\nweight: &a 1\nx: *a\n", "application/yaml", "aliases"),
        (b"\xff", "application/yaml", "not UTF-8 (byte 0)"),
        (b"name: merlin", "text/csv", "application/json or application/yaml, not text/csv"),
        (json.dumps({**MERLIN, "display_name": "\ud800"}).encode(), "application/json", "display_name"),
        (b'{"name": "merlin", "flavors": {"b200": {"limit": 1}}}', "application/json", "no flavor b200"),
    ],
)
def test_a_document_that_is_none_is_refused_and_changes_nothing(
    world: WorldMaker, tmp_path: Path, body: bytes, content_type: str, words: str
) -> None:
    async def story(w: Both) -> None:
        answer = await w.put(body, headers={"Content-Type": content_type})
        assert words in detail(answer, 422)
        assert w.site.tenants.history() == ()
        assert w.site.slurm.associations == {}

    told(world, tmp_path / "bridge", story)


@pytest.mark.parametrize("kind", BAD_DOCUMENTS)
def test_each_kind_of_bad_document_is_refused_with_the_reason(
    world: WorldMaker, tmp_path: Path, kind: str
) -> None:
    body, words = BAD_DOCUMENTS[kind]

    async def story(w: Both) -> None:
        assert words in detail(await w.put(body, headers={"Content-Type": "application/yaml"}), 422)
        assert w.site.tenants.history() == ()

    told(world, tmp_path / "bridge", story)


def test_history_tells_who_changed_what_also_of_who_is_gone(world: WorldMaker, tmp_path: Path) -> None:
    async def story(w: Both) -> None:
        await w.put(MERLIN)
        await w.put({**MERLIN, "weight": 3})
        await w.gateway.root.delete("/v1/tenants/merlin")
        answer = (await w.gateway.root.get("/v1/tenants/merlin/history?limit=2")).json()
        assert [each["change"] for each in answer["items"]] == ["remove", "change"]
        assert answer["items"][0]["actor"].startswith("http:")
        assert "weight: 3" in answer["items"][1]["after"]
        assert "weight" not in answer["items"][1]["before"]
        assert "none was ever written" in detail(await w.gateway.root.get("/v1/tenants/mordred/history"), 404)
        assert (await w.gateway.root.get("/v1/tenants/merlin/history?limit=0")).status_code == 422

    told(world, tmp_path / "bridge", story)


def test_a_bridge_that_is_away_is_503(world: WorldMaker, tmp_path: Path) -> None:
    async def story(w: Both) -> None:
        w.site.slurm.fail_next("put_qos", Unavailable("slurmdbd does not answer", part="slurmdbd"))
        answer = await w.put(MERLIN)
        assert "slurmdbd does not answer" in detail(answer, 503)
        w.site.tenants.reconcile()
        assert (await w.gateway.root.get("/v1/tenants/merlin")).json()["state"]["applied"] in (True, False)
        assert steps(await w.put(MERLIN)) == []

    told(world, tmp_path / "bridge", story)
