"""A site's own accounts, made by sacctmgr, are imported: nothing changes and nothing is refused.

It runs alone, with the faults: that a plan is empty can be said only while nobody else changes tenants.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.stack import OwnTenant, Stack
from tests.support.waiting import wait_for

pytestmark = pytest.mark.cluster

LABS = tuple(f"lab{number}" for number in range(6))
USERS = 300
SHOW = ("sacctmgr", "-nP", "show")
FIELDS = "Account,User,ParentName,Share,QOS,DefaultQOS,GrpTRES,GrpJobs,GrpSubmit,MaxSubmit,MaxWall"


def sacctmgr(stack: Stack, *arguments: str) -> None:
    stack.exec("slurmctld", "sacctmgr", "-i", *arguments, timeout_s=120)


def command(stack: Stack, *arguments: str, stdin: str | None = None) -> dict[str, Any]:
    done = stack.python("bridge", "bridge.tenants.command", "--wait", "30", *arguments, stdin=stdin)
    answer: dict[str, Any] = json.loads(done.stdout)
    assert "error" not in answer, answer
    return answer


def await_no_drift(stack: Stack) -> None:
    wait_for(
        lambda: command(stack, "validate", "-", stdin="[]")["plan"] == [], "nothing drifts", deadline_s=90
    )


@pytest.fixture
def site(stack: Stack, tenant: OwnTenant) -> Iterator[OwnTenant]:
    """Six accounts in a tree, 300 users, limits and a QOS of their own, a partition; a real user too."""
    for number, lab in enumerate(LABS):
        parent = "root" if number < 2 else LABS[number % 2]
        limit = ("GrpTRES=gres/gpu:h100=2",) if number % 2 else ("MaxWall=2-00:00:00", "GrpJobs=40")
        sacctmgr(
            stack, "add", "account", lab, f"parent={parent}", f"Fairshare={number + 1}", *limit, "QOS=normal"
        )
        size = USERS // len(LABS)
        users = ",".join(f"person{number * size + index}" for index in range(size))
        sacctmgr(stack, "add", "user", users, f"account={lab}", "Fairshare=2")
    sacctmgr(stack, "add", "user", tenant.user, f"account={LABS[2]}")
    stack.exec("slurmctld", "scontrol", "create", "partition=gpu", "nodes=gpu1", "DefaultTime=5")
    # sacctmgr made the new account the user's default one; the bridge puts its own tenant's word back.
    await_no_drift(stack)
    yield tenant
    for lab in reversed(LABS):
        stack.python("bridge", "bridge.tenants.command", "--wait", "30", "remove", lab)
    stack.exec("slurmctld", "scancel", f"--user={tenant.user}")
    stack.exec("slurmctld", "scontrol", "delete", "partition=gpu")
    sacctmgr(stack, "delete", "account", ",".join(LABS))
    await_no_drift(stack)


def test_three_hundred_users_are_imported_and_nothing_changes(
    stack: Stack, site: OwnTenant, tmp_path: Path
) -> None:
    def seen() -> tuple[str, ...]:
        listed = stack.exec("slurmctld", *SHOW, "assoc", f"format={FIELDS}").stdout
        qos = stack.exec("slurmctld", *SHOW, "qos", "format=Name,Priority,Preempt,GrpTRES,Description").stdout
        passwd = stack.exec("login", "cat", "/var/lib/extrausers/passwd").stdout
        partitions = stack.exec("slurmctld", "scontrol", "show", "partition", "-o").stdout
        return tuple("\n".join(sorted(text.splitlines())) for text in (listed, qos, passwd, partitions))

    before = seen()
    found = command(stack, "import")
    names = {document["file"].removesuffix(".yaml") for document in found["documents"]}
    assert (names, found["notes"]) == (set(LABS), [])
    assert sum(document["text"].count("user: person") for document in found["documents"]) == USERS
    documents = json.dumps(found["documents"])
    plan = command(stack, "validate", "-", stdin=documents)["plan"]
    assert {(step["kind"], step["action"]) for step in plan} == {("document", "create"), ("table", "change")}
    command(stack, "apply", "-", stdin=documents)
    assert command(stack, "validate", "-", stdin=documents)["plan"] == []
    assert seen() == before

    shell = stack.login_node(site.user)
    old = f"-A {LABS[2]} -p gpu --qos=normal --mem=64M"
    for script in ("--time=5", "--gpus=h100:1", "--gpus=2 --time=1-0", "-N1 --array=1-3"):
        ran = shell.run(f"sbatch --hold {old} {script} --wrap hostname")
        assert "rule" not in ran.text
    shown = shell.run("squeue -h -o '%a %P %q'").stdout.split("\n")
    assert {line for line in shown if line} == {f"{LABS[2]} gpu normal"}

    sacctmgr(stack, "modify", "account", LABS[0], "set", "Fairshare=77")
    (drift,) = command(stack, "validate", "-", stdin=documents)["plan"]
    assert (drift["action"], drift["name"], drift["detail"]) == ("leave", LABS[0], "shares 77 -> 1")
