"""``sluice whoami`` and the rest of `sluice` on the login node, where nobody has an API key."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest

from tests.support.stack import OwnTenant, Stack
from tests.support.waiting import wait_for

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(300)]


def whoami(stack: Stack, user: str) -> dict[str, Any]:
    said = stack.login_node(user).run("sluice whoami --json")
    return dict(json.loads(said.stdout))


def standing(me: dict[str, Any], tenant: str) -> dict[str, Any]:
    return next(each for each in me["tenants"] if each["name"] == tenant)


def test_the_login_node_says_who_one_is_and_what_is_left(stack: Stack, tenant: OwnTenant) -> None:
    me = whoami(stack, tenant.user)
    assert (me["user"], me["credential"], me["missing"]) == (tenant.user, "slurm token", None)
    assert me["default_tenant"] == tenant.name
    assert standing(me, tenant.name)["gpus"]["h100"] == {"limit": 8, "used": 0, "left": 8}

    job = stack.login_node(tenant.user).sbatch("--gres=gpu:h100:2 --time=5 --wrap='sleep 300'")

    def counted() -> bool:
        mine = standing(whoami(stack, tenant.user), tenant.name)
        return bool(
            mine["gpus"]["h100"] == {"limit": 8, "used": 2, "left": 6}
            and mine["own"]["running"]["used"] == 1
            and mine["jobs"]["submitted"]["left"] == 4999
        )

    wait_for(counted, "two GPUs are counted")
    colleague = standing(whoami(stack, tenant.users[1]), tenant.name)
    assert colleague["gpus"]["h100"]["left"] == 6, "what a colleague runs is not left for me"
    assert colleague["own"]["running"]["used"] == 0
    stack.login_node(tenant.user).run(f"scancel {job}")


def test_words_for_people_name_tenant_classes_and_limits(stack: Stack, tenant: OwnTenant) -> None:
    said = stack.login_node(tenant.user).run("sluice whoami").stdout
    assert f"jobs that name no tenant (--account) are {tenant.name}'s" in said
    assert "classes (--qos): training" in said
    assert "h100 GPUs" in said


def test_other_commands_work_there_too(stack: Stack, tenant: OwnTenant) -> None:
    shell = stack.login_node(tenant.user)
    shell.write("hello.sh", "#!/bin/sh\n#SBATCH --time=1\necho hello from $(id -un)\n")
    shell.run("sluice submit --wait hello.sh", timeout_s=120)
    (job,) = json.loads(shell.run("sluice jobs --json").stdout)
    assert job["user"] == tenant.user
    assert f"hello from {tenant.user}" in shell.run(f"sluice tail {job['id']}").stdout


def test_a_token_is_its_users_alone(stack: Stack, tenant: OwnTenant) -> None:
    first, second = tenant.users[:2]
    stolen = stack.login_node(first).run(f"scontrol token username={second}", check=False)
    assert stolen.returncode != 0, "Slurm gives nobody another's token"
    token = (
        stack.login_node(first).run("scontrol token lifespan=60").stdout.strip().removeprefix("SLURM_JWT=")
    )
    for sent, status in ((token, 200), (token[:-3], 401), (token.replace(".", "..", 1), 401)):
        headers = {"Authorization": f"Bearer {sent}"}
        answer = httpx.get(f"{stack.url}/v1/whoami", headers=headers, timeout=30, trust_env=False)
        assert answer.status_code == status, answer.text
    assert token not in stack.logs("gateway") + stack.logs("agent")


def test_slurms_own_users_are_nobody_at_the_gateway(stack: Stack) -> None:
    for user in ("root", "slurm"):
        said = stack.exec(
            "agent", "scontrol", "token", f"username={user}", "lifespan=60", user="slurm"
        ).stdout
        headers = {"Authorization": f"Bearer {said.strip().removeprefix('SLURM_JWT=')}"}
        answer = httpx.get(f"{stack.url}/v1/whoami", headers=headers, timeout=30, trust_env=False)
        assert answer.status_code == 401, answer.text
