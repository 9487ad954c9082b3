"""Routes over the whole app: what they answer, and to whom."""

import asyncio
import json
import re
from dataclasses import replace
from typing import Any

import httpx
import pytest
import sqlalchemy as sa

from bridge.errors import OutcomeUnknown, SlurmRefused, Unavailable
from bridge.job import JobSpec
from bridge.policy.tenant_schema import tenant_schema
from tests.component.gateway.conftest import World, WorldMaker
from tests.component.gateway.rig import SCRIPT, until

RAW = {"Content-Type": "text/x-shellscript"}


async def submit(client: httpx.AsyncClient, **fields: Any) -> dict[str, Any]:
    answer = await client.post("/v1/jobs", json={"script": SCRIPT.decode(), **fields})
    assert answer.status_code == 201, answer.text
    return dict(answer.json())


async def state_is(client: httpx.AsyncClient, job: str, state: str) -> None:
    async def reached() -> bool:
        return bool((await client.get(f"/v1/jobs/{job}")).json().get("state") == state)

    await until(reached)


def problem(answer: httpx.Response, status: int, code: str) -> dict[str, Any]:
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    body = dict(answer.json())
    assert body["type"] == f"https://sluice.sh/problems/{code}"
    assert body["status"] == status
    assert body["detail"]
    assert "Traceback" not in answer.text
    return body


def test_a_job_goes_from_json_to_slurm_and_its_end_is_seen(world: WorldMaker) -> None:
    async def story() -> None:
        async with world() as w:
            answer = await w.ada.post("/v1/jobs", json={"script": SCRIPT.decode(), "name": "look"})
            job = answer.json()
            assert answer.status_code == 201
            assert answer.headers["location"] == f"/v1/jobs/{job['id']}"
            assert (job["user"], job["tenant"], job["class"], job["door"]) == (
                "ada",
                "astro",
                "training",
                "http",
            )
            spec: JobSpec = w.slurm.records[0].spec
            assert spec.script == SCRIPT
            assert spec.admin_comment == f"sluice:http:{job['id'][4:]}"
            assert spec.account is None, "an option that the user did not write is not sent"
            assert spec.environment["HOME"] == "/home/ada"
            assert (await w.ada.get(f"/v1/jobs/{job['id']}")).json()["state"] == "PENDING"
            w.slurm.start(job["job_id"])
            await state_is(w.ada, job["id"], "RUNNING")
            w.slurm.finish(job["job_id"], exit=7)
            await state_is(w.ada, str(job["job_id"]), "FAILED")
            assert (await w.ada.get(f"/v1/jobs/{job['id']}")).json()["exit_code"] == 7

    asyncio.run(story())


def test_a_raw_script_is_sent_byte_for_byte_with_its_options(world: WorldMaker) -> None:
    async def story() -> None:
        async with world() as w:
            script = b"#!/bin/bash\necho \xff\xfe\n"
            answer = await w.ada.post(
                "/v1/jobs",
                content=script,
                headers=RAW,
                params={
                    "arg": ["--time=3", "--gpus=h100:1"],
                    "script_arg": ["in.txt", "-v"],
                    "work_dir": "/home/ada/run",
                    "class": "batch",
                },
            )
            assert answer.status_code == 201, answer.text
            spec: JobSpec = w.slurm.records[0].spec
            assert spec.script == script
            assert spec.argv == ("in.txt", "-v")
            assert (spec.time_limit_min, spec.work_dir, spec.qos) == (3, "/home/ada/run", "batch")

    asyncio.run(story())


HET = b"#!/bin/sh\n#SBATCH -J two -n1\n#SBATCH hetjob\n#SBATCH -n2\ntrue\n"


def test_a_heterogeneous_job_is_one_submission_and_a_row_a_component(world: WorldMaker) -> None:
    async def story() -> None:
        async with world() as w:
            answer = await w.ada.post("/v1/jobs", content=HET, headers={**RAW, "Idempotency-Key": "het"})
            assert answer.status_code == 201, answer.text
            leader = answer.json()
            assert (leader["het_job_id"], leader["het_offset"]) == (leader["job_id"], 0)
            again = await w.ada.post("/v1/jobs", content=HET, headers={**RAW, "Idempotency-Key": "het"})
            assert (again.status_code, again.json()["id"]) == (200, leader["id"])
            assert len(w.slurm.records) == 2
            name = f"{leader['job_id']}+1"
            await state_is(w.ada, name, "PENDING")
            other = (await w.ada.get(f"/v1/jobs/{name}")).json()
            assert (other["het_job_id"], other["het_offset"], other["door"]) == (leader["job_id"], 1, "http")
            assert other["id"] != leader["id"]
            assert (await w.ada.delete(f"/v1/jobs/{leader['id']}")).status_code == 202
            await state_is(w.ada, name, "CANCELLED")
            problem(await w.ada.get(f"/v1/jobs/{leader['job_id']}+2"), 404, "not-found")

    asyncio.run(story())


def test_the_rules_decide_on_each_component(world: WorldMaker) -> None:
    async def story() -> None:
        async with world() as w:
            script = HET.replace(b"-n2", b"-n2 --gpus=h100:10000")
            problem(await w.ada.post("/v1/jobs", content=script, headers=RAW), 403, "policy-refused")
            assert w.slurm.records == []

    asyncio.run(story())


def test_an_idempotency_key_gives_the_same_job_again(world: WorldMaker) -> None:
    async def story() -> None:
        async with world() as w:
            headers = {"Idempotency-Key": "order-66"}
            body = {"script": SCRIPT.decode()}
            first = await w.ada.post("/v1/jobs", json=body, headers=headers)
            again = await w.ada.post("/v1/jobs", json=body, headers=headers)
            assert (first.status_code, again.status_code) == (201, 200)
            assert first.json()["id"] == again.json()["id"]
            other = await w.ada.post("/v1/jobs", json={**body, "name": "x"}, headers=headers)
            problem(other, 422, "key-reused")
            problem(
                await w.ada.post("/v1/jobs", json=body, headers={"Idempotency-Key": ""}), 422, "invalid-input"
            )

    asyncio.run(story())


def test_the_schema_of_a_tenant_is_given_to_everybody(world: WorldMaker) -> None:
    async def story() -> None:
        async with world() as w:
            answer = await w.anonymous.get("/v1/schemas/tenant")
            assert answer.headers["content-type"] == "application/schema+json"
            assert answer.json() == tenant_schema()

    asyncio.run(story())


def test_jobs_of_another_tenant_do_not_exist(world: WorldMaker) -> None:
    async def story() -> None:
        async with world() as w:
            job = await submit(w.ada)
            for name in (job["id"], str(job["job_id"])):
                problem(await w.chen.get(f"/v1/jobs/{name}"), 404, "not-found")
                problem(await w.chen.delete(f"/v1/jobs/{name}"), 404, "not-found")
                for stream in ("stdout", "stderr"):
                    problem(await w.chen.get(f"/v1/jobs/{name}/{stream}"), 404, "not-found")
            assert (await w.chen.get("/v1/jobs")).json()["items"] == []
            assert (await w.chen.get("/v1/jobs", params={"tenant": "astro"})).json()["items"] == []
            assert (await w.chen.get("/v1/jobs", params={"user": "ada"})).json()["items"] == []
            absent = (await w.chen.get("/v1/jobs/999999")).json()
            hidden = (await w.chen.get(f"/v1/jobs/{job['job_id']}")).json()
            assert absent["detail"].replace("'999999'", "N") == hidden["detail"].replace(
                f"'{job['job_id']}'", "N"
            )
            assert w.slurm.records[0].run.state.base == "PENDING"

    asyncio.run(story())


def test_members_see_their_tenants_jobs_and_end_only_their_own(world: WorldMaker) -> None:
    async def story() -> None:
        async with world() as w:
            adas, belas = await submit(w.ada), await submit(w.bela)
            seen = (await w.bela.get("/v1/jobs")).json()["items"]
            assert [job["id"] for job in seen] == [belas["id"], adas["id"]]
            problem(await w.bela.delete(f"/v1/jobs/{adas['id']}"), 403, "denied")
            problem(await w.bela.get(f"/v1/jobs/{adas['id']}/stdout"), 403, "denied")
            assert (await w.bela.delete(f"/v1/jobs/{belas['id']}")).json()["state"] == "CANCELLED"

    asyncio.run(story())


def test_managers_end_jobs_of_their_tenant_but_do_not_read_them(world: WorldMaker) -> None:
    async def story() -> None:
        async with world() as w:
            belas = await submit(w.bela)
            problem(await w.ada.get(f"/v1/jobs/{belas['id']}/stdout"), 403, "denied")
            answer = await w.ada.delete(f"/v1/jobs/{belas['id']}")
            assert answer.status_code == 202
            assert answer.json()["state"] == "CANCELLED"

    asyncio.run(story())


def test_an_administrator_sees_everything(world: WorldMaker) -> None:
    async def story() -> None:
        async with world() as w:
            made = {(await submit(w.ada))["id"], (await submit(w.chen))["id"]}
            assert {job["id"] for job in (await w.root.get("/v1/jobs")).json()["items"]} == made
            assert len((await w.root.get("/v1/tenants")).json()["items"]) == 2

    asyncio.run(story())


def test_tenants_and_whoami_show_the_callers_own(world: WorldMaker) -> None:
    async def story() -> None:
        async with world() as w:
            tenants = (await w.ada.get("/v1/tenants")).json()
            assert [tenant["name"] for tenant in tenants["items"]] == ["astro"]
            assert tenants["items"][0]["state"] == {"applied": True, "message": ""}
            assert tenants["as_of"]
            me = (await w.ada.get("/v1/whoami")).json()
            assert (me["user"], me["default_tenant"], me["missing"]) == ("ada", "astro", None)
            assert [(tenant["name"], tenant["role"]) for tenant in me["tenants"]] == [("astro", "manager")]

    asyncio.run(story())


def test_whoami_says_what_is_left_by_slurmctlds_own_count(world: WorldMaker) -> None:
    async def story() -> None:
        async with world() as w:
            w.slurm.put_associations(
                [
                    replace(
                        w.slurm.associations["astro", ""],
                        grp_tres={"gres/gpu:h100": 4},
                        grp_submit_jobs=10,
                    )
                ]
            )
            job = await submit(w.bela)
            w.slurm.start(job["job_id"])
            (astro,) = (await w.ada.get("/v1/whoami")).json()["tenants"]
            assert astro["gpus"]["h100"] == {"limit": 4, "used": 1, "left": 3}
            assert astro["jobs"]["submitted"] == {"limit": 10, "used": 1, "left": 9}
            assert (astro["own"]["running"]["used"], astro["default_class"]) == (0, "training")
            w.slurm.down.add("slurmctld")
            me = (await w.ada.get("/v1/whoami")).json()
            assert (me["as_of"], me["tenants"][0]["gpus"]) == (None, {})
            assert "slurmctld" in me["missing"]

    asyncio.run(story())


def test_a_token_of_slurms_own_is_as_good_as_a_key_of_its_user(world: WorldMaker) -> None:
    async def story() -> None:
        async with world() as w:
            w.slurm.tokens = {"a.b.c": "bela", "r.o.o": "root", "s.l.u": "slurm"}

            async def ask(token: str) -> httpx.Response:
                return await w.anonymous.get("/v1/whoami", headers={"Authorization": f"Bearer {token}"})

            me = (await ask("a.b.c")).json()
            assert (me["user"], me["credential"], me["admin"]) == ("bela", "slurm token", False)
            for token in ("r.o.o", "s.l.u", "x.y.z"):
                problem(await ask(token), 401, "unauthenticated")

    asyncio.run(story())


def test_the_last_good_tenants_stay_when_the_bridge_goes(world: WorldMaker) -> None:
    async def story() -> None:
        async with world() as w:
            w.tenants.down = True

            async def noticed() -> bool:
                parts = (await w.anonymous.get("/readyz")).json()["parts"]
                return any(part["part"] == "bridge" and not part["healthy"] for part in parts)

            await until(noticed)
            assert (await w.ada.get("/v1/tenants")).status_code == 200
            await submit(w.ada)
            assert (await w.anonymous.get("/readyz")).status_code == 200

    asyncio.run(story())


def test_a_refusal_by_a_rule_names_rule_and_remedy(world: WorldMaker) -> None:
    async def story() -> None:
        async with world() as w:
            answer = await w.chen.post(
                "/v1/jobs", json={"script": SCRIPT.decode(), "options": {"gpus": "h100:4"}}
            )
            body = problem(answer, 403, "policy-refused")
            assert body["rule"] == "flavor.limit"
            assert "2 h100 GPUs" in body["detail"]
            foreign = await w.chen.post("/v1/jobs", json={"script": SCRIPT.decode(), "tenant": "astro"})
            problem(foreign, 403, "policy-refused")
            assert w.slurm.records == []

    asyncio.run(story())


def test_what_would_be_refused_is_said_in_mode_warn_and_not_in_mode_observe(world: WorldMaker) -> None:
    async def story() -> None:
        async with world() as w:
            for mode, count in (("warn", 1), ("observe", 0)):
                w.tenants.tenants = tuple(
                    tenant.model_copy(update={"rules": mode}) for tenant in w.tenants.tenants
                )
                await w.parts.directory.refresh()
                job = await submit(w.ada, options={"gpus": "h100:9"})
                said = [text for text in job["messages"] if "(rule flavor.limit)" in text]
                assert len(said) == count

    asyncio.run(story())


def test_a_rule_that_was_just_relaxed_refuses_nobody(world: WorldMaker) -> None:
    async def story() -> None:
        async with world(tenants_every_s=3600) as w:
            await asyncio.sleep(0)
            w.tenants.tenants = tuple(
                tenant.model_copy(update={"members": (*tenant.members, w.tenants.tenants[0].members[1])})
                for tenant in w.tenants.tenants
            )
            w.slurm.add_tenant("genomics", users=("bela",))
            await submit(w.bela, tenant="genomics")

    asyncio.run(story())


def test_slurms_words_are_passed_on(world: WorldMaker) -> None:
    async def story() -> None:
        async with world() as w:
            w.slurm.refuse_next("Invalid account or account/partition combination", errno=2045)
            body = problem(
                await w.ada.post("/v1/jobs", json={"script": SCRIPT.decode()}), 422, "slurm-refused"
            )
            assert body["slurm_words"] == "Invalid account or account/partition combination"
            assert body["errno"] == 2045
            w.slurm.fail_next("submit", SlurmRefused("Resource temporarily unavailable", errno=11))
            full = await w.ada.post("/v1/jobs", json={"script": SCRIPT.decode()})
            problem(full, 503, "slurm-refused")
            assert int(full.headers["retry-after"]) > 0

    asyncio.run(story())


def test_slurmctld_down_is_503_for_writes_while_reads_go_on(world: WorldMaker) -> None:
    async def story() -> None:
        async with world() as w:
            job = await submit(w.ada)
            await w.parts.tracker.fresh()
            w.slurm.down = {"slurmctld"}
            answer = await w.ada.post("/v1/jobs", json={"script": SCRIPT.decode()})
            body = problem(answer, 503, "unavailable")
            assert body["part"] == "slurmctld"
            assert int(answer.headers["retry-after"]) > 0
            assert (await w.ada.get(f"/v1/jobs/{job['id']}")).status_code == 200
            ready = await w.anonymous.get("/readyz")
            assert ready.status_code == 503
            assert [p["part"] for p in ready.json()["parts"] if p["needed"] and not p["healthy"]] == [
                "slurmctld"
            ]
            w.slurm.down = set()

            async def healed() -> bool:
                return (await w.anonymous.get("/readyz")).status_code == 200

            await until(healed)
            assert len(w.slurm.records) == 1

    asyncio.run(story())


def test_a_submission_that_became_no_job_is_told_to_its_owner_alone(world: WorldMaker) -> None:
    async def story() -> None:
        async with world() as w:
            w.slurm.fail_next("submit", OutcomeUnknown("no answer"), after=False)
            told = await w.ada.post("/v1/jobs", json={"script": SCRIPT.decode()})
            name = problem(told, 503, "outcome-unknown")["id"]

            async def answer() -> str:
                return str(problem(await w.ada.get(f"/v1/jobs/{name}"), 404, "not-found")["detail"])

            async def settled() -> bool:
                return "did not become a job" in await answer()

            assert "is not a job yet" in await answer()
            w.clock.forward(minutes=5)
            await until(settled)
            assert "submit it again" in await answer()
            for other in (w.bela, w.chen):
                said = problem(await other.get(f"/v1/jobs/{name}"), 404, "not-found")
                assert "there is no job" in said["detail"]

    asyncio.run(story())


BAD: list[tuple[bytes, dict[str, str], dict[str, str], str]] = [
    (b"", {}, {}, "invalid-input"),
    (b"{", {}, {}, "invalid-input"),
    (b"[]", {}, {}, "invalid-input"),
    (b'{"script": 3}', {}, {}, "invalid-input"),
    (b'{"script": "\\ud800"}', {}, {}, "invalid-input"),
    (b'{"script": "#!/bin/sh\\n", "surprise": 1}', {}, {}, "invalid-input"),
    (b'{"script": "#!/bin/sh\\n", "work_dir": "run"}', {}, {}, "invalid-input"),
    (b'{"script": "#!/bin/sh\\n", "options": {"--time": 3}}', {}, {}, "invalid-input"),
    (b'{"script": "#!/bin/sh\\n", "tenant": "astro", "options": {"account": "x"}}', {}, {}, "invalid-input"),
    (b'{"script": "#!/bin/sh\\n", "environment": {"A=B": "x"}}', {}, {}, "invalid-input"),
    (b"x=1", {"Content-Type": "application/x-www-form-urlencoded"}, {}, "invalid-input"),
    (b'{"script": "#!/bin/sh\\n", "options": {"job-name": "a\\u0000b"}}', {}, {}, "invalid-input"),
    (b"#!/bin/sh\n", RAW, {"name": "a\0b"}, "invalid-input"),
    (b"#!/bin/sh\n", RAW, {"arg": "--account=a\0b"}, "invalid-input"),
    (b"echo\n", RAW, {}, "invalid-script"),
    (b"", RAW, {}, "invalid-script"),
    (b"#!/bin/sh\n#SBATCH --nonsense\n", RAW, {}, "invalid-script"),
    (b"#!/bin/sh\n", RAW, {"arg": "--time=abc"}, "invalid-script"),
]


def test_bad_input_is_422_with_a_sentence_and_reaches_nobody(world: WorldMaker) -> None:
    async def story() -> None:
        async with world() as w:
            for content, headers, params, code in BAD:
                kind = {"Content-Type": "application/json", **headers}
                answer = await w.ada.post("/v1/jobs", content=content, headers=kind, params=params)
                problem(answer, 422, code)
            assert w.slurm.records == []

    asyncio.run(story())


def test_a_body_above_the_limit_is_413(world: WorldMaker) -> None:
    async def story() -> None:
        async with world(max_body_bytes=1000) as w:
            answer = await w.ada.post("/v1/jobs", content=b"#" * 2000, headers=RAW)
            problem(answer, 413, "too-large")

    asyncio.run(story())


def test_pages_are_whole_and_stable_while_jobs_come_in(world: WorldMaker) -> None:
    async def story() -> None:
        async with world() as w:
            before = [(await submit(w.ada))["id"] for _ in range(7)]
            seen: list[str] = []
            cursor: str | None = None
            while True:
                params: dict[str, str | int] = {"limit": 3, **({"cursor": cursor} if cursor else {})}
                page = (await w.bela.get("/v1/jobs", params=params)).json()
                seen += [job["id"] for job in page["items"]]
                cursor = page["next_cursor"]
                if cursor is None:
                    break
                await submit(w.bela)
            assert seen == before[::-1]
            for bad in ("x", "%%%", "am9iXzE", "é"):
                problem(await w.ada.get("/v1/jobs", params={"cursor": bad}), 422, "invalid-input")

    asyncio.run(story())


def test_listings_are_narrowed_by_tenant_user_and_state(world: WorldMaker) -> None:
    async def story() -> None:
        async with world() as w:
            adas, belas, chens = await submit(w.ada), await submit(w.bela), await submit(w.chen)
            w.slurm.start(adas["job_id"])
            await state_is(w.ada, adas["id"], "RUNNING")

            async def ids(**params: Any) -> list[str]:
                return [job["id"] for job in (await w.root.get("/v1/jobs", params=params)).json()["items"]]

            assert await ids(state="RUNNING") == [adas["id"]]
            assert await ids(state="pending,running", tenant="astro") == [belas["id"], adas["id"]]
            assert await ids(user="chen") == [chens["id"]]
            assert await ids(tenant="none") == []
            problem(await w.root.get("/v1/jobs", params={"state": "DONE"}), 422, "invalid-input")
            problem(await w.root.get("/v1/jobs", params={"limit": 0}), 422, "invalid-input")

    asyncio.run(story())


def test_output_is_passed_as_it_is(world: WorldMaker) -> None:
    async def story() -> None:
        async with world() as w:
            job = await submit(w.ada)
            w.slurm.start(job["job_id"])
            await state_is(w.ada, job["id"], "RUNNING")
            path = (await w.ada.get(f"/v1/jobs/{job['id']}")).json()["stdout"]
            url = f"/v1/jobs/{job['id']}/stdout"
            problem(await w.ada.get(url), 404, "not-found")
            text = "".join(f"line {number} é\n" for number in range(400_000)).encode()
            w.files.files[path] = ("ada", text)
            whole = await w.ada.get(url)
            assert whole.content == text
            assert whole.headers["content-type"] == "text/plain; charset=utf-8"
            assert whole.headers["x-sluice-size"] == str(len(text))
            part = await w.ada.get(url, params={"offset": 5, "limit": 7})
            assert part.content == text[5:12]
            for beyond in (2**64, -(2**64), 10**30):
                problem(await w.ada.get(url, params={"offset": beyond}), 422, "invalid-input")
            end = await w.ada.get(url, params={"offset": -9})
            assert end.content == text[-9:]
            assert end.headers["x-sluice-offset"] == str(len(text) - 9)
            for lines in (0, 1, 3, 20_000):
                tail = await w.ada.get(url, params={"tail": lines})
                assert tail.content == b"".join(
                    text.splitlines(keepends=True)[len(text.splitlines()) - lines :]
                )
            w.files.files[path] = ("ada", b"no newline\nat the end")
            assert (await w.ada.get(url, params={"tail": 1})).content == b"at the end"
            assert (await w.ada.get(url, params={"tail": 9})).content == b"no newline\nat the end"
            w.files.files[path] = ("ada", b"\xff\xfe\x00binary")
            binary = await w.ada.get(url)
            assert binary.content == b"\xff\xfe\x00binary"
            assert binary.headers["content-type"] == "application/octet-stream"
            w.files.files[path] = ("ada", b"")
            assert (await w.ada.get(url)).content == b""
            problem(await w.ada.get(url, params={"tail": 1, "limit": 2}), 422, "invalid-input")
            w.files.files[path] = ("chen", b"secret")
            problem(await w.ada.get(url), 403, "denied")
            w.files.down = True
            problem(await w.ada.get(url), 503, "unavailable")
            ready = (await w.anonymous.get("/readyz")).json()
            assert ready["ready"] is True
            assert {"part": "file-agent", "healthy": False}.items() <= ready["parts"][-1].items()

    asyncio.run(story())


@pytest.mark.parametrize(
    ("output", "status", "code", "words"),
    [
        ("/dev/null", 404, "not-found", "keeps nothing"),
        ("/tmp/x.out", 422, "invalid-input", "local to a node"),
    ],
)
def test_output_that_can_not_be_read_says_why(
    world: WorldMaker, output: str, status: int, code: str, words: str
) -> None:
    async def story() -> None:
        async with world() as w:
            job = await submit(w.ada, options={"output": output})
            waiting = problem(await w.ada.get(f"/v1/jobs/{job['id']}/stderr"), 404, "not-found")
            assert waiting["detail"]
            w.slurm.start(job["job_id"])
            await state_is(w.ada, job["id"], "RUNNING")
            assert words in problem(await w.ada.get(f"/v1/jobs/{job['id']}/stdout"), status, code)["detail"]

    asyncio.run(story())


def test_an_array_is_one_job_whose_tasks_are_jobs_too(world: WorldMaker) -> None:
    async def story() -> None:
        async with world() as w:
            job = await submit(w.ada, options={"array": "0-2"})
            number = job["job_id"]
            assert job["array_job_id"] == number
            w.slurm.start(number, array_task_id=0)
            w.slurm.start(number, array_task_id=1)
            await state_is(w.ada, f"{number}_1", "RUNNING")
            await state_is(w.ada, job["id"], "RUNNING")
            w.slurm.finish(number, array_task_id=0)
            w.slurm.finish(number, exit=3, array_task_id=1)
            await state_is(w.ada, job["id"], "PENDING")
            problem(await w.ada.get(f"/v1/jobs/{job['id']}/stdout"), 404, "not-found")
            waiting = (await w.ada.get(f"/v1/jobs/{number}_2")).json()
            assert (waiting["state"], waiting["array_task_id"]) == ("PENDING", 2)
            problem(await w.ada.get(f"/v1/jobs/{number}_3"), 404, "not-found")
            answer = await w.ada.delete(f"/v1/jobs/{number}_2")
            assert (answer.json()["state"], answer.json()["id"]) == ("CANCELLED", waiting["id"])
            await state_is(w.ada, job["id"], "FAILED")
            whole = (await w.ada.get(f"/v1/jobs/{number}")).json()
            assert (whole["id"], whole["exit_code"], whole["array_tasks"]) == (job["id"], 3, None)
            items = (await w.ada.get("/v1/jobs")).json()["items"]
            assert sorted(item["array_task_id"] for item in items if item["array_task_id"] is not None) == [
                0,
                1,
                2,
            ]

    asyncio.run(story())


def test_cancelling_a_job_that_slurm_lost_leaves_the_next_one_of_its_number_alone(world: WorldMaker) -> None:
    async def story() -> None:
        async with world() as w:
            lost = await submit(w.ada)
            await w.parts.tracker.fresh()
            # A crash of slurmctld before its state was saved: it forgets the job and gives its number again.
            w.slurm.purge(lost["job_id"])
            w.slurm.reuse_numbers_from(lost["job_id"])
            following = await submit(w.ada)
            assert following["job_id"] == lost["job_id"]
            await w.parts.tracker.fresh()
            answer = await w.ada.delete(f"/v1/jobs/{lost['id']}")
            assert (answer.status_code, answer.json()["state"]) == (202, "UNKNOWN")
            assert (await w.ada.get(f"/v1/jobs/{following['id']}")).json()["state"] == "PENDING"

    asyncio.run(story())


def test_a_task_that_is_cancelled_while_it_waits_is_kept_though_slurm_forgets_it(world: WorldMaker) -> None:
    async def story() -> None:
        async with world() as w:
            job = await submit(w.ada, options={"array": "0-2"})
            number = job["job_id"]
            await w.parts.tracker.fresh()

            def forgets(job_id: int, *, user: str, array_task_id: int | None = None) -> None:
                # What slurmctld 26.05.5 was seen to do.
                assert (job_id, user, array_task_id) == (number, "ada", 1)
                w.slurm.records[0].waiting = (0, 2)

            w.slurm.cancel = forgets  # type: ignore[method-assign]
            before = (await w.ada.get(f"/v1/jobs/{number}_1")).json()
            answer = (await w.ada.delete(f"/v1/jobs/{number}_1")).json()
            assert (answer["state"], answer["id"]) == ("CANCELLED", before["id"])
            assert (await w.ada.get(f"/v1/jobs/{number}_1")).json()["state"] == "CANCELLED"
            assert (await w.ada.get(f"/v1/jobs/{number}")).json()["state"] == "PENDING"

    asyncio.run(story())


def test_jobs_of_sbatch_are_found_and_keep_their_id_over_a_requeue(world: WorldMaker) -> None:
    async def story() -> None:
        async with world() as w:
            spec = JobSpec(
                script=SCRIPT, work_dir="/home/ada", environment={}, tres_per_job="gres/gpu:h100:1"
            )
            number = w.slurm.submit(spec, user="ada").job_id
            await state_is(w.ada, str(number), "PENDING")
            job = (await w.ada.get(f"/v1/jobs/{number}")).json()
            assert (job["door"], job["gpus"], job["flavor"]) == ("sbatch", 1, "h100")
            w.slurm.start(number)
            await state_is(w.ada, job["id"], "RUNNING")
            w.clock.forward(minutes=5)
            w.slurm.requeue(number)
            await state_is(w.ada, job["id"], "PENDING")
            again = (await w.ada.get(f"/v1/jobs/{number}")).json()
            assert (again["id"], again["restarts"], again["submitted_at"]) == (
                job["id"],
                1,
                job["submitted_at"],
            )

    asyncio.run(story())


def test_a_number_that_is_given_again_is_another_job(world: WorldMaker) -> None:
    async def story() -> None:
        async with world() as w:
            first = await submit(w.ada)
            w.slurm.start(first["job_id"])
            w.slurm.finish(first["job_id"])
            await state_is(w.ada, first["id"], "COMPLETED")
            w.slurm.purge(first["job_id"])
            w.clock.forward(hours=2)
            w.slurm.reuse_numbers_from(first["job_id"])
            second = await submit(w.ada)
            assert second["job_id"] == first["job_id"]
            assert second["id"] != first["id"]
            await w.parts.tracker.fresh()
            assert (await w.ada.get(f"/v1/jobs/{first['id']}")).json()["state"] == "COMPLETED"
            assert (await w.ada.get(f"/v1/jobs/{second['job_id']}")).json()["id"] == second["id"]

    asyncio.run(story())


def test_a_job_that_left_slurmctld_is_unknown_until_accounting_says_more(world: WorldMaker) -> None:
    async def story() -> None:
        async with world() as w:
            job = await submit(w.ada)
            w.slurm.start(job["job_id"])
            await state_is(w.ada, job["id"], "RUNNING")
            w.slurm.down = {"slurmdbd"}
            w.slurm.finish(job["job_id"], exit=9)
            w.slurm.purge(job["job_id"])
            w.clock.forward(minutes=1)
            await state_is(w.ada, job["id"], "UNKNOWN")
            w.slurm.down = set()
            w.clock.forward(minutes=1)
            await state_is(w.ada, job["id"], "FAILED")

    asyncio.run(story())


def test_openapi_and_its_page_work_without_a_key_and_without_internet(world: WorldMaker) -> None:
    async def story() -> None:
        async with world() as w:
            document = (await w.anonymous.get("/openapi.json")).json()
            assert document["openapi"].startswith("3.1")
            assert "/v1/jobs" in document["paths"]
            page = (await w.anonymous.get("/docs")).text
            assert "cdn" not in page.lower()
            assets = [word.split('"')[0] for word in page.split('src="')[1:]]
            assert assets
            for asset in assets:
                assert (await w.anonymous.get(asset)).status_code == 200

    asyncio.run(story())


def test_metrics_tell_what_happened(world: WorldMaker) -> None:
    async def story() -> None:
        async with world() as w:
            await submit(w.ada)
            await w.ada.get("/v1/jobs/123456")
            text = (await w.anonymous.get("/metrics")).text
            assert 'sluice_submissions_total{outcome="submitted"} 1.0' in text
            assert 'sluice_jobs{state="PENDING"} 1.0' in text
            assert 'route="/v1/jobs/{job}"' in text
            assert "123456" not in text
            age = re.search(r"^sluice_mirror_age_seconds (\S+)$", text, re.MULTILINE)
            assert age is not None
            assert 0 <= float(age[1]) < float("inf")

    asyncio.run(story())


def test_each_answer_has_a_request_id(world: WorldMaker) -> None:
    async def story() -> None:
        async with world() as w:
            given = await w.ada.get("/v1/jobs/1", headers={"X-Request-Id": "abc-1"})
            assert given.headers["x-request-id"] == "abc-1"
            odd = await w.ada.get("/healthz", headers={"X-Request-Id": "a b\tc"})
            assert len(odd.headers["x-request-id"]) == 26

    asyncio.run(story())


def test_what_nobody_foresaw_is_one_sentence_with_the_request_id(world: WorldMaker) -> None:
    async def story() -> None:
        async with world() as w:

            async def broken(_key: str) -> None:
                raise RuntimeError("secret detail")

            w.parts.authenticator.principal = broken  # type: ignore[method-assign,assignment]
            answer = await w.ada.get("/v1/whoami")
            body = problem(answer, 500, "internal")
            assert body["request_id"] == answer.headers["x-request-id"]
            assert "secret detail" not in answer.text

    asyncio.run(story())


def test_wrong_paths_and_methods_are_problems_too(world: WorldMaker) -> None:
    async def story() -> None:
        async with world() as w:
            problem(await w.ada.get("/v2/jobs"), 404, "not-found")
            problem(await w.ada.put("/v1/jobs"), 405, "method-not-allowed")
            problem(await w.ada.get("/v1/jobs/0x10"), 404, "not-found")
            problem(await w.ada.get("/v1/jobs/1/script"), 422, "invalid-input")

    asyncio.run(story())


def test_revoked_and_expired_keys_end(world: WorldMaker) -> None:
    async def story() -> None:
        async with world() as w:
            from functools import partial

            from gateway.auth import new_key
            from gateway.store import keys

            key, text = new_key("ada", label="", admin=False, now=w.clock(), expires_at=w.clock())
            await w.parts.store.write(partial(keys.add, key=key))
            answer = await w.anonymous.get("/v1/whoami", headers={"Authorization": f"Bearer {text}"})
            problem(answer, 401, "unauthenticated")
            mine = (await w.ada.get("/v1/whoami")).json()["credential"].split()[1]
            await w.parts.store.write(partial(keys.revoke, key_id=mine, now=w.clock()))

            async def ended() -> bool:
                return (await w.ada.get("/v1/whoami")).status_code == 401

            await until(ended)

    asyncio.run(story())


def test_no_secret_is_in_the_log(world: WorldMaker, capsys: pytest.CaptureFixture[str]) -> None:
    async def story(w: World) -> None:
        await submit(w.ada)
        await w.anonymous.get("/v1/jobs", headers={"Authorization": f"Bearer {w.secrets['ada'][:-1]}x"})

    async def run() -> None:
        async with world() as w:
            await story(w)
            said = capsys.readouterr()
            for secret in w.secrets.values():
                assert secret not in said.out + said.err
                assert json.dumps(secret[-20:]) not in said.out + said.err

    asyncio.run(run())


def test_the_agent_that_is_gone_is_named(world: WorldMaker) -> None:
    async def story() -> None:
        async with world() as w:

            def gone() -> None:
                raise Unavailable("slurm-agent does not answer on agent.sock", part="slurm-agent")

            w.slurm.health = gone  # type: ignore[method-assign,assignment]
            ready = await w.anonymous.get("/readyz")
            assert ready.status_code == 503
            parts = {part["part"]: part for part in ready.json()["parts"]}
            assert parts["slurm-agent"]["healthy"] is False
            assert "agent.sock" in parts["slurm-agent"]["detail"]

    asyncio.run(story())


def test_a_slash_at_the_end_is_no_redirect_that_loses_the_script(world: WorldMaker) -> None:
    async def story() -> None:
        async with world() as w:
            for answer in (
                await w.ada.get("/v1/jobs/"),
                await w.ada.post("/v1/jobs/", content=SCRIPT, headers=RAW),
                await w.anonymous.get("/healthz/"),
            ):
                assert "no slash at their end" in problem(answer, 404, "not-found")["detail"]

    asyncio.run(story())


def test_a_store_that_takes_no_write_is_not_ready(world: WorldMaker, monkeypatch: pytest.MonkeyPatch) -> None:
    async def store(w: World) -> tuple[int, dict[str, Any]]:
        answer = await w.anonymous.get("/readyz")
        return answer.status_code, next(p for p in answer.json()["parts"] if p["part"] == "store")

    async def story() -> None:
        async with world() as w:
            assert (await store(w))[0] == 200
            with monkeypatch.context() as patched:
                patched.setattr(w.parts.store, "free_mib", lambda: 7)
                status, part = await store(w)
                assert (status, part["healthy"]) == (503, False)
                assert "its disk is full: 7 MiB" in part["detail"]

            def full(_session: object) -> None:
                raise sa.exc.OperationalError("", None, Exception("database or disk is full"))

            with monkeypatch.context() as patched:
                patched.setattr("gateway.store.cursors.position", lambda *_: full(None))
                status, part = await store(w)
                assert (status, part["healthy"]) == (503, False)
                assert "disk is full" in part["detail"]

    asyncio.run(story())


def test_output_on_a_full_disk_says_so(world: WorldMaker) -> None:
    async def story() -> None:
        async with world() as w:
            job = await submit(w.ada, options={"output": "x.out"}, work_dir="/home/ada")
            w.slurm.start(job["job_id"])
            await state_is(w.ada, job["id"], "RUNNING")
            url, path = f"/v1/jobs/{job['id']}/stdout", "/home/ada/x.out"
            w.files.files[path] = ("ada", b"begun\n")
            assert "X-Sluice-Warning" not in (await w.ada.get(url)).headers
            w.files.disk_full = True
            for query in ({}, {"tail": 1}):
                answer = await w.ada.get(url, params=query)
                assert (answer.status_code, answer.content) == (200, b"begun\n")
                assert "disk of this output is full" in answer.headers["X-Sluice-Warning"]
            del w.files.files[path]
            assert "disk of this output is full" in problem(await w.ada.get(url), 404, "not-found")["detail"]

    asyncio.run(story())
