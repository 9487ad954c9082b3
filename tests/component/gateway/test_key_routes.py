"""API keys over HTTP: what a key can become, and what it can't."""

import asyncio
from collections.abc import Callable, Coroutine
from datetime import timedelta
from typing import Any

import httpx

from tests.component.gateway.conftest import World, WorldMaker
from tests.component.gateway.rig import SCRIPT, until


def told(world: WorldMaker, story: Callable[[World], Coroutine[Any, Any, None]], **settings: Any) -> None:
    async def run() -> None:
        async with world(**settings) as w:
            await story(w)

    asyncio.run(run())


def bearer(made: httpx.Response) -> dict[str, str]:
    assert made.status_code == 201, made.text
    return {"Authorization": f"Bearer {made.json()['key']}"}


def detail(answer: httpx.Response, status: int) -> str:
    assert answer.status_code == status, answer.text
    return str(answer.json()["detail"])


def test_a_key_is_shown_once_and_works_at_once(world: WorldMaker) -> None:
    async def story(w: World) -> None:
        made = await w.bela.post("/v1/keys", json={"label": "ci", "scopes": ["read", "tenant=astro"]})
        me = (await w.anonymous.get("/v1/whoami", headers=bearer(made))).json()
        assert (me["user"], me["scopes"]) == ("bela", ["read", "tenant=astro"])
        again = (await w.bela.get(made.headers["location"])).json()
        assert "key" not in again
        assert made.json()["key"] not in (await w.bela.get("/v1/keys")).text
        assert made.headers["cache-control"] == "no-store"

    told(world, story)


def test_a_revoked_key_ends_at_once_here(world: WorldMaker) -> None:
    async def story(w: World) -> None:
        made = await w.bela.post("/v1/keys", json={})
        headers = bearer(made)
        assert (await w.anonymous.get("/v1/whoami", headers=headers)).status_code == 200
        gone = await w.bela.delete(made.headers["location"])
        assert gone.json()["valid"] is False
        assert (await w.anonymous.get("/v1/whoami", headers=headers)).status_code == 401
        twice = await w.bela.delete(made.headers["location"])
        assert twice.json()["revoked_at"] == gone.json()["revoked_at"]

    told(world, story)


def test_a_key_ends_when_it_expires_and_makes_none_that_lasts_longer(world: WorldMaker) -> None:
    async def story(w: World) -> None:
        soon = (w.clock() + timedelta(days=1)).isoformat()
        made = await w.bela.post("/v1/keys", json={"scopes": ["read", "keys"], "expires_at": soon})
        headers = bearer(made)
        child = await w.anonymous.post("/v1/keys", json={"scopes": ["read"]}, headers=headers)
        assert child.json()["expires_at"] == made.json()["expires_at"]
        later = (w.clock() + timedelta(days=2)).isoformat()
        wish = {"scopes": ["read"], "expires_at": later}
        assert "beyond" in detail(await w.anonymous.post("/v1/keys", json=wish, headers=headers), 403)
        w.clock.forward(days=1.1)
        assert (await w.anonymous.get("/v1/whoami", headers=headers)).status_code == 401
        assert (await w.anonymous.get("/v1/whoami", headers=bearer(child))).status_code == 401

    told(world, story)


def test_a_key_makes_none_that_may_more(world: WorldMaker) -> None:
    async def story(w: World) -> None:
        narrow = bearer(await w.bela.post("/v1/keys", json={"scopes": ["read", "keys", "tenant=astro"]}))
        for scopes in (["submit"], ["admin"], ["read", "tenant=genomics"]):
            assert "can be made" in detail(
                await w.anonymous.post("/v1/keys", json={"scopes": scopes}, headers=narrow), 403
            )
        inherits = await w.anonymous.post("/v1/keys", json={"scopes": ["read"]}, headers=narrow)
        assert inherits.json()["scopes"] == ["read", "tenant=astro"]
        assert "may" in detail(await w.ada.post("/v1/keys", json={"scopes": ["admin"]}), 403)
        assert "chen" in detail(await w.ada.post("/v1/keys", json={"user": "chen"}), 403)

    told(world, story)


def test_wishes_that_make_no_sense_are_refused(world: WorldMaker) -> None:
    async def story(w: World) -> None:
        past = (w.clock() - timedelta(days=1)).isoformat()
        for wish, word in (
            ({"scopes": ["write"]}, "not a scope"),
            ({"scopes": ["tenant=astro"]}, "no scope"),
            ({"scopes": ["read", "tenant=../x"]}, "name"),
            ({"scopes": ["read", "tenant=genomics"]}, "no member"),
            ({"expires_at": past}, "passed"),
            ({"expires_at": "2030-01-01T00:00:00"}, "timezone"),
            ({"label": "a\nb"}, "printable"),
            ({"colour": "red"}, "colour"),
        ):
            assert word in detail(await w.bela.post("/v1/keys", json=wish), 422)
        assert "admin" in detail(
            await w.root.post("/v1/keys", json={"scopes": ["admin", "tenant=astro"]}), 422
        )

    told(world, story)


def test_a_site_can_limit_how_long_keys_last(world: WorldMaker) -> None:
    async def story(w: World) -> None:
        made = (await w.bela.post("/v1/keys", json={})).json()
        assert made["expires_at"] is not None
        later = (w.clock() + timedelta(days=40)).isoformat()
        assert "beyond" in detail(await w.bela.post("/v1/keys", json={"expires_at": later}), 403)

    told(world, story, key_max_days=30)


def test_a_manager_sees_and_revokes_keys_of_the_tenant_and_no_others(world: WorldMaker) -> None:
    async def story(w: World) -> None:
        bound = await w.bela.post("/v1/keys", json={"scopes": ["read", "tenant=astro"]})
        own = await w.bela.post("/v1/keys", json={"scopes": ["read"]})
        seen = {key["id"] for key in (await w.ada.get("/v1/keys", params={"user": "bela"})).json()["items"]}
        assert bound.json()["id"] in seen
        assert own.json()["id"] not in seen
        assert (await w.ada.delete(own.headers["location"])).status_code == 404
        assert (await w.ada.delete(bound.headers["location"])).status_code == 200
        assert (await w.chen.get(bound.headers["location"])).status_code == 404

    told(world, story)


def test_a_key_for_one_tenant_sees_and_does_nothing_of_another(world: WorldMaker) -> None:
    async def story(w: World) -> None:
        both = [*w.tenants.tenants[1].model_dump(mode="json")["members"], {"user": "bela"}]
        genomics = w.tenants.tenants[1].model_dump(mode="json") | {"members": both}
        w.tenants.tenants = (w.tenants.tenants[0], type(w.tenants.tenants[1]).model_validate(genomics))
        w.slurm.add_tenant("genomics", users=("bela",))
        await w.parts.directory.refresh()
        headers = bearer(
            await w.bela.post("/v1/keys", json={"scopes": ["read", "submit", "tenant=genomics"]})
        )
        astros = await w.bela.post("/v1/jobs", json={"script": SCRIPT.decode()})
        assert astros.status_code == 201
        assert (await w.anonymous.get("/v1/jobs", headers=headers)).json()["items"] == []
        path = f"/v1/jobs/{astros.json()['id']}"
        assert (await w.anonymous.delete(path, headers=headers)).status_code == 404
        for route in ("/v1/jobs", "/v1/jobs:test"):
            refused = await w.anonymous.post(route, json={"script": SCRIPT.decode()}, headers=headers)
            assert "limited to genomics" in detail(refused, 403)
        taken = await w.anonymous.post(
            "/v1/jobs", json={"script": SCRIPT.decode(), "tenant": "genomics"}, headers=headers
        )
        assert taken.status_code == 201
        listed = (await w.anonymous.get("/v1/tenants", headers=headers)).json()["items"]
        assert [tenant["name"] for tenant in listed] == ["genomics"]

    told(world, story)


def test_use_is_noted(world: WorldMaker) -> None:
    async def story(w: World) -> None:
        made = await w.bela.post("/v1/keys", json={})
        await w.anonymous.get("/v1/whoami", headers=bearer(made))

        async def noted() -> bool:
            return (await w.bela.get(made.headers["location"])).json()["last_used_at"] is not None

        await until(noted)

    told(world, story)


def test_the_audit_log_tells_each_their_own(world: WorldMaker) -> None:
    async def story(w: World) -> None:
        await w.bela.post("/v1/jobs", json={"script": SCRIPT.decode()})
        await w.chen.post("/v1/keys", json={"label": "chen's"})

        async def actions(client: httpx.AsyncClient) -> list[tuple[str, str]]:
            return [(e["user"], e["action"]) for e in (await client.get("/v1/audit")).json()["items"]]

        assert await actions(w.bela) == [("bela", "job.submit")]
        assert await actions(w.ada) == [("bela", "job.submit")], "the manager's tenant"
        assert await actions(w.chen) == [("chen", "key.create")]
        assert await actions(w.root) == [("chen", "key.create"), ("bela", "job.submit")]
        page = (await w.root.get("/v1/audit", params={"limit": 1})).json()
        rest = (await w.root.get("/v1/audit", params={"before": page["next_before"]})).json()
        assert [entry["action"] for entry in rest["items"]] == ["job.submit"]
        assert rest["next_before"] is None

    told(world, story)


def test_a_key_that_reads_changes_nothing_by_a_command_that_also_says_show(world: WorldMaker) -> None:
    async def story(w: World) -> None:
        headers = bearer(await w.bela.post("/v1/keys", json={"scopes": ["read"]}))
        for arguments in (
            ["hold", "17", "show"],
            ["update", "JobId=17", "show"],
            ["-M", "show", "hold", "17"],
            ["show_nothing"],
        ):
            answer = await w.anonymous.post(
                "/v1/commands/scontrol", json={"args": arguments}, headers=headers
            )
            assert "submit" in detail(answer, 403), arguments
        shown = await w.anonymous.post(
            "/v1/commands/scontrol", json={"args": ["-o", "show", "job", "17"]}, headers=headers
        )
        assert shown.status_code == 200, shown.text

    told(world, story)
