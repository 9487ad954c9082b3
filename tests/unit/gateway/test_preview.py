"""``jobs:test`` and ``scripts:lint``: the answers a submission would get, and nothing is made."""

from __future__ import annotations

import asyncio

from bridge.errors import Unavailable
from tests.unit.gateway.conftest import WorldMaker
from tests.unit.gateway.test_routes import problem

RAW = {"Content-Type": "text/x-shellscript"}
SCRIPT = b"#!/bin/sh\n#SBATCH --time=90 --gpus=h100:2 -J train\nhostname\n#SBATCH -n2\n"


def test_a_job_that_could_start_now_is_told_when_and_where(world: WorldMaker) -> None:
    async def story() -> None:
        async with world() as w:
            answer = await w.ada.post("/v1/jobs:test", content=SCRIPT, headers=RAW)
            assert answer.status_code == 200, answer.text
            verdict = answer.json()
            assert verdict["verdict"] == "would-start"
            (job,) = verdict["components"]
            assert (job["name"], job["gpus"], job["flavor"], job["nodes"]) == ("train", 2, "h100", "gpu1")
            assert verdict["estimated_start"] == job["estimated_start"] is not None
            assert verdict["cost_per_hour"] is None
            assert w.slurm.records == []

    asyncio.run(story())


def test_a_job_that_would_be_queued_is_told_why(world: WorldMaker) -> None:
    async def story() -> None:
        async with world() as w:
            answer = await w.ada.post("/v1/jobs:test", content=SCRIPT, headers=RAW, params={"arg": "-H"})
            assert answer.json()["verdict"] == "would-wait"
            assert "held" in answer.json()["reason"]

    asyncio.run(story())


def test_a_refusal_is_the_one_that_the_submission_would_get(world: WorldMaker) -> None:
    async def story() -> None:
        async with world() as w:
            for words, status, code in (
                ("--time=x", 422, "invalid-script"),
                ("--gpus=h100:10000", 403, "policy-refused"),
            ):
                for path in ("/v1/jobs:test", "/v1/jobs"):
                    answer = await w.ada.post(path, content=SCRIPT, headers=RAW, params={"arg": words})
                    problem(answer, status, code)
            w.slurm.fail_next("forecast", Unavailable("slurmctld does not answer", part="slurmctld"))
            problem(await w.ada.post("/v1/jobs:test", content=SCRIPT, headers=RAW), 503, "unavailable")
            assert w.slurm.records == []

    asyncio.run(story())


def test_each_component_has_its_verdict(world: WorldMaker) -> None:
    async def story() -> None:
        async with world() as w:
            script = b"#!/bin/sh\n#SBATCH -n1\n#SBATCH hetjob\n#SBATCH -n3\n"
            answer = await w.ada.post("/v1/jobs:test", content=script, headers=RAW)
            assert [job["cpus"] for job in answer.json()["components"]] == [1, 3]

    asyncio.run(story())


def test_test_only_is_no_submission(world: WorldMaker) -> None:
    async def story() -> None:
        async with world() as w:
            params = {"arg": "--test-only"}
            answer = await w.ada.post("/v1/jobs", content=SCRIPT, headers=RAW, params=params)
            problem(answer, 422, "invalid-input")
            assert "jobs:test" in answer.json()["detail"]
            assert w.slurm.records == []

    asyncio.run(story())


def test_lint_says_what_is_asked_where_and_what_may_be_meant_otherwise(world: WorldMaker) -> None:
    async def story() -> None:
        async with world() as w:
            params = {"arg": "--job-name=other"}
            answer = await w.ada.post("/v1/scripts:lint", content=SCRIPT, headers=RAW, params=params)
            assert answer.status_code == 200, answer.text
            (options,) = answer.json()["components"]
            said = {each["option"]: each for each in options}
            assert said["time"] == {
                "option": "time",
                "value": "90",
                "source": "script",
                "text": "--time=90",
                "line": 2,
                "column": 9,
            }
            assert (said["job-name"]["value"], said["job-name"]["source"]) == ("other", "argument")
            hints = {hint["line"]: hint["message"] for hint in answer.json()["hints"]}
            assert "90 minutes" in hints[2]
            assert "ignored" in hints[4]

    asyncio.run(story())
