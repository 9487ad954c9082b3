"""``jobs:test`` and ``scripts:lint``: the answers a submission would get, and nothing is made."""

from __future__ import annotations

import asyncio
from datetime import timedelta

from bridge.errors import Unavailable
from gateway.price.book import PriceBook
from tests.component.gateway.conftest import WorldMaker
from tests.component.gateway.test_routes import problem

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
            assert verdict["cost"] is None
            assert w.slurm.records == []

    asyncio.run(story())


BOOK = PriceBook.model_validate(
    {
        "name": "default",
        "currency": "EUR",
        "on_demand": [{"from": "2020-01-01", "gpu": "2.00", "cpu": "0.50", "memory_gib": "0.10"}],
    }
)


def test_a_job_is_told_what_it_would_cost(world: WorldMaker) -> None:
    async def story() -> None:
        async with world() as w:
            await w.parts.prices.put(BOOK, actor="root")
            options = {"arg": ["--cpus-per-task=4", "-n1", "--mem-per-cpu=1G", "--array=0-2%1"]}
            answer = await w.ada.post("/v1/jobs:test", content=SCRIPT, headers=RAW, params=options)
            verdict = answer.json()
            # Three tasks, each of 2 GPUs at 2.00, the CPUs of slurmctld's forecast at 0.50 and a GiB for
            # each of these at 0.10, for 90 minutes.
            (job,) = verdict["components"]
            hour = 3 * (2 * 200 + job["cpus"] * 60)
            assert verdict["cost"] == {
                "per_hour": f"{hour / 100:.2f}",
                "at_most": f"{hour * 1.5 / 100:.2f}",
                "currency": "EUR",
            }

    asyncio.run(story())


def test_a_running_job_shows_what_it_has_cost(world: WorldMaker) -> None:
    async def story() -> None:
        async with world() as w:
            await w.parts.prices.put(BOOK, actor="root")
            made = (await w.ada.post("/v1/jobs", content=SCRIPT, headers=RAW)).json()
            assert (await w.ada.get(f"/v1/jobs/{made['id']}")).json()["cost"] is None
            w.slurm.start(made["job_id"])
            w.clock.ahead += timedelta(hours=1)
            await w.parts.tracker.fresh()
            job = (await w.ada.get(f"/v1/jobs/{made['id']}")).json()
            tres = job["tres_allocated"]
            hour = 200 * tres["gres/gpu"] + 50 * tres["cpu"] + 10 * tres["mem"] / 1024
            cost = job["cost"]
            assert cost["currency"] == "EUR"
            assert abs(float(cost["amount"]) * 100 - hour) < 2  # some seconds passed beside the hour

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
