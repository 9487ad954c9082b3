"""Slurm's commands over HTTP, and a submission with all that sbatch takes from its process."""

from __future__ import annotations

import asyncio
import base64

import pytest

from bridge.slurm.port import CommandAnswer
from tests.component.gateway.conftest import WorldMaker
from tests.component.gateway.test_routes import problem


def test_a_command_runs_as_the_caller_and_its_failure_is_an_answer(world: WorldMaker) -> None:
    async def story() -> None:
        async with world() as w:
            w.slurm.said["squeue"] = CommandAnswer(exit_code=1, stdout=b"17 \xff\n", stderr=b"oh\n")
            asked = {"args": ["-h", "-o", "%i"], "variables": {"SQUEUE_SORT": "i"}}
            answer = await w.ada.post("/v1/commands/squeue", json=asked)
            assert answer.status_code == 200, answer.text
            assert answer.json() == {"exit_code": 1, "stdout": "17 \ufffd\n", "stderr": "oh\n"}
            assert w.slurm.ran == [(("squeue", "-h", "-o", "%i"), "ada", {"SQUEUE_SORT": "i"})]

    asyncio.run(story())


@pytest.mark.parametrize(
    ("command", "args"),
    [
        ("scancel", ["-n", "show"]),
        ("scancel", ["17", "show"]),
        ("scontrol", ["hold", "17", "show"]),
        ("scontrol", ["-M", "show", "hold", "17"]),
        ("scontrol", ["--", "hold", "show"]),
        ("scontrol", ["update", "JobId=17", "TimeLimit=1"]),
    ],
)
def test_a_change_needs_a_credential_that_may_submit_whatever_its_words(
    world: WorldMaker, command: str, args: list[str]
) -> None:
    async def story() -> None:
        async with world() as w:
            made = await w.ada.post("/v1/keys", json={"label": "look", "scopes": ["read"]})
            reader = {"Authorization": f"Bearer {made.json()['key']}"}
            asked = await w.anonymous.post(f"/v1/commands/{command}", json={"args": args}, headers=reader)
            assert "needs submit" in problem(asked, 403, "denied")["detail"]
            assert w.slurm.ran == []
            await w.ada.post(f"/v1/commands/{command}", json={"args": args})
            (entry, *_) = (await w.ada.get("/v1/audit")).json()["items"]
            assert (entry["action"], entry["object"]) == ("command.run", command)

    asyncio.run(story())


@pytest.mark.parametrize("args", [["show", "job", "17"], ["-o", "--details", "show", "job"], ["--version"]])
def test_scontrol_shows_to_a_credential_that_may_only_read(world: WorldMaker, args: list[str]) -> None:
    async def story() -> None:
        async with world() as w:
            made = await w.ada.post("/v1/keys", json={"label": "look", "scopes": ["read"]})
            reader = {"Authorization": f"Bearer {made.json()['key']}"}
            asked = await w.anonymous.post("/v1/commands/scontrol", json={"args": args}, headers=reader)
            assert asked.status_code == 200, asked.text

    asyncio.run(story())


def test_only_slurm_s_commands_are_there(world: WorldMaker) -> None:
    async def story() -> None:
        async with world() as w:
            problem(await w.ada.post("/v1/commands/bash", json={}), 422, "invalid-input")
            asked = {"args": ["a\0b"]}
            problem(await w.ada.post("/v1/commands/squeue", json=asked), 422, "invalid-input")
            assert w.slurm.ran == []

    asyncio.run(story())


def test_a_script_in_base64_host_and_limits_reach_the_job(world: WorldMaker) -> None:
    async def story() -> None:
        async with world() as w:
            script = b"#!/bin/sh\n# \xff\nhostname\n"
            body = {
                "script_base64": base64.b64encode(script).decode(),
                "submit_host": "laptop",
                "limits": {"NOFILE": 512},
            }
            answer = await w.ada.post("/v1/jobs", json=body)
            assert answer.status_code == 201, answer.text
            (job,) = w.slurm.records
            assert job.spec.script == script
            assert job.spec.environment["SLURM_SUBMIT_HOST"] == "laptop"
            assert job.spec.environment["SLURM_RLIMIT_NOFILE"] == "512"
            both = {**body, "script": "#!/bin/sh\n"}
            problem(await w.ada.post("/v1/jobs", json=both), 422, "invalid-input")

    asyncio.run(story())


def test_the_site_s_options_are_listed(world: WorldMaker) -> None:
    async def story() -> None:
        async with world() as w:
            answer = await w.ada.get("/v1/scripts:options")
            assert answer.json() == {"items": []}

    asyncio.run(story())


def test_a_file_that_an_option_names_comes_with_the_request_or_is_read_as_the_user(world: WorldMaker) -> None:
    async def story() -> None:
        async with world() as w:
            w.files.files["/home/ada/hosts"] = ("ada", b"gpu1\n")
            w.files.files["/home/bela/secret"] = ("bela", b"gpu2\n")
            body = {"script": "#!/bin/sh\n", "options": ["-F", "hosts"]}
            assert (await w.ada.post("/v1/jobs", json=body)).status_code == 201
            given = {**body, "files": {"hosts": base64.b64encode(b"gpu2\n").decode()}}
            assert (await w.ada.post("/v1/jobs", json=given)).status_code == 201
            assert [job.spec.nodelist for job in w.slurm.records] == ["gpu1", "gpu2"]
            other = {**body, "options": ["-F", "/home/bela/secret"]}
            problem(await w.ada.post("/v1/jobs", json=other), 422, "invalid-script")

    asyncio.run(story())
