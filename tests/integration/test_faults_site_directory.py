"""Members by POSIX group, with a real slapd and a real sssd: who joins, who leaves, who stays."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator

import pytest

from tests.support.directory import Directory, running_directory, why_not
from tests.support.stack import OwnTenant, Stack
from tests.support.waiting import wait_for

# One SSSD a stack: the tests share it and its worker.
pytestmark = [pytest.mark.cluster, pytest.mark.timeout(1200), pytest.mark.xdist_group("site-directory")]

GID = 71000
_WORD = uuid.uuid4().hex[:6]
LENA, OMAR, PIA = (f"{name}{_WORD}" for name in ("lena", "omar", "pia"))
"""Names that no other test gives to a local user: on a stack that was used before, such a user stays."""


@pytest.fixture(scope="module")
def directory(stack: Stack) -> Iterator[Directory]:
    if reason := why_not():
        pytest.skip(reason)
    with running_directory(stack) as found:
        found.add_user(LENA, 71001, GID)
        found.add_user(OMAR, 71002, GID)
        found.add_user(PIA, 71003, GID)
        yield found


@pytest.fixture
def group(directory: Directory) -> str:
    name = f"physics{uuid.uuid4().hex[:6]}"
    gid = 72000 + int(uuid.uuid4().hex[:3], 16)
    directory.add_group(name, gid, (LENA, OMAR))
    return name


def members(stack: Stack, account: str) -> set[str]:
    words = ("sacctmgr", "-nP", "show", "assoc", f"account={account}", "format=user")
    return set(stack.exec("login", *words).stdout.split())


def seen_everywhere(stack: Stack, group: str) -> bool:
    return all(
        stack.exec(part, "getent", "group", group, check=False).returncode == 0
        for part in ("bridge", "slurmctld", "login", "agent", "gpu1")
    )


def test_a_groups_members_submit_read_their_output_and_leave_with_the_group(
    stack: Stack, directory: Directory, group: str, make_tenant: Callable[..., OwnTenant]
) -> None:
    wait_for(lambda: seen_everywhere(stack, group), "every part sees the group")
    tenant = make_tenant(members=0, groups=[{"group": group}])
    assert members(stack, tenant.name) == {LENA, OMAR}

    lena, omar = stack.login_node(LENA), stack.login_node(OMAR)
    assert lena.run("id -u").stdout.strip() == "71001"
    running = omar.sbatch("--gres=gpu:h100:1 --time=10 --wrap='sleep 600'")
    wait_for(lambda: state(stack, running) == "RUNNING", "omar's job runs")
    with stack.client(LENA) as http:
        made = http.submit("#!/bin/sh\nid -un\n", "--time=2")
        assert (made["user"], made["tenant"]) == (LENA, tenant.name)
        assert http.ended(made["id"])["state"] == "COMPLETED"
        said = http.http.get(f"/v1/jobs/{made['id']}/stdout")
        assert (said.status_code, said.text) == (200, f"{LENA}\n")
        (mine,) = [
            each for each in http.http.get("/v1/whoami").json()["tenants"] if each["name"] == tenant.name
        ]
        assert (mine["role"], mine["jobs"]["running"]["used"]) == ("member", 1)

    directory.swap_member(group, leaves=OMAR, joins=PIA)
    wait_for(
        lambda: PIA in members(stack, tenant.name),
        "who joined the group is a member",
        deadline_s=120,
    )
    assert state(stack, running) == "RUNNING", "who left keeps what runs"
    refused = omar.run(f"sbatch --account={tenant.name} --wrap=true", check=False)
    assert refused.returncode != 0
    assert OMAR in members(stack, tenant.name), "drained, not removed, while a job runs"
    stack.exec("login", "scancel", str(running))
    wait_for(
        lambda: members(stack, tenant.name) == {LENA, PIA},
        "who left is gone when the last job has ended",
        deadline_s=180,
    )


def test_nobody_leaves_while_the_directory_is_away(
    stack: Stack, directory: Directory, group: str, make_tenant: Callable[..., OwnTenant]
) -> None:
    wait_for(lambda: seen_everywhere(stack, group), "every part sees the group")
    tenant = make_tenant(members=0, groups=[{"group": group, "role": "manager"}])
    directory.stop()
    try:
        wait_for(
            lambda: "last known members stay" in said_of(stack, tenant.name),
            "the tenant's state says that the group is not found",
            deadline_s=120,
        )
        assert members(stack, tenant.name) == {LENA, OMAR}
    finally:
        directory.start()
    wait_for(
        lambda: "last known" not in said_of(stack, tenant.name),
        "the group is found again",
        deadline_s=120,
    )


def said_of(stack: Stack, tenant: str) -> str:
    with stack.administrator() as http:
        items = http.get("/v1/tenants").json()["items"]
    return next(str(item["state"]["message"]) for item in items if item["name"] == tenant)


def state(stack: Stack, job: int) -> str:
    return stack.exec("login", "squeue", "-h", "-j", str(job), "-o", "%T", check=False).stdout.strip()
