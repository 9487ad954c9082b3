"""The client commands: what they ask the gateway and what they print."""

from __future__ import annotations

import json
from pathlib import Path

import httpx
import pytest

from bridge.errors import Denied, InputError, NotFound, PolicyRefused, SluiceError, Unavailable
from gateway.cli.answers import Job
from gateway.cli.client import problem
from gateway.cli.session import open_session
from tests.unit.cli.conftest import Door, Sluice, job_json


def test_submit_sends_the_script_byte_for_byte_with_sbatch_arguments(
    sluice: Sluice, door: Door, tmp_path: Path
) -> None:
    script = tmp_path / "job.sh"
    script.write_bytes(b"#!/bin/bash\n\xff\xfe hostname\n")
    door.always(201, job_json())

    said = sluice("submit", "--tenant", "genomics", str(script), "--gres=gpu:a100:1", "-t", "5")

    assert said.code == 0, said
    (asked,) = door.asked
    assert asked.content == script.read_bytes()
    assert asked.headers["Content-Type"] == "text/x-shellscript"
    assert asked.headers["Authorization"] == "Bearer sluice_a"
    assert asked.headers["Idempotency-Key"]
    assert asked.url.params.get_list("arg") == ["--gres=gpu:a100:1", "-t", "5"]
    assert asked.url.params["tenant"] == "genomics"
    assert asked.url.params["file_name"] == "job.sh"
    assert "Submitted batch job 17" in said.out


@pytest.mark.parametrize("option", ["--tenant", "--class=batch", "--json", "--as"])
def test_an_option_of_ours_behind_the_script_is_not_left_to_sbatch(
    sluice: Sluice, door: Door, option: str
) -> None:
    said = sluice("submit", "-", option, "batch", stdin=b"#!/bin/sh\n")
    assert isinstance(said.error, InputError)
    assert f"write {option.partition('=')[0]} before the script" in str(said.error)
    assert not door.asked


def test_wait_means_the_same_behind_the_script(sluice: Sluice, door: Door) -> None:
    door.always(201, job_json(state="FAILED", exit_code=7, ended_at="2026-11-30T12:00:00Z"))
    assert sluice("submit", "-", "--wait", stdin=b"#!/bin/sh\n").code == 1


def test_submit_reads_standard_input_and_passes_script_arguments(sluice: Sluice, door: Door) -> None:
    door.always(201, job_json())
    script = b"#!/bin/sh\necho $1 \xff\n"
    said = sluice("submit", "-", "--time=5", "--", "in.txt", "-v", stdin=script)
    assert said.code == 0, said
    (asked,) = door.asked
    assert asked.content == script
    assert asked.url.params.get_list("arg") == ["--time=5"]
    assert asked.url.params.get_list("script_arg") == ["in.txt", "-v"]


def test_submit_waits_and_fails_when_the_job_does(
    sluice: Sluice, door: Door, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gateway.cli.jobs.POLL_S", 0)
    states = iter(["PENDING", "RUNNING", "FAILED"])

    def answer(request: httpx.Request) -> httpx.Response:
        state = next(states)
        exit_code = 7 if state == "FAILED" else None
        return httpx.Response(
            201 if request.method == "POST" else 200, json=job_json(state=state, exit_code=exit_code)
        )

    door.answer = answer
    said = sluice("submit", "--wait", "-", stdin=b"#!/bin/sh\n")
    assert said.code == 1
    assert "FAILED" in said.out
    assert [request.method for request in door.asked] == ["POST", "GET", "GET"]


def test_a_script_that_cannot_be_read_is_named(sluice: Sluice, door: Door) -> None:
    said = sluice("submit", "nowhere.sh")
    assert isinstance(said.error, InputError)
    assert "nowhere.sh" in said.error.message
    assert not door.asked


def test_jobs_follows_pages_up_to_the_limit(sluice: Sluice, door: Door) -> None:
    pages = {None: "a", "a": "b", "b": None}

    def answer(request: httpx.Request) -> httpx.Response:
        cursor = request.url.params.get("cursor")
        items = [job_json(number) for number in range(100)]
        return httpx.Response(200, json={"items": items, "next_cursor": pages[cursor]})

    door.answer = answer
    said = sluice("jobs", "--state", "running", "--limit", "150", "--json")
    assert len(json.loads(said.out)) == 200  # the gateway's pages are whole; ours are asked for small
    assert [request.url.params["limit"] for request in door.asked] == ["100", "50"]
    assert door.asked[0].url.params["state"] == "RUNNING"


def test_jobs_shows_one_line_a_job(sluice: Sluice, door: Door) -> None:
    door.always(
        200, {"items": [job_json(), job_json(18, array_job_id=18, array_task_id=3)], "next_cursor": None}
    )
    said = sluice("jobs")
    lines = said.out.splitlines()
    assert lines[0].split() == ["Job", "Name", "Tenant", "User", "State", "Exit", "GPUs", "Time", "Door"]
    assert lines[2].split() == ["17", "train", "genomics", "chen", "COMPLETED", "0", "4", "3m00s", "http"]
    assert lines[3].split()[0] == "18_3"


def test_tail_prints_bytes_as_they_are(sluice: Sluice, door: Door) -> None:
    door.answer = lambda request: httpx.Response(200, content=b"a\xff\n", headers={"X-Sluice-Size": "3"})
    result = sluice("tail", "17", "--stderr")
    assert result.code == 0
    assert door.asked[0].url.path == "/v1/jobs/17/stderr"
    assert door.asked[0].url.params["tail"] == "10"


@pytest.mark.parametrize("options", [(), ("--follow",)])
def test_tail_says_when_the_disk_is_full(sluice: Sluice, door: Door, options: tuple[str, ...]) -> None:
    def answer(request: httpx.Request) -> httpx.Response:
        if not request.url.path.endswith("stdout"):
            return httpx.Response(200, json=job_json())
        headers = {"X-Sluice-Size": "2", "X-Sluice-Warning": "the disk is full"}
        return httpx.Response(200, content=b"a\n", headers=headers)

    door.answer = answer
    result = sluice("tail", "17", *options)
    assert result.out == "a\n"
    assert result.err.endswith("\nsluice: the disk is full\n")


def test_tail_follows_until_the_job_has_ended(
    sluice: Sluice, door: Door, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gateway.cli.jobs.POLL_S", 0)
    output = b""
    states = iter(["PENDING", "RUNNING", "RUNNING", "COMPLETED"])

    def answer(request: httpx.Request) -> httpx.Response:
        nonlocal output
        if not request.url.path.endswith("stdout"):
            state = next(states)
            output += f"{state}\n".encode() if state != "PENDING" else b""
            return httpx.Response(200, json=job_json(state=state))
        if not output:
            missing = {"type": "https://sluice.sh/problems/not-found", "detail": "no output yet"}
            return httpx.Response(404, json=missing)
        offset = int(request.url.params.get("offset", 0))
        return httpx.Response(
            200,
            content=output[offset:],
            headers={"X-Sluice-Size": str(len(output)), "X-Sluice-Offset": str(offset)},
        )

    door.answer = answer
    assert sluice("tail", "-f", "17").out == "RUNNING\nRUNNING\nCOMPLETED\n"


def test_cancel_asks_for_each_job(sluice: Sluice, door: Door) -> None:
    door.always(202, job_json(state="RUNNING"))
    said = sluice("cancel", "17", "18_3")
    assert [str(request.url.path) for request in door.asked] == ["/v1/jobs/17", "/v1/jobs/18_3"]
    assert "17 is being cancelled" in said.out


def test_a_job_that_cannot_be_cancelled_keeps_no_other_from_it(sluice: Sluice, door: Door) -> None:
    missing = {"type": "https://sluice.sh/problems/not-found", "detail": "there is no job '99'"}
    door.answer = lambda request: (
        httpx.Response(404, json=missing, headers={"Content-Type": "application/problem+json"})
        if request.url.path.endswith("/99")
        else httpx.Response(202, json=job_json(state="RUNNING"))
    )
    said = sluice("cancel", "99", "17")
    assert isinstance(said.error, NotFound)
    assert "17 is being cancelled" in said.out


def test_an_id_that_would_leave_its_place_in_the_path_is_refused(sluice: Sluice, door: Door) -> None:
    said = sluice("job", "../tenants")
    assert isinstance(said.error, InputError)
    assert not door.asked


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["--month", "2026-11"], {"from": "2026-11-01", "to": "2026-12-01"}),
        (["--month", "2026-12"], {"from": "2026-12-01", "to": "2027-01-01"}),
        (["--from", "2026-11-03", "--to", "2026-11-04"], {"from": "2026-11-03", "to": "2026-11-04"}),
        ([], {}),
    ],
)
def test_report_asks_for_half_open_periods(
    sluice: Sluice, door: Door, arguments: list[str], expected: dict[str, str]
) -> None:
    door.always(200, {"period": {}, "view": "billed", "rows": [], "total": {}, "as_of": None})
    assert sluice("report", *arguments).code == 0
    asked = dict(door.asked[0].url.params)
    assert {name: value for name, value in asked.items() if name in ("from", "to")} == expected
    assert asked["by"] == "tenant,user"


@pytest.mark.parametrize("arguments", [["--month", "2026-13"], ["--month", "2026-11", "--to", "2026-11-02"]])
def test_report_refuses_periods_that_say_nothing_clear(
    sluice: Sluice, door: Door, arguments: list[str]
) -> None:
    assert isinstance(sluice("report", *arguments).error, InputError)
    assert not door.asked


def test_report_prints_csv_as_it_comes(sluice: Sluice, door: Door) -> None:
    door.answer = lambda request: httpx.Response(200, text="tenant,gpu_seconds\nastro,12\n")
    assert sluice("report", "--csv").out == "tenant,gpu_seconds\nastro,12\n"
    assert door.asked[0].headers["Accept"] == "text/csv"


def test_env_prints_what_a_shell_can_eval(sluice: Sluice) -> None:
    out = sluice("env", "--as", "chen").out
    assert out == "export SLUICE_URL=http://127.0.0.1:8080\nexport SLUICE_API_KEY=sluice_c\n"


def test_the_environment_chooses_the_gateway(local_stack: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLUICE_URL", "https://sluice.example/")
    with pytest.raises(Denied):
        open_session("sluice", None)
    monkeypatch.setenv("SLUICE_API_KEY", "sluice_x")
    assert open_session("sluice", None).url == "https://sluice.example"


def test_who_is_taken_when_nobody_is_named_is_said(sluice: Sluice) -> None:
    said = sluice("env")
    assert "sluice_a" in said.out
    assert said.err == "acting as ada (--as USER for another of ada, chen)\n"


def test_without_a_stack_or_a_user_the_sentence_says_what_to_do(local_stack: Path) -> None:
    assert open_session("sluice", "chen").key == "sluice_c"
    with pytest.raises(InputError, match="choose among ada, chen"):
        open_session("sluice", "nobody")
    with pytest.raises(NotFound, match=r"\./sluice up"):
        open_session("other", None)


def test_problems_become_the_errors_that_the_gateway_raised() -> None:
    body = {
        "type": "https://sluice.sh/problems/policy-refused",
        "title": "Refused",
        "status": 403,
        "detail": "genomics may use 2 h100 at most",
        "rule": "flavor.limit",
    }
    error = problem(httpx.Response(403, json=body))
    assert isinstance(error, PolicyRefused)
    assert error.message == "genomics may use 2 h100 at most"
    assert error.details == {"rule": "flavor.limit"}


@pytest.mark.parametrize(("status", "kind"), [(502, Unavailable), (500, SluiceError)])
def test_an_answer_that_is_no_problem_document_is_said(status: int, kind: type[SluiceError]) -> None:
    error = problem(httpx.Response(status, text="<html>"))
    assert type(error) is kind
    assert str(status) in error.message


def test_a_gateway_that_does_not_answer_is_unavailable(sluice: Sluice, door: Door) -> None:
    def refuse(request: httpx.Request) -> httpx.Response:
        raise httpx.ConnectError("connection refused")

    door.answer = refuse
    said = sluice("jobs")
    assert isinstance(said.error, Unavailable)
    assert "http://127.0.0.1:8080" in said.error.message


def test_a_job_that_completes_its_epilog_has_not_ended() -> None:
    assert not Job.read(job_json(flags=["COMPLETING"])).ended
    assert not Job.read(job_json(state="UNKNOWN")).ended
    assert Job.read(job_json()).ended


VERDICT = {
    "verdict": "would-start",
    "estimated_start": "2026-11-30T12:00:00Z",
    "reason": "",
    "components": [
        {
            "name": "train",
            "partition": "h100",
            "gpus": 2,
            "cpus": 4,
            "nodes": "gpu1",
            "estimated_start": "2026-11-30T12:00:00Z",
            "reason": "",
        }
    ],
    "warnings": [],
}


def test_submit_test_only_asks_for_the_verdict_and_submits_nothing(sluice: Sluice, door: Door) -> None:
    door.always(200, VERDICT)
    said = sluice("submit", "--test-only", "-", "--time=5", stdin=b"#!/bin/sh\n")
    assert said.code == 0, said
    assert [request.url.path for request in door.asked] == ["/v1/jobs:test"]
    assert "would start at 2026-11-30T12:00:00Z on gpu1" in said.out


def test_lint_shows_what_is_asked_and_the_hints(sluice: Sluice, door: Door) -> None:
    asked = {"option": "time", "value": "90", "source": "script", "text": "--time=90", "line": 2, "column": 9}
    found = {
        "components": [[asked]],
        "warnings": [],
        "hints": [{"message": "--time=90 is 90 minutes", "line": 2}],
    }
    door.always(200, found)
    said = sluice("lint", "-", stdin=b"#!/bin/sh\n#SBATCH --time=90\n")
    assert said.code == 0, said
    assert door.asked[0].url.path == "/v1/scripts:lint"
    assert "--time=90  (line 2)" in said.out
    assert "hint: line 2: --time=90 is 90 minutes" in said.out
