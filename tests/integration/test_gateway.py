"""The gateway on a real Slurm: identity of jobs, rights, its own pages."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from tests.support.stack import GatewayClient, Json, OwnTenant, Stack
from tests.support.waiting import wait_for

pytestmark = pytest.mark.cluster

Client = Callable[[str], GatewayClient]
MakeTenant = Callable[..., OwnTenant]

SMALL = ("--mem=64M", "--time=2")
HELD = "#!/bin/sh\ntrue\n"
SLEEPER = "#!/bin/sh\nsleep 60\n"


def in_state(gateway: GatewayClient, job: str | int, state: str) -> Json:
    """Wait until a job is in a state."""

    def reached() -> Json | None:
        answer = gateway.http.get(f"/v1/jobs/{job}")
        found: Json = answer.json()
        return found if answer.status_code == 200 and found["state"] == state else None

    return wait_for(reached, f"job {job} is {state}")


def test_a_job_of_sbatch_keeps_its_id_over_a_requeue(stack: Stack, client: Client, tenant: OwnTenant) -> None:
    gateway = client(tenant.user)
    number = stack.login_node(tenant.user).sbatch(f"--requeue {' '.join(SMALL)}", script=SLEEPER)
    before = in_state(gateway, number, "RUNNING")
    assert before["door"] == "sbatch"
    stack.exec("slurmctld", "scontrol", "requeue", str(number))
    after = in_state(gateway, number, "PENDING")
    assert after["id"] == before["id"]
    assert after["submitted_at"] == before["submitted_at"]
    assert after["restarts"] == 1
    gateway.http.delete(f"/v1/jobs/{number}")


def test_an_array_is_one_job_and_its_waiting_tasks_can_be_named(client: Client, tenant: OwnTenant) -> None:
    gateway = client(tenant.user)
    job = gateway.submit(HELD, "--hold", "--array=0-3%1", *SMALL)
    number = job["job_id"]
    waiting = in_state(gateway, f"{number}_2", "PENDING")
    cancelled = gateway.http.delete(f"/v1/jobs/{number}_2")
    assert cancelled.status_code == 202
    gone = in_state(gateway, f"{number}_2", "CANCELLED")
    assert gone["id"] == waiting["id"]
    assert gateway.job(job["id"])["state"] == "PENDING"
    assert gateway.http.delete(f"/v1/jobs/{job['id']}").status_code == 202
    in_state(gateway, job["id"], "CANCELLED")


def test_the_answer_to_a_cancel_already_shows_it(client: Client, tenant: OwnTenant) -> None:
    gateway = client(tenant.user)
    job = gateway.submit(HELD, "--hold", *SMALL)
    assert gateway.http.delete(f"/v1/jobs/{job['id']}").json()["state"] == "CANCELLED"


def test_members_end_their_own_jobs_and_managers_those_of_the_tenant(
    client: Client, make_tenant: MakeTenant, stack: Stack
) -> None:
    tenant = make_tenant(members=2)
    one, other = (client(user) for user in tenant.users[:2])
    job = one.submit(HELD, "--hold", *SMALL)
    refused = other.http.delete(f"/v1/jobs/{job['id']}")
    assert refused.status_code == 403
    assert "its owner or a manager" in refused.json()["detail"]
    document = dict(tenant.document)
    document["members"] = [
        {**member, "role": "manager"} if member["user"] == other.user else member
        for member in document["members"]
    ]
    assert stack.apply(document).returncode == 0
    wait_for(
        lambda: other.http.delete(f"/v1/jobs/{job['id']}").status_code == 202,
        "the new manager may end the job",
    )
    in_state(one, job["id"], "CANCELLED")


def test_the_mark_by_which_jobs_are_found_again_is_not_the_users_to_set(
    stack: Stack, client: Client, tenant: OwnTenant
) -> None:
    gateway = client(tenant.user)
    job = gateway.submit(HELD, "--hold", *SMALL)
    mark = f"sluice:http:{job['id'].removeprefix('job_')}"
    shown = stack.exec("slurmctld", "scontrol", "show", "job", str(job["job_id"])).stdout
    assert mark in shown
    login = stack.login_node(tenant.user)
    forged = login.run(f"scontrol update jobid={job['job_id']} admincomment=sluice:http:x", check=False)
    assert forged.returncode != 0
    gateway.http.delete(f"/v1/jobs/{job['id']}")


def test_every_part_is_named_and_well(stack: Stack, client: Client, tenant: OwnTenant) -> None:
    ready = client(tenant.user).http.get("/readyz")
    assert ready.status_code == 200, ready.text
    names = {part["part"] for part in ready.json()["parts"]}
    assert names >= {"store", "slurm-agent", "slurmctld", "slurmdbd", "slurmrestd", "bridge", "file-agent"}
    assert stack.name


def test_the_page_of_the_api_loads_nothing_from_elsewhere(client: Client, tenant: OwnTenant) -> None:
    http = client(tenant.user).http
    page = http.get("/docs").text
    links = re.findall(r'(?:src|href)="([^"]+)"', page)
    assert links
    for link in links:
        assert link.startswith("/"), link
        assert http.get(link).status_code == 200
    assert http.get("/openapi.json").json()["openapi"].startswith("3.1")


def test_metrics_are_there_for_prometheus(client: Client, tenant: OwnTenant) -> None:
    gateway = client(tenant.user)
    gateway.http.delete(f"/v1/jobs/{gateway.submit(HELD, '--hold', *SMALL)['id']}")
    text = gateway.http.get("/metrics").text
    assert re.search(r'^sluice_submissions_total\{outcome="submitted"\} [1-9]', text, re.MULTILINE)
    assert re.search(r"^sluice_mirror_age_seconds [0-9.]+$", text, re.MULTILINE)


def test_a_second_gateway_on_the_same_store_is_refused(stack: Stack) -> None:
    second = stack.python("gateway", "gateway")
    assert second.returncode == 1
    assert "another gateway" in second.text
    assert "Traceback" not in second.text
