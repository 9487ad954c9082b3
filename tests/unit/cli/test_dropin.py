"""Slurm's commands over HTTP: what they ask, print and exit with."""

from __future__ import annotations

import base64
import io
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from bridge.errors import Conflict
from gateway.cli.dropin.run import NAMES, main
from gateway.cli.dropin_commands import link
from tests.unit.cli.conftest import Door, job_json

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(local_stack: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    """``run("squeue", "-h")``: exit status and both outputs."""
    assert local_stack.exists()
    for name in [name for name in os.environ if name.startswith(("SBATCH_", "SLURM_", "SQUEUE_"))]:
        monkeypatch.delenv(name)

    def call(name: str, *words: str, stdin: bytes = b"") -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        code = main(name, words)
        said = capfd.readouterr()
        return code, said.out, said.err

    return call


def answers(door: Door, **by_path: Any) -> None:
    """Answer by the last part of the path; submissions get job 17."""

    def answer(request: httpx.Request) -> httpx.Response:
        last = request.url.path.rpartition("/")[2]
        if last == "jobs":
            return httpx.Response(201, json=job_json())
        return httpx.Response(200, json=by_path.get(last.replace(":", "_"), {"items": []}))

    door.answer = answer


def sent(door: Door) -> dict[str, Any]:
    body: dict[str, Any] = json.loads(door.asked[-1].content)
    return body


def output(stdout: str = "", stderr: str = "", exit_code: int = 0) -> dict[str, object]:
    return {"stdout": stdout, "stderr": stderr, "exit_code": exit_code}


def test_a_command_goes_as_it_is_with_its_variables(
    run: Run, door: Door, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SQUEUE_FORMAT", "%i")
    monkeypatch.setenv("HOME", "/root")
    answers(door, squeue=output("17 caf\u00e9\n", "warning\n", 3))
    assert run("squeue", "-h", "-j", "17") == (3, "17 caf\u00e9\n", "warning\n")
    assert sent(door) == {"args": ["-h", "-j", "17"], "variables": {"SQUEUE_FORMAT": "%i"}}
    assert door.asked[0].headers["Authorization"] == "Bearer sluice_a"


def test_sbatch_sends_script_arguments_environment_and_place(
    run: Run, door: Door, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = b"#!/bin/sh\n# \xff\n#SBATCH -n2\n"
    (tmp_path / "job.sh").write_bytes(script)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("EPOCHS", "3")
    monkeypatch.setenv("SLUICE_API_KEY", "sluice_secret")
    monkeypatch.setenv("HOME", "/root")
    answers(door)
    assert run("sbatch", "-N", "1", "job.sh", "-x", "y") == (0, "Submitted batch job 17\n", "")
    body = sent(door)
    assert base64.b64decode(body["script_base64"]) == script
    assert (body["options"], body["args"], body["file_name"]) == (["-N", "1"], ["-x", "y"], "job.sh")
    assert body["work_dir"] == str(tmp_path)
    assert body["limits"]["NOFILE"]
    variables = body["environment"]
    assert variables["EPOCHS"] == "3"
    assert variables["SLURM_UMASK"].startswith("0")
    assert not {"HOME", "SLUICE_API_KEY"} & set(variables)
    assert "sluice_secret" not in door.asked[-1].content.decode()


@pytest.mark.parametrize(
    ("words", "out"),
    [(["--parsable"], "17\n"), (["-Q"], ""), ([], "Submitted batch job 17\n")],
    ids=str,
)
def test_sbatch_prints_what_sbatch_prints(run: Run, door: Door, words: list[str], out: str) -> None:
    answers(door)
    assert run("sbatch", *words, "--wrap=hostname") == (0, out, "")
    assert sent(door)["script_base64"] == ""


def test_the_script_says_what_the_client_does_too(run: Run, door: Door) -> None:
    answers(door)
    assert run("sbatch", stdin=b"#!/bin/sh\n#SBATCH --parsable\n") == (0, "17\n", "")
    assert "file_name" not in sent(door)


@pytest.mark.parametrize(
    ("words", "stdin", "code", "err"),
    [
        (["--nope"], b"", 255, "unrecognized option '--nope'"),
        (["--time=1d", "--wrap=x"], b"", 255, "sbatch: error: Invalid --time specification"),
        (["no-such-file"], b"", 1, "sbatch: error: Unable to open file no-such-file"),
        ([], b"", 1, "sbatch: error: Batch script is empty!"),
        ([], b"hostname\n", 1, "line must start with #!"),
        (["--wrap=x", "y"], b"", 1, "Script arguments not permitted with --wrap option"),
    ],
    ids=str,
)
def test_sbatch_refuses_with_sbatch_s_words_and_codes(
    run: Run, door: Door, words: list[str], stdin: bytes, code: int, err: str
) -> None:
    answers(door, scripts_options={"items": []})
    found = run("sbatch", *words, stdin=stdin)
    assert (found[0], found[1]) == (code, "")
    assert err in found[2]
    assert all(asked.method == "GET" for asked in door.asked)


def test_options_of_the_site_are_asked_for_when_one_is_unknown(run: Run, door: Door) -> None:
    own = {"plugin": "pyxis", "option": "container-image", "argument": "required", "about": ""}
    answers(door, scripts_options={"items": [own]})
    assert run("sbatch", "--container-image", "u", "--wrap=x")[0] == 0
    assert sent(door)["options"] == ["--container-image", "u", "--wrap=x"]


def test_what_slurm_refuses_is_said_in_slurm_s_shape(run: Run, door: Door) -> None:
    body = {"type": "https://sluice.sh/problems/slurm-refused", "title": "x", "detail": "Invalid qos"}
    door.always(422, body)
    code, out, err = run("sbatch", "--wrap=x")
    assert (code, out, err) == (1, "", "sbatch: error: Batch job submission failed: Invalid qos\n")
    door.always(503, {"type": "https://sluice.sh/problems/unavailable", "title": "x", "detail": "away"})
    assert "Unable to contact slurm controller" in run("sbatch", "--wrap=x")[2]
    assert run("squeue")[2].startswith("squeue: error: Unable to contact slurm controller")


def test_wait_ends_with_the_highest_exit_code(run: Run, door: Door, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gateway.cli.dropin.wait._FIRST_S", 0)
    looks = iter(
        [
            "JobId=17 JobState=RUNNING Reason=None ExitCode=0:0",
            "JobId=18 JobState=FAILED Reason=x ExitCode=3:0\nJobId=17 JobState=COMPLETING X ExitCode=0:0",
            "JobId=18 JobState=FAILED Reason=x ExitCode=3:0\nJobId=17 JobState=COMPLETED X ExitCode=0:9",
        ]
    )

    def answer(request: httpx.Request) -> httpx.Response:
        if request.url.path.endswith("/scontrol"):
            return httpx.Response(200, json=output(next(looks)))
        return httpx.Response(201, json=job_json())

    door.answer = answer
    assert run("sbatch", "-W", "--wrap=x") == (3, "Submitted batch job 17\n", "")


def test_wait_asks_accounting_once_slurmctld_has_forgotten(run: Run, door: Door) -> None:
    def answer(request: httpx.Request) -> httpx.Response:
        if request.url.path.endswith("/scontrol"):
            return httpx.Response(200, json=output("", "Invalid job id", 1))
        if request.url.path.endswith("/sacct"):
            return httpx.Response(200, json=output("CANCELLED by 2001|0:15\nCOMPLETED|0:0\n"))
        return httpx.Response(201, json=job_json())

    door.answer = answer
    assert run("sbatch", "-W", "--wrap=x")[0] == 1


def test_test_only_says_when_and_where(run: Run, door: Door) -> None:
    job = {
        "reason": "",
        "estimated_start": "2026-11-30T12:00:00Z",
        "nodes": "gpu1",
        "cpus": 2,
        "partition": "p",
    }
    answers(door, jobs_test={"components": [job]})
    assert run("sbatch", "--test-only", "--wrap=x") == (
        *(0, ""),
        "sbatch: Job to start at 2026-11-30T12:00:00 a using 2 processors on nodes gpu1 in partition p\n",
    )
    waits = {"components": [{**job, "estimated_start": None, "reason": "Requested nodes are busy"}]}
    answers(door, jobs_test=waits)
    assert run("sbatch", "--test-only", "--wrap=x") == (
        1,
        "",
        "allocation failure: Requested nodes are busy\n",
    )


def test_srun_is_there_and_says_where_steps_run(run: Run, door: Door) -> None:
    assert run("srun", "hostname")[0] == 1
    assert not door.asked


def test_links_are_made_again_and_never_over_something_else(tmp_path: Path) -> None:
    folder = tmp_path / "bin"
    link(folder)
    link(folder, stack="other", as_user="ada")
    assert sorted(path.name for path in folder.iterdir()) == sorted(NAMES)
    (folder / "squeue").write_text("#!/bin/sh\n")
    with pytest.raises(Conflict, match="squeue"):
        link(folder)


def test_inside_a_job_a_link_gives_way_to_slurm_s_own(tmp_path: Path) -> None:
    link(tmp_path / "bin")
    (tmp_path / "real").mkdir()
    real = tmp_path / "real" / "squeue"
    real.write_text('#!/bin/sh\necho real "$@"\n')
    real.chmod(0o755)
    path = f"{tmp_path}/bin:{tmp_path}/real:/usr/bin:/bin"
    done = subprocess.run(
        [tmp_path / "bin" / "squeue", "a b"],
        env={"PATH": path, "SLURM_JOB_ID": "1"},
        capture_output=True,
        check=True,
    )
    assert done.stdout == b"real a b\n"
