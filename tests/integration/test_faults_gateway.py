"""Submissions while parts die under the gateway: none lost that was answered, none made twice."""

from __future__ import annotations

import subprocess
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import httpx
import pytest

from tests.support.stack import GatewayClient, OwnTenant, Stack, run
from tests.support.waiting import wait_for

pytestmark = [pytest.mark.cluster, pytest.mark.xdist_group("faults"), pytest.mark.timeout(300)]

Client = Callable[[str], GatewayClient]

SMALL = ("--mem=64M", "--time=2")


def submit(stack: Stack, tenant: OwnTenant, name: str, *, key: str | None = None) -> httpx.Response | None:
    """Submit a held job once; None when the connection broke."""
    headers = {"Authorization": f"Bearer {stack.key(tenant.user)}", "Content-Type": "text/x-shellscript"}
    if key is not None:
        headers["Idempotency-Key"] = key
    try:
        return httpx.post(
            f"{stack.url}/v1/jobs",
            params={"arg": [f"--job-name={name}", "--hold", *SMALL]},
            content="#!/bin/sh\ntrue\n",
            headers=headers,
            timeout=60,
            trust_env=False,
        )
    except httpx.TransportError:
        return None


def names(stack: Stack, tenant: OwnTenant) -> Counter[str]:
    """Names of the tenant's jobs in slurmctld."""
    listed = stack.exec("slurmctld", "squeue", "-h", "-A", tenant.name, "-o", "%j").stdout.split()
    return Counter(listed)


def ready(stack: Stack) -> bool:
    """Whether the gateway can serve."""
    try:
        return httpx.get(f"{stack.url}/readyz", timeout=5, trust_env=False).status_code == 200
    except httpx.TransportError:
        return False


@contextmanager
def paused(stack: Stack, part: str) -> Iterator[None]:
    """Stop a part's processes by SIGSTOP for a while."""
    run(["docker", "pause", stack.container(part)])
    try:
        yield
    finally:
        run(["docker", "unpause", stack.container(part)])
        wait_for(lambda: ready(stack), f"the gateway is ready after {part} woke", deadline_s=120)


def test_jobs_of_a_killed_gateway_are_all_in_the_mirror_and_no_name_is_twice(
    stack: Stack, client: Client, tenant: OwnTenant
) -> None:
    client(tenant.user)
    answered: set[str] = set()
    stop = threading.Event()

    def keep_submitting(worker: int) -> None:
        number = 0
        while not stop.is_set():
            answer = submit(stack, tenant, name := f"j{worker}-{number}")
            if answer is not None and answer.status_code == 201:
                answered.add(name)
            number += 1

    with ThreadPoolExecutor(4) as pool:
        workers = [pool.submit(keep_submitting, worker) for worker in range(4)]
        try:
            wait_for(lambda: len(answered) >= 10, "submissions are under way", every_s=0.02)
            subprocess.run(
                ["docker", "kill", "-s", "KILL", stack.container("gateway")], check=True, capture_output=True
            )
        finally:
            stop.set()
        run(["docker", "start", stack.container("gateway")], check=False)
        for worker in workers:
            worker.result(timeout=120)
    wait_for(lambda: ready(stack), "the gateway is back", deadline_s=120)

    in_slurm = names(stack, tenant)
    assert answered <= set(in_slurm), "an answered job is lost"
    assert max(in_slurm.values()) == 1, "a job is there twice"
    gateway = client(tenant.user)

    def mirrored() -> bool:
        items = gateway.http.get("/v1/jobs", params={"limit": 1000, "tenant": tenant.name}).json()["items"]
        return {item["name"] for item in items} == set(names(stack, tenant))

    wait_for(mirrored, "the mirror has what Slurm has")


def test_a_paused_slurmctld_makes_no_job_twice(stack: Stack, client: Client, tenant: OwnTenant) -> None:
    client(tenant.user)
    wanted = [f"p{number}" for number in range(8)]
    with ThreadPoolExecutor(len(wanted)) as pool:
        with paused(stack, "slurmctld"):
            first = [pool.submit(submit, stack, tenant, name, key=f"{tenant.name}-{name}") for name in wanted]
            answers = [future.result(timeout=120) for future in first]
        for answer in answers:
            assert answer is not None
            assert answer.status_code == 503, answer.text
            assert int(answer.headers["Retry-After"]) > 0

    def repeated(name: str) -> bool:
        answer = submit(stack, tenant, name, key=f"{tenant.name}-{name}")
        return answer is not None and answer.status_code in (200, 201)

    for name in wanted:
        wait_for(lambda name=name: repeated(name), f"{name} is in", deadline_s=150)  # type: ignore[misc]
    assert names(stack, tenant) == Counter(wanted)


def test_an_agent_that_dies_under_submissions_makes_no_job_twice(
    stack: Stack, client: Client, tenant: OwnTenant
) -> None:
    client(tenant.user)
    wanted = [f"a{number}" for number in range(40)]
    done: set[str] = set()

    def until_in(name: str) -> None:
        def repeated() -> bool:
            answer = submit(stack, tenant, name, key=f"{tenant.name}-{name}")
            return answer is not None and answer.status_code in (200, 201)

        wait_for(repeated, f"{name} is in", deadline_s=150)
        done.add(name)

    with ThreadPoolExecutor(4) as pool:
        workers = [pool.submit(until_in, name) for name in wanted]
        wait_for(lambda: len(done) >= 5, "submissions are under way", every_s=0.02)
        subprocess.run(
            ["docker", "kill", "-s", "KILL", stack.container("agent")], check=True, capture_output=True
        )
        run(["docker", "start", stack.container("agent")], check=False)
        for worker in workers:
            worker.result(timeout=200)
    assert names(stack, tenant) == Counter(wanted)
