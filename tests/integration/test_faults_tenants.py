"""Tenants through faults: Slurm's parts restarted or stopped under an apply, a table cut by hand."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import pytest

from tests.support.stack import OwnTenant, Stack
from tests.support.waiting import wait_for

pytestmark = [pytest.mark.cluster, pytest.mark.xdist_group("faults")]

MakeTenant = Callable[..., OwnTenant]


def docker(*arguments: str) -> None:
    subprocess.run(["docker", *arguments], check=True, capture_output=True, timeout=60)


def answers(stack: Stack, *argv: str) -> bool:
    return stack.exec("slurmctld", *argv, check=False).returncode == 0


@contextmanager
def stopped(stack: Stack, part: str) -> Iterator[None]:
    docker("pause", stack.container(part))
    try:
        yield
    finally:
        docker("unpause", stack.container(part))


def allowed_accounts(stack: Stack, partition: str) -> str:
    shown = stack.exec("slurmctld", "scontrol", "show", "partition", partition, "-o", check=False).stdout
    return next((part[14:] for part in shown.split() if part.startswith("AllowAccounts=")), "")


def test_partitions_lost_by_a_restart_of_slurmctld_are_closed_again(stack: Stack, tenant: OwnTenant) -> None:
    docker("restart", "-t", "10", stack.container("slurmctld"))
    wait_for(lambda: answers(stack, "scontrol", "ping"), "slurmctld is back", deadline_s=60)
    wait_for(
        lambda: tenant.name in allowed_accounts(stack, "h100").split(","),
        "AllowAccounts of the partition is set again",
        deadline_s=90,
    )
    said = stack.login_node(tenant.user).run("sbatch --test-only --gpus=9 --wrap hostname", check=False)
    assert "(rule flavor.limit)" in said.text


def test_a_table_cut_by_hand_leaves_rules_in_force_and_is_put_back(stack: Stack, tenant: OwnTenant) -> None:
    folder = "/var/lib/sluice/policy"
    before = stack.exec("bridge", "cat", f"{folder}/table.lua").stdout
    cut = f"head -c 200 {folder}/table.lua > {folder}/t && mv {folder}/t {folder}/table.lua"
    stack.exec("bridge", "sh", "-c", f"{cut} && touch -d '+2 seconds' {folder}/job_submit.lua", user="7700")
    shell = stack.login_node(tenant.user)
    said = shell.run("sbatch --test-only --gpus=99 --wrap hostname", check=False).text
    assert "(rule " in said
    assert "internal" not in said
    wait_for(
        lambda: stack.exec("bridge", "cat", f"{folder}/table.lua").stdout == before,
        "the bridge puts the table back",
        deadline_s=90,
    )


def test_slurmctld_says_that_it_judges_by_an_older_table_also_after_a_restart(
    stack: Stack, tenant: OwnTenant
) -> None:
    policy = "/var/lib/sluice/policy"

    def in_force() -> str:
        stack.login_node(tenant.user).run("sbatch --test-only --gpus=1 --wrap hostname", check=False)
        return stack.exec("slurmctld", "cat", "/var/lib/sluice/said/table").stdout

    assert in_force().startswith("current")
    cut = f"head -c 200 {policy}/table.lua > {policy}/t && mv {policy}/t {policy}/table.lua"
    stack.exec("bridge", "sh", "-c", f"{cut} && touch -d '+2 seconds' {policy}/job_submit.lua", user="7700")
    with stopped(stack, "bridge"):  # else it puts the table back
        assert in_force().startswith("previous\t"), in_force()
        docker("restart", "-t", "10", stack.container("slurmctld"))
        wait_for(lambda: answers(stack, "scontrol", "ping"), "slurmctld is back", deadline_s=60)
        said = stack.login_node(tenant.user).run("sbatch --test-only --gpus=99 --wrap x", check=False)
        assert "(rule user.unknown)" in said.text, "the table before doesn't know the newest tenant"
        assert in_force().startswith("previous\t")
    wait_for(lambda: in_force().startswith("current"), "the bridge's table is in force again", deadline_s=90)


def test_an_apply_that_lost_slurmdbd_in_the_middle_is_finished_later(
    stack: Stack, make_tenant: MakeTenant
) -> None:
    tenant = make_tenant(members=1, flavors={"h100": {"limit": 2}})
    grown = {**tenant.document, "flavors": {"h100": {"limit": 5}}}
    sources = json.dumps([{"file": "x.yaml", "text": json.dumps(grown)}])
    with stopped(stack, "slurmdbd"):
        done = stack.python("bridge", "bridge.tenants.command", "apply", "-", stdin=sources)
        assert json.loads(done.stdout)["error"]["code"] in ("unavailable", "outcome-unknown")
        state = json.loads(stack.python("bridge", "bridge.tenants.command", "show").stdout)["states"]
        assert state[tenant.name]["applied"] is False
    wait_for(
        lambda: (
            "gres/gpu:h100=5"
            in stack.exec(
                "slurmctld", "sacctmgr", "-nP", "show", "assoc", f"account={tenant.name}", "format=GrpTRES"
            ).stdout
        ),
        "the change is carried out once slurmdbd is back",
        deadline_s=120,
    )


def applied(stack: Stack, document: object, *options: str) -> dict[str, object]:
    sources = json.dumps([{"file": "x.yaml", "text": json.dumps(document)}])
    command = ("--wait", "60", "apply", "-", *options)
    done = stack.python("bridge", "bridge.tenants.command", *command, stdin=sources)
    answer: dict[str, object] = json.loads(done.stdout)
    return answer


def associated(stack: Stack, account: str) -> set[str]:
    show = ("sacctmgr", "-nP", "show", "assoc", f"account={account}", "format=User")
    return set(stack.exec("slurmctld", *show).stdout.split())


def test_a_tenant_whose_making_broke_off_is_of_no_use_until_it_is_whole(
    stack: Stack, make_tenant: MakeTenant
) -> None:
    small = make_tenant(members=1)
    people = [*small.users, *(f"{small.user}{number}" for number in range(30))]
    grown = {**small.document, "members": [{"user": user} for user in people]}
    with ThreadPoolExecutor(1) as beside:
        making = beside.submit(applied, stack, grown)
        wait_for(lambda: len(associated(stack, small.name)) > 1 or making.done(), "it is begun", every_s=0.05)
        with stopped(stack, "slurmdbd"):
            # Nobody of those who come is let in before all of them are there; who was in stays in.
            table = stack.exec("bridge", "cat", "/var/lib/sluice/policy/table.lua").stdout
            let_in = [user for user in people if f'"{user}"' in table]
        making.result()
    assert let_in in ([small.user], people)
    wait_for(lambda: associated(stack, small.name) == set(people), "all are there", deadline_s=120)
    wait_for(
        lambda: (
            stack.login_node(people[-1]).run("sbatch --test-only --wrap hostname", check=False).returncode
            == 0
        ),
        "the last one can submit",
        deadline_s=60,
    )


def test_of_two_applies_at_once_the_later_sees_the_earlier(stack: Stack, make_tenant: MakeTenant) -> None:
    tenant = make_tenant(members=1, weight=1)
    validate = ("bridge.tenants.command", "--wait", "60", "validate", "-")
    revision = json.loads(stack.python("bridge", *validate, stdin="[]").stdout)["revision"]
    wishes = [{**tenant.document, "weight": weight} for weight in (2, 3)]
    with ThreadPoolExecutor(2) as beside:
        answers = list(beside.map(lambda wish: applied(stack, wish, "--revision", str(revision)), wishes))
    errors = [answer["error"] for answer in answers if "error" in answer]
    assert len(errors) == 1, answers
    assert "changed in the meantime" in str(errors[0])
    (winner,) = [wish["weight"] for wish, answer in zip(wishes, answers, strict=True) if "plan" in answer]
    show = ("sacctmgr", "-nP", "show", "assoc", f"account={tenant.name}", "user=", "format=Share")
    assert stack.exec("slurmctld", *show).stdout.strip() == str(winner)
