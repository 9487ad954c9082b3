"""What the GPU nodes and the login node give a job: GPUs, a home, an end without leftovers."""

from __future__ import annotations

import pytest

from tests.support.stack import OwnTenant, Stack
from tests.support.waiting import wait_for

pytestmark = pytest.mark.cluster

FINISHED = ("COMPLETED", "FAILED", "CANCELLED", "TIMEOUT", "NODE_FAIL")


def ended(stack: Stack, job: int) -> str:
    """Wait until accounting has the job's end; returns its state."""
    ask = ("sacct", "-X", "-n", "-P", "-j", str(job), "-o", "State")

    def state() -> str:
        said = stack.exec("login", *ask, check=False).stdout.strip()
        return said if said.startswith(FINISHED) else ""

    return wait_for(state, f"job {job} has ended")


def test_a_job_is_told_its_own_gpus(stack: Stack, tenant: OwnTenant) -> None:
    login = stack.login_node(tenant.user)
    script = "#!/bin/sh\necho $SLURM_JOB_GPUS; ls /dev/fgpu* | wc -l\n"
    job = login.sbatch("--gres=gpu:a100:2 --time=1 --output=gpus", script=script)
    assert ended(stack, job) == "COMPLETED"
    indexes, devices = login.run("cat gpus").stdout.split()
    assert {int(index) for index in indexes.split(",")} < {4, 5, 6, 7}  # a100 are the second four
    assert devices == "8"


def test_a_home_is_the_users_alone(stack: Stack, tenant: OwnTenant) -> None:
    login = stack.login_node(tenant.user)
    ended(stack, login.sbatch("--time=1 --output=first --wrap=true"))
    assert login.run("stat -c '%a %U' \"$HOME\"").stdout.split() == ["700", tenant.user]
    other = stack.login_node(tenant.users[1])
    assert other.run(f"ls /home/{tenant.user}", check=False).returncode != 0


def test_what_a_job_leaves_behind_ends_with_it(stack: Stack, tenant: OwnTenant) -> None:
    login = stack.login_node(tenant.user)
    script = "#!/bin/sh\nsetsid sleep 3599 >/dev/null 2>&1 </dev/null &\nsleep 1\nhostname\n"
    job = login.sbatch("--time=1 --output=node", script=script)
    assert ended(stack, job) == "COMPLETED"
    node = login.run("cat node").stdout.strip()
    left = ("pgrep", "-u", login.run("id -u").stdout.strip(), "-f", "sleep 3599")
    wait_for(
        lambda: stack.exec(node, *left, check=False).returncode == 1,
        f"nothing of job {job} is left on {node}",
    )


def test_the_secrets_are_not_for_users(stack: Stack, tenant: OwnTenant) -> None:
    login = stack.login_node(tenant.user)
    for secret in ("slurm.key", "jwt_hs256.key", "slurmdbd.conf"):
        assert login.run(f"cat /etc/slurm/{secret}", check=False).returncode != 0, secret
    job = login.sbatch("--time=1 --output=key --wrap='cat /etc/slurm/slurm.key'")
    assert ended(stack, job) == "FAILED"


def test_slurm_runs_in_utc(stack: Stack) -> None:
    for part in ("slurmdbd", "slurmctld", "gpu1", "login"):
        assert stack.exec(part, "date", "+%Z").stdout.strip() == "UTC"


@pytest.mark.slow
@pytest.mark.parametrize("option", ["--output", "--input"])
def test_a_pipe_that_nobody_opens_does_not_keep_a_node(stack: Stack, tenant: OwnTenant, option: str) -> None:
    login = stack.login_node(tenant.user)
    login.run("mkfifo pipe")
    job = login.sbatch(f"--time=1 --mem=16M {option}=pipe --wrap=hostname")
    wait_for(lambda: "RUNNING" in login.run(f"squeue -h -j {job} -o %T").stdout, f"job {job} runs")
    login.run(f"scancel {job}")
    completing = ("squeue", "-h", "-t", "CG", "-o", "%A")
    wait_for(
        lambda: str(job) not in stack.exec("slurmctld", *completing).stdout.split(),
        f"job {job} has left its node",
        deadline_s=180,
    )
