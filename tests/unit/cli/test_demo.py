"""The demo: what it submits fits the example tenants, and it fails loudly when a job ends otherwise."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml
from rich.console import Console

from bridge.errors import StepFailed
from gateway.cli import demo
from gateway.cli.answers import Job
from gateway.cli.client import Gateway
from gateway.cli.doors import Refusal, by_http, refusal_words
from gateway.cli.session import CHECKOUT, Session
from tests.unit.cli.conftest import Door, job_json

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)


def test_every_step_names_a_script_and_a_member_of_its_tenant() -> None:
    documents = [
        yaml.safe_load(path.read_text()) for path in (CHECKOUT / "examples" / "tenants").glob("*.yaml")
    ]
    members = {one["name"]: {member["user"] for member in one["members"]} for one in documents}
    for step in demo.PROGRAM:
        assert (demo.JOBS_DIR / step.script).is_file()
        assert step.user in members[step.tenant]
    assert {step.door for step in demo.PROGRAM} == {"http", "sbatch"}
    assert len({step.tenant for step in demo.PROGRAM}) == 3


@pytest.mark.parametrize(
    ("changes", "outcome"),
    [
        ({}, "COMPLETED"),
        ({"state": "FAILED", "exit_code": 7}, "FAILED 7"),
        ({"state": "CANCELLED", "exit_code": 0, "signal": 15}, "CANCELLED sig 15"),
    ],
)
def test_an_outcome_is_state_and_exit(changes: dict[str, Any], outcome: str) -> None:
    line = demo.Line(demo.PROGRAM[0], job_id="17", job=Job.read(job_json(**changes)))
    assert line.ended
    assert line.outcome == outcome


def test_a_line_that_was_never_seen_has_not_ended() -> None:
    line = demo.Line(demo.PROGRAM[0], job_id="17")
    assert not line.ended
    assert line.outcome == "not seen"


def test_the_table_fits_80_columns() -> None:
    lines = [
        demo.Line(step, job_id="123456_3", job=Job.read(job_json(123456, state="OUT_OF_MEMORY", signal=9)))
        for step in demo.PROGRAM
    ] + [demo.Line(demo.PROGRAM[-1], refusal=Refusal("no"))]
    console = Console(width=80)
    with console.capture() as capture:
        console.print(demo.demo_table(lines, now=NOW, width=80))
    shown = capture.get().splitlines()
    assert len(shown) == len(lines) + 2
    assert all(len(line) <= 80 for line in shown)
    assert "REFUSED" in shown[-1]
    assert "OUT_OF_MEMORY" in shown[2]


def test_a_refusal_over_http_is_its_sentence(door: Door) -> None:
    problem = {"type": "https://sluice.sh/problems/policy-refused", "detail": "genomics may use 2 h100"}
    door.always(403, problem)
    with Gateway(Session("http://127.0.0.1:8080", "sluice_c", "chen")) as gateway:
        answer = by_http(gateway, demo.JOBS_DIR / "too-many-gpus.sh", [])
    assert answer == Refusal("genomics may use 2 h100")


def test_a_refusal_by_sbatch_is_its_lines_without_the_errno() -> None:
    words = (
        "sbatch: error: genomics may use 2 h100\n"
        "sbatch: error: ask fewer\n"
        "sbatch: error: Batch job submission failed: Unspecified error\n"
    )
    assert refusal_words(words) == "genomics may use 2 h100 ask fewer"
    assert refusal_words("sbatch: error: Batch job submission failed: Socket timed out\n").startswith(
        "Batch job"
    )


def test_a_job_that_ends_otherwise_fails_the_demo_with_its_output(
    door: Door, local_stack: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(demo, "PROGRAM", (demo.Step("missing-input.sh", "http", "chen", "genomics"),))

    def answer(request: httpx.Request) -> httpx.Response:
        if request.url.path.endswith("/stdout"):
            return httpx.Response(200, content=b"fetch the samples first\n")
        return httpx.Response(201, json=job_json(state="FAILED", exit_code=7))

    door.answer = answer
    with pytest.raises(StepFailed, match=r"missing-input\.sh by http as chen ended as FAILED 7") as failed:
        demo.run("sluice", Console(width=80, quiet=True))
    assert failed.value.tail == "fetch the samples first\n"


def test_without_a_users_key_the_demo_says_whose(local_stack: Path) -> None:
    (local_stack / "keys.json").write_text(json.dumps({"ada": "sluice_a"}))
    with pytest.raises(StepFailed, match="chen, dina, emil"):
        demo.run("sluice", Console(quiet=True))
