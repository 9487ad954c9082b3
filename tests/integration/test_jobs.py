"""Jobs from the door to the report: both doors, one enforcement, one ledger."""

from __future__ import annotations

import csv
import io
import time
from collections.abc import Callable
from datetime import datetime
from functools import partial
from typing import Any

import pytest

from tests.support.stack import GatewayClient, OwnTenant, Stack
from tests.support.waiting import wait_for

pytestmark = pytest.mark.cluster

Client = Callable[[str], GatewayClient]
MakeTenant = Callable[..., OwnTenant]

SLEEP = "#!/bin/bash\nsleep 3\n"
SMALL = ("--mem=64M", "--time=2")


def sacct(stack: Stack, job_id: int) -> list[dict[str, str]]:
    """The accounting rows of a job as Slurm's own command shows them."""
    wanted = "JobID,State,ExitCode,Start,End,AllocTRES,Account,User"
    said = stack.exec("slurmctld", "sacct", "-X", "-D", "-P", "-j", str(job_id), f"--format={wanted}")
    return list(csv.DictReader(io.StringIO(said.stdout), delimiter="|"))


def accounted(stack: Stack, job_id: int) -> dict[str, str]:
    """The one row of a job once slurmdbd has its end."""
    found = wait_for(
        lambda: [row for row in sacct(stack, job_id) if row["End"] not in ("", "Unknown")],
        f"slurmdbd has the end of job {job_id}",
    )
    assert len(found) == 1
    return found[0]


def gpu_seconds(row: dict[str, str]) -> int:
    """AllocTRES gres/gpu x (End - Start), the rule of docs/reference/accounting.md."""
    tres = dict(part.split("=", 1) for part in row["AllocTRES"].split(",") if part)
    begun, ended = (datetime.fromisoformat(row[name]) for name in ("Start", "End"))
    return int(tres.get("gres/gpu", "0")) * int((ended - begun).total_seconds())


def used(client: GatewayClient, tenant: OwnTenant) -> dict[tuple[str, str], int]:
    """GPU-seconds that the report shows the user, by user and door."""
    rows = client.report(by="tenant,user,door")
    return {
        (row["user"], row["door"]): row["gpu_seconds"]
        for row in rows
        if row["tenant"] == tenant.name and row["gpu_seconds"]
    }


def _shows(client: GatewayClient, tenant: OwnTenant, expected: dict[tuple[str, str], int]) -> bool:
    return used(client, tenant) == expected


def test_jobs_of_both_doors_are_in_one_report_to_the_second(
    stack: Stack, client: Client, make_tenant: MakeTenant
) -> None:
    word = f"{time.time_ns():x}"[-9:]
    tenant = make_tenant(members=[{"user": f"m{word}", "role": "manager"}, {"user": f"n{word}"}])
    by_http = client(tenant.users[0])
    http = by_http.submit(SLEEP, "--gres=gpu:h100:2", *SMALL)
    sbatch = stack.login_node(tenant.users[1]).sbatch(f"--gres=gpu:a100:1 {' '.join(SMALL)}", script=SLEEP)

    ended = by_http.ended(http["id"])
    other = client(tenant.users[1]).ended(sbatch)

    assert (ended["state"], ended["door"], ended["gpus"]) == ("COMPLETED", "http", 2)
    assert (other["state"], other["door"], other["gpus"]) == ("COMPLETED", "sbatch", 1)
    expected: dict[tuple[str, str], int] = {}
    for job, door in ((ended, "http"), (other, "sbatch")):
        row = accounted(stack, job["job_id"])
        expected[row["User"], door] = gpu_seconds(row)
    assert min(expected.values()) >= 3
    manager = client(tenant.users[0])
    shows = partial(_shows, manager, tenant, expected)
    wait_for(shows, f"the manager's report shows {expected} and nothing else", deadline_s=90)
    assert used(client(tenant.users[1]), tenant).items() <= expected.items()


@pytest.mark.parametrize(
    ("document", "options"),
    [
        ({"flavors": {"h100": {"limit": 2}}}, ["--gres=gpu:h100:4"]),
        ({"flavors": {"h100": {"limit": 8}}}, ["--gres=gpu:a100:1"]),
        ({"limits": {"max_gpus_per_job": 1}}, ["--gres=gpu:h100:2"]),
        ({"limits": {"max_walltime_min": 10}}, ["--gres=gpu:h100:1", "--time=60"]),
    ],
    ids=["flavor-limit", "flavor-not-granted", "gpus-per-job", "walltime"],
)
def test_a_limit_refuses_at_both_doors_in_the_same_words(
    stack: Stack, client: Client, make_tenant: MakeTenant, document: dict[str, Any], options: list[str]
) -> None:
    tenant = make_tenant(members=1, **document)
    whole = [*options, "--mem=64M"]

    answer = client(tenant.user).try_submit(SLEEP, *whole)
    said = stack.login_node(tenant.user).run(f"sbatch {' '.join(whole)}", stdin=SLEEP, check=False)

    assert answer.status_code in (403, 422), answer.text
    assert answer.headers["Content-Type"].startswith("application/problem+json")
    sentence = answer.json()["detail"]
    assert said.returncode != 0
    assert sentence in said.stderr.replace("\nsbatch: error: ", " "), (sentence, said.stderr)
    assert client(tenant.user).http.get("/v1/jobs").json()["items"] == []


def test_an_exit_code_is_the_scripts_own(client: Client, tenant: OwnTenant) -> None:
    job = client(tenant.user).submit("#!/bin/sh\nexit 7\n", *SMALL)
    ended = client(tenant.user).ended(job["id"])
    assert (ended["state"], ended["exit_code"], ended["signal"]) == ("FAILED", 7, 0)


def test_an_array_ends_task_by_task(client: Client, tenant: OwnTenant) -> None:
    gateway = client(tenant.user)
    job = gateway.submit("#!/bin/sh\nexit $SLURM_ARRAY_TASK_ID\n", "--array=0-2", *SMALL)
    tasks = [gateway.ended(f"{job['job_id']}_{task}") for task in range(3)]
    assert [task["exit_code"] for task in tasks] == [0, 1, 2]
    assert [task["array_task_id"] for task in tasks] == [0, 1, 2]
    assert {task["array_job_id"] for task in tasks} == {job["job_id"]}


def test_a_chain_runs_in_order_across_the_doors(stack: Stack, client: Client, tenant: OwnTenant) -> None:
    gateway, shell = client(tenant.user), stack.login_node(tenant.user)
    first = shell.sbatch(" ".join(SMALL), script="#!/bin/sh\nsleep 2\necho one > chain\n")
    second = gateway.submit("#!/bin/sh\ncat chain\n", f"--dependency=afterok:{first}", *SMALL)
    ended = gateway.ended(second["id"])
    assert ended["state"] == "COMPLETED"
    assert gateway.http.get(f"/v1/jobs/{second['id']}/stdout").content == b"one\n"


def test_a_cancelled_job_ends_as_cancelled(client: Client, tenant: OwnTenant) -> None:
    gateway = client(tenant.user)
    job = gateway.submit("#!/bin/sh\nsleep 300\n", "--gres=gpu:h100:1", *SMALL)
    wait_for(lambda: gateway.job(job["id"])["state"] == "RUNNING", "the job runs")
    assert gateway.http.delete(f"/v1/jobs/{job['id']}").status_code == 202
    assert gateway.ended(job["id"])["state"] == "CANCELLED"


def test_the_same_key_and_body_are_the_same_job(client: Client, tenant: OwnTenant) -> None:
    gateway = client(tenant.user)
    headers = {"Content-Type": "text/x-shellscript", "Idempotency-Key": f"once-{tenant.name}"}
    once, again = (
        gateway.http.post("/v1/jobs", params={"arg": list(SMALL)}, content=SLEEP, headers=headers)
        for _ in range(2)
    )
    assert once.status_code == 201
    assert again.json()["id"] == once.json()["id"]
    other = gateway.http.post("/v1/jobs", params={"arg": list(SMALL)}, content=SLEEP + "\n", headers=headers)
    assert other.status_code == 422
    assert len(gateway.http.get("/v1/jobs").json()["items"]) == 1


def test_a_job_starts_with_the_users_own_environment(client: Client, tenant: OwnTenant) -> None:
    gateway = client(tenant.user)
    script = '#!/bin/bash\necho "$USER $HOME $PWD"\nenv | grep ^SLUICE || true\n'
    job = gateway.ended(gateway.submit(script, *SMALL)["id"])
    home = f"/home/{tenant.user}"
    assert gateway.http.get(f"/v1/jobs/{job['id']}/stdout").text == f"{tenant.user} {home} {home}\n"


def test_nothing_works_without_a_key(stack: Stack, client: Client, tenant: OwnTenant) -> None:
    http = client(tenant.user).http
    for method, path in (
        ("GET", "/v1/jobs"),
        ("POST", "/v1/jobs"),
        ("GET", "/v1/tenants"),
        ("GET", "/v1/reports/usage"),
    ):
        for authorization in ("", "Bearer sluice_wrong", "Basic YTpi"):
            answer = http.request(method, path, headers={"Authorization": authorization})
            assert answer.status_code == 401, (method, path, authorization)
            assert answer.headers["Content-Type"].startswith("application/problem+json")


def test_a_refusal_by_slurm_carries_slurms_own_words(client: Client, tenant: OwnTenant) -> None:
    answer = client(tenant.user).try_submit(SLEEP, "--nodes=40", *SMALL)
    assert answer.status_code in (409, 422), answer.text
    assert "slurm_words" in answer.json() or "node" in answer.json()["detail"].lower()


def test_a_wrong_option_names_line_and_column(client: Client, tenant: OwnTenant) -> None:
    answer = client(tenant.user).try_submit("#!/bin/sh\n#SBATCH --time=never\nhostname\n")
    assert answer.status_code == 422
    (error,) = answer.json()["errors"]
    assert error["line"] == 2
    assert error["option"].lstrip("-") == "time"


@pytest.mark.parametrize("option", ["--export=NONE", "--get-user-env", "--export=NIL"])
def test_a_job_with_a_login_environment_of_its_own_runs(
    stack: Stack, client: Client, tenant: OwnTenant, option: str
) -> None:
    job = client(tenant.user).submit('#!/bin/bash\ntest -n "$SLURM_JOB_ID"\n', option, *SMALL)
    assert client(tenant.user).ended(job["id"])["state"] == "COMPLETED"
    by_sbatch = stack.login_node(tenant.user).sbatch(f"{option} {' '.join(SMALL)}", script=SLEEP)
    assert client(tenant.user).ended(by_sbatch)["state"] == "COMPLETED"
