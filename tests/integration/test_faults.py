"""Parts that die: said clearly while they are away, nothing lost when they are back.

These stop parts for everybody, so `./sluice test` runs this file alone, after the parallel suites.
"""

from __future__ import annotations

import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial

import httpx
import pytest

from tests.support.stack import CHECKOUT, GatewayClient, OwnTenant, Ran, Stack, run
from tests.support.waiting import wait_for

pytestmark = [pytest.mark.cluster, pytest.mark.xdist_group("faults"), pytest.mark.timeout(300)]

Client = Callable[[str], GatewayClient]

SMALL = ("--mem=64M", "--time=2")


def status(stack: Stack) -> Ran:
    """What `./sluice status` says."""
    return run([str(CHECKOUT / "sluice"), "status", "--stack", stack.name], check=False, timeout_s=60)


@contextmanager
def stopped(stack: Stack, part: str) -> Iterator[None]:
    """Stop a part for a while; it is up and healthy again afterwards."""
    run(["docker", "stop", "-t", "5", stack.container(part)])
    try:
        yield
    finally:
        run(["docker", "start", stack.container(part)])
        wait_for(
            lambda: status(stack).returncode == 0, f"all parts are well after {part} is back", deadline_s=120
        )


def test_without_slurmctld_a_submission_is_503_and_status_names_it(
    stack: Stack, client: Client, tenant: OwnTenant
) -> None:
    gateway = client(tenant.user)
    with stopped(stack, "slurmctld"):
        answer = wait_for(
            lambda: (found := gateway.try_submit("#!/bin/sh\ntrue\n", *SMALL)).status_code == 503 and found,
            "a submission is refused as unavailable",
        )
        assert isinstance(answer, httpx.Response)
        assert int(answer.headers["Retry-After"]) >= 1
        assert answer.headers["Content-Type"].startswith("application/problem+json")
        assert gateway.http.get("/v1/jobs").status_code == 200  # the mirror still answers
        said = status(stack)
        assert said.returncode != 0
        assert "slurmctld" in said.text
        assert "Traceback" not in said.text
    job = gateway.submit("#!/bin/sh\ntrue\n", *SMALL)
    assert gateway.ended(job["id"])["state"] == "COMPLETED"


def test_without_slurmdbd_jobs_run_and_the_report_catches_up(
    stack: Stack, client: Client, tenant: OwnTenant
) -> None:
    gateway = client(tenant.user)
    with stopped(stack, "slurmdbd"):
        job = gateway.submit("#!/bin/sh\nsleep 3\n", "--gres=gpu:h100:1", *SMALL)
        ended = gateway.ended(job["id"])
        assert ended["state"] == "COMPLETED"
    wait_for(
        lambda: any(
            row["gpu_seconds"] >= 3 for row in gateway.report(by="tenant") if row["tenant"] == tenant.name
        ),
        "the report has the job that ran without slurmdbd",
        deadline_s=120,
    )


def test_a_killed_gateway_loses_no_submission_and_doubles_none(
    stack: Stack, client: Client, tenant: OwnTenant
) -> None:
    wanted = 40
    key = stack.key(tenant.user)
    answers: dict[int, str] = {}
    refused: list[str] = []

    def submit(first: int) -> None:
        headers = {"Authorization": f"Bearer {key}", "Content-Type": "text/x-shellscript"}
        with httpx.Client(base_url=stack.url, headers=headers, timeout=10, trust_env=False) as http:
            for number in range(first, wanted, 4):
                answers[number] = wait_for(partial(one, http, number), f"job {number} is in", deadline_s=120)

    def one(http: httpx.Client, number: int) -> str | None:
        options = {"arg": [f"--job-name=kill-{number}", "--hold", *SMALL]}
        try:
            answer = http.post(
                "/v1/jobs",
                params=options,
                content="#!/bin/sh\ntrue\n",
                headers={"Idempotency-Key": f"{tenant.name}-{number}"},
            )
        except httpx.TransportError:
            return None
        if answer.status_code in (409, 503):
            return None
        if answer.status_code not in (200, 201):
            refused.append(answer.text)
            return "refused"
        return str(answer.json()["id"])

    threads = [threading.Thread(target=submit, args=(first,)) for first in range(4)]
    for thread in threads:
        thread.start()
    wait_for(lambda: len(answers) >= 5, "submissions are under way", every_s=0.02)
    subprocess.run(
        ["docker", "kill", "-s", "KILL", stack.container("gateway")], check=True, capture_output=True
    )
    run(["docker", "start", stack.container("gateway")], check=False)
    for thread in threads:
        thread.join(timeout=150)

    assert refused == []
    assert len(set(answers.values())) == wanted
    names = stack.exec("slurmctld", "squeue", "-h", "-A", tenant.name, "-o", "%j").stdout.split()
    assert sorted(names) == sorted(f"kill-{number}" for number in range(wanted))
