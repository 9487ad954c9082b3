"""Slurm's commands over HTTP, and a submission with all that sbatch takes from its process."""

from __future__ import annotations

import asyncio
import base64

from bridge.slurm.port import CommandAnswer
from tests.unit.gateway.conftest import WorldMaker
from tests.unit.gateway.test_routes import problem


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
