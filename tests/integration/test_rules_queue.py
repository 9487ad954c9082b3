"""Waiting jobs after a change of the rules, and what jobs and changes are told, on the real cluster."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.integration.test_tenants import command, job, own
from tests.support.stack import OwnTenant, Stack
from tests.support.waiting import wait_for

pytestmark = pytest.mark.cluster

MakeTenant = Callable[..., OwnTenant]


def comment(stack: Stack, number: int) -> str:
    shown = stack.exec("slurmctld", "scontrol", "show", "job", str(number)).stdout
    return next((line.strip() for line in shown.splitlines() if "AdminComment=" in line), "")


def test_a_job_that_the_new_rules_refuse_is_held_with_the_reason_and_released_again(
    stack: Stack, make_tenant: MakeTenant
) -> None:
    tenant = make_tenant(members=1, flavors={"h100": {"limit": 4}})
    shell = stack.login_node(tenant.user)
    asked = "--begin=now+2hours --mem=64M --time=5 --wrap hostname"
    large, array, small = (
        shell.sbatch(f"{options} {asked}") for options in ("--gpus=4", "--gpus=3 --array=0-2", "--gpus=1")
    )
    theirs = shell.sbatch(f"--hold --gpus=4 {asked}")
    with stack.client(tenant.user) as gateway:
        made = gateway.submit(f"#!/bin/sh\n#SBATCH --gpus=4 {asked.partition(' --wrap')[0]}\ntrue\n")
        narrow = {**tenant.document, "flavors": {"h100": {"limit": 2}}}
        plan = own(command(stack, "apply", "-", document=narrow), tenant)
        held = [step["detail"] for step in plan if step["action"] == "hold"]
        assert held == ["3 waiting jobs (rule flavor.limit)"]
        for number in (large, array, made["job_id"]):
            assert job(stack, number)["Reason"] == "JobHeldAdmin"
            assert "may use 2 h100 GPUs at once" in comment(stack, number)
        assert "Access/permission denied" in shell.run(f"scontrol release {large}", check=False).text
        assert (job(stack, small)["Priority"] != "0", job(stack, theirs)["Reason"]) == (True, "JobHeldUser")
        assert gateway.job(made["id"])["id"] == made["id"], "the gateway still knows it by its mark"
    stack.exec("slurmctld", "scontrol", "release", str(array))  # an administrator's word counts
    command(stack, "validate")
    assert job(stack, array)["Priority"] != "0"
    plan = own(command(stack, "apply", "-", document=tenant.document), tenant)
    assert [step["detail"] for step in plan if step["action"] == "release"] == ["3 waiting jobs"]
    for number in (large, array, made["job_id"]):
        assert job(stack, number)["Priority"] != "0"
        assert "held by Sluice" not in comment(stack, number)
    assert job(stack, theirs)["Reason"] == "JobHeldUser"


def test_a_used_up_budget_refuses_new_jobs_and_holds_those_that_wait(
    stack: Stack, make_tenant: MakeTenant
) -> None:
    budget = {"gpu_hours": 10, "when_exhausted": "block"}
    tenant = make_tenant(members=1, flavors={"h100": {"limit": 2}}, budget=budget)
    shell = stack.login_node(tenant.user)
    number = shell.sbatch("--begin=now+2hours --gpus=1 --mem=64M --time=5 --wrap hostname")
    until = (datetime.now(UTC) + timedelta(days=2)).replace(hour=0, minute=0, second=0, microsecond=0)
    with used_up(stack, {tenant.name: {"budget": "10 GPU-hours", "until": until.isoformat()}}):
        refused = shell.run("sbatch --gpus=1 --wrap hostname", check=False)
        assert f"has used up its budget of 10 GPU-hours, which is renewed on {until:%Y-%m-%d}" in refused.text
        assert job(stack, number)["Reason"] == "JobHeldAdmin"
        with stack.client(tenant.user) as gateway:
            answer = wait_for(
                lambda: _refused(gateway.try_submit("#!/bin/sh\n#SBATCH --gpus=1\ntrue\n")), "HTTP refuses"
            )
            assert "(rule budget.exhausted)" in answer["detail"]
        shell.run(f"scontrol update job={number} TimeLimit=4")
    assert job(stack, number)["Priority"] != "0"


def _refused(answer: Any) -> dict[str, Any] | None:
    body: dict[str, Any] = answer.json()
    return body if answer.status_code == 403 else None


@contextmanager
def used_up(stack: Stack, words: Mapping[str, Any]) -> Iterator[None]:
    """What the ledger will say; other tests' tenants have no budgets."""
    say = (
        "import sys, json; from bridge.wire import Client; from bridge.wellknown import BRIDGE_SOCKET as at;"
        "Client(at, 'bridge').call('budgets', exhausted=json.loads(sys.argv[1]), timeout_s=60)"
    )

    def tell(exhausted: Mapping[str, Any]) -> None:
        stack.exec("bridge", "python", "-c", say, json.dumps(exhausted))

    tell(words)
    try:
        yield
    finally:
        tell({})


def test_a_job_that_would_run_into_a_maintenance_is_told_the_window_and_waits(
    stack: Stack, make_tenant: MakeTenant
) -> None:
    tenant = make_tenant(members=1)
    name = f"m{uuid.uuid4().hex[:8]}"
    reserve = ("create", "reservation", f"ReservationName={name}", "StartTime=now+2hours", "Duration=60")
    stack.exec("slurmctld", "scontrol", *reserve, "Nodes=ALL", "Users=root", "Flags=MAINT,IGNORE_JOBS")
    try:
        table = "/var/lib/sluice/policy/table.lua"
        wait_for(lambda: name in stack.exec("bridge", "cat", table).stdout, "the table has it", deadline_s=90)
        shell = stack.login_node(tenant.user)
        long = shell.run("sbatch --parsable --gpus=1 --mem=64M --time=300 --wrap hostname")
        assert f"(reservation {name}), and a time limit of 300 minutes reaches into it" in long.stderr
        assert "the job waits until it is over" in long.stderr
        number = int(long.stdout.strip())
        wait_for(lambda: "eserved" in job(stack, number)["Reason"], "Slurm lets it wait", deadline_s=60)
        short = shell.run("sbatch --parsable --gpus=1 --mem=64M --time=5 --wrap true")
        assert short.stderr.strip() == ""
        with stack.client(tenant.user) as gateway:
            said = wait_for(
                lambda: _told(gateway.submit("#!/bin/sh\n#SBATCH --gpus=1 --time=300\ntrue\n"), name),
                "HTTP tells it too",
            )
            assert "with --time=" in said
        shell.run("scancel --me")
    finally:
        stack.exec("slurmctld", "scontrol", "delete", f"ReservationName={name}")


def _told(made: Mapping[str, Any], name: str) -> str | None:
    return next((text for text in made["messages"] if name in text), None)


def test_no_job_takes_more_of_a_node_than_goes_with_its_gpus(stack: Stack, tenant: OwnTenant) -> None:
    shell = stack.login_node(tenant.user)
    for options, rule in (
        ("--gpus=1 -c5", "gpu.cpus"),
        ("--gpus=1 -n5", "gpu.cpus"),
        ("--gpus=1 --cpus-per-gpu=5", "gpu.cpus"),
        ("--gpus=1 --mem=8193M", "gpu.memory"),
        ("--gpus=1 --mem-per-gpu=9G", "gpu.memory"),
        ("--gpus=1 -c4 --mem-per-cpu=3G", "gpu.memory"),
        ("--gpus=1 --mem=0", "gpu.memory"),
        ("-c5", "gpu.cpus"),
        ("--mem=9G", "gpu.memory"),
    ):
        said = shell.run(f"sbatch --test-only {options} --wrap hostname", check=False).text
        assert f"(rule {rule})" in said, (options, said)
    number = shell.sbatch("--hold --gpus=2 -c8 --mem=16G --wrap hostname")
    for change in ("NumCPUs=9", "MinMemoryNode=17000", "TresPerJob=gres/gpu:1"):
        said = shell.run(f"scontrol update job={number} {change}", check=False).text
        assert "(rule gpu." in said, (change, said)
    shell.run(f"scancel {number}")


def test_another_class_or_account_is_judged_with_the_jobs_own_time_limit_and_gpus(
    stack: Stack, make_tenant: MakeTenant
) -> None:
    tenant = make_tenant(members=1, flavors={"h100": {"limit": 4}})
    other = make_tenant(members=[{"user": tenant.user}], flavors={"h100": {"limit": 2}})
    shell = stack.login_node(tenant.user)
    asked = f"--hold --account={tenant.name} -n3 --gpus-per-task=1 --mem=64M --qos=training"
    number = shell.sbatch(f"{asked} --time=600 --wrap hostname")
    for change, words in (
        ("QOS=development", "run at most 480 minutes, this job asks 600 minutes"),
        (f"Account={other.name}", f"tenant {other.name} may use 2 h100 GPUs at once, this job asks 3"),
    ):
        said = shell.run(f"scontrol update job={number} {change}", check=False).text
        assert words in said, said
    shell.run(f"scontrol update job={number} QOS=batch")
    assert job(stack, number)["QOS"] == "batch"
    shell.run(f"scancel {number}")


def test_the_production_qos_of_a_tenant_without_production_is_removed(
    stack: Stack, make_tenant: MakeTenant
) -> None:
    tenant = make_tenant(
        members=1,
        flavors={"h100": {"limit": 1, "guarantee": 1}},
        classes={"allowed": ["production"], "default": "production"},
    )

    def known() -> bool:
        listed = stack.exec("slurmctld", "sacctmgr", "-nP", "show", "qos", "format=Name").stdout.split()
        return f"production-{tenant.name}" in listed

    assert known()
    plain = {**tenant.document, "flavors": {"h100": {"limit": 1}}, "classes": {"allowed": ["training"]}}
    command(stack, "apply", "-", document=plain)
    wait_for(lambda: not known(), "the QOS goes", deadline_s=90)


def test_refusals_are_counted_for_prometheus(stack: Stack, tenant: OwnTenant) -> None:
    stack.login_node(tenant.user).run("sbatch --gpus=99 --wrap hostname", check=False)
    line = f'sluice_policy_refusals_total{{mode="enforce",rule="flavor.limit",tenant="{tenant.name}"}} 1.0'

    def counted() -> bool:
        with stack.administrator() as gateway:
            return line in gateway.get("/metrics").text

    wait_for(counted, "the refusal is counted", deadline_s=60)
