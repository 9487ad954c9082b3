"""Tenants on the real cluster: what a document becomes, what drifts, what sbatch says at the door."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from random import Random
from typing import Any

import pytest
import yaml

from bridge.job import UNLIMITED
from bridge.policy.decide import decide
from bridge.policy.pool import Flavor, Pool
from bridge.policy.request import Decision, Refusal, Request
from bridge.policy.table import PolicyTable, table_of
from bridge.policy.tenant import Tenant
from tests.support.stack import OwnTenant, Stack
from tests.support.waiting import wait_for

pytestmark = pytest.mark.cluster

MakeTenant = Callable[..., OwnTenant]


def command(stack: Stack, *arguments: str, document: Mapping[str, Any] | None = None) -> dict[str, Any]:
    text = yaml.safe_dump(dict(document), sort_keys=False) if document else ""
    sources = json.dumps([{"file": "test.yaml", "text": text}]) if document else None
    done = stack.python("bridge", "bridge.tenants.command", "--wait", "60", *arguments, stdin=sources)
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def own(answer: Mapping[str, Any], tenant: OwnTenant) -> list[dict[str, Any]]:
    """The steps of a plan that are about this tenant: other tests change theirs at the same time."""
    names = re.compile(rf"^(production-)?{re.escape(tenant.name)}(/|$)")
    return [step for step in answer["plan"] if names.match(str(step["name"]))]


def association(stack: Stack, account: str, user: str = "") -> dict[str, str]:
    """The association's limits as slurmdbd has them, empty when there is none."""
    fields = ("Share", "QOS", "GrpTRES", "MaxSubmit", "GrpSubmit", "MaxWall")
    chosen = ["where", f"account={account}", f"user={user}"]
    listed = stack.exec(
        "slurmctld", "sacctmgr", "-nP", "show", "assoc", *chosen, f"format={','.join(fields)}"
    ).stdout.splitlines()
    return dict(zip(fields, listed[0].split("|"), strict=True)) if listed else {}


def sacctmgr(stack: Stack, *arguments: str) -> None:
    stack.exec("slurmctld", "sacctmgr", "-i", *arguments)


def job(stack: Stack, number: int) -> dict[str, str]:
    shown = stack.exec("slurmctld", "scontrol", "show", "job", str(number), "-o").stdout
    return dict(part.split("=", 1) for part in shown.split() if "=" in part)


def test_another_tenant_s_jobs_usage_and_accounts_are_not_shown_on_the_login_node(
    stack: Stack, make_tenant: MakeTenant
) -> None:
    mine, theirs = make_tenant(), make_tenant()
    number = stack.login_node(theirs.user).sbatch("--hold --mem=16M --time=1 -J secret --wrap=true")
    login = stack.login_node(mine.user)
    for shows in (
        "squeue -a",
        f"scontrol show job {number}",
        "sacct -a -X --format=jobid,user%40,account%40,jobname",
        "sshare -a",
        "sacctmgr show assoc format=account%40,user%40",
        "sacctmgr show user",
    ):
        said = login.run(shows, check=False).text
        assert theirs.user not in said, shows
        assert theirs.name not in said, shows
        assert "secret" not in said, shows
    assert str(number) in stack.login_node(theirs.user).run("squeue --me").stdout


def test_a_document_becomes_limits_in_slurm_and_applying_it_again_changes_nothing(
    stack: Stack, make_tenant: MakeTenant
) -> None:
    tenant = make_tenant(
        members=1,
        weight=7,
        flavors={"h100": {"limit": 3}},
        limits={"max_walltime_min": 90, "max_submitted_jobs": 50, "max_submitted_jobs_per_user": 20},
    )
    account = association(stack, tenant.name)
    assert (account["Share"], account["GrpSubmit"], account["MaxWall"]) == ("7", "50", "01:30:00")
    assert set(account["GrpTRES"].split(",")) == {"gres/gpu=3", "gres/gpu:h100=3", "gres/gpu:a100=0"}
    user = association(stack, tenant.name, tenant.user)
    assert set(user["QOS"].split(",")) == {"training", "development", "batch"}
    assert user["MaxSubmit"] == "20"
    assert own(command(stack, "apply", "-", document=tenant.document), tenant) == []
    seen = command(stack, "validate", "-", document=tenant.document)
    assert (own(seen, tenant), seen["changes"]) == ([], [])


def test_a_wrong_document_is_refused_with_its_place_and_changes_nothing(
    stack: Stack, tenant: OwnTenant
) -> None:
    wrong = {**tenant.document, "flavors": {"h100": {"limit": 0}}, "colour": "red"}
    error = command(stack, "apply", "-", document=wrong)["error"]
    assert error["code"] == "invalid-tenant"
    assert {fault["path"] for fault in error["details"]["errors"]} == {"flavors.h100.limit", "colour"}
    greedy = {**tenant.document, "flavors": {"h100": {"limit": 99, "guarantee": 99}}}
    assert "healthy ones" in command(stack, "apply", "-", document=greedy)["error"]["message"]
    assert own(command(stack, "apply", "-", document=tenant.document), tenant) == []


def test_what_somebody_changed_by_sacctmgr_is_put_back(stack: Stack, tenant: OwnTenant) -> None:
    before = association(stack, tenant.name), association(stack, tenant.name, tenant.user)
    chosen = ("where", f"account={tenant.name}")
    sacctmgr(stack, "modify", "account", tenant.name, "set", "GrpTRES=gres/gpu:h100=99", "Fairshare=3")
    sacctmgr(stack, "modify", "user", tenant.user, *chosen, "set", "QOS+=normal")
    sacctmgr(stack, "delete", "user", tenant.users[1], f"account={tenant.name}")
    wait_for(
        lambda: (
            (association(stack, tenant.name), association(stack, tenant.name, tenant.user)) == before
            and bool(association(stack, tenant.name, tenant.users[1]))
        ),
        "the bridge puts the tenant's associations back",
        deadline_s=90,
    )


def test_a_document_by_http_is_in_force_in_slurm_when_it_is_answered(stack: Stack, tenant: OwnTenant) -> None:
    """Made for a revision, shown first, recorded; nobody without an administrator's key has a say."""
    path, members = f"/v1/tenants/{tenant.name}", dict(tenant.document)
    with stack.administrator() as http:
        first = http.get(path)
        wider = {**members, "flavors": {"h100": {"limit": 5}}}
        plan = http.put(path, json=wider, params={"dry_run": "true"}).json()["plan"]
        assert ("change", "association", tenant.name) in [
            (step["action"], step["kind"], step["name"]) for step in plan
        ]
        assert "h100=8" in association(stack, tenant.name)["GrpTRES"]
        done = http.put(path, json=wider, headers={"If-Match": first.headers["etag"]})
        assert done.status_code == 200, done.text
        assert "h100=5" in association(stack, tenant.name)["GrpTRES"]
        late = http.put(path, json=members, headers={"If-Match": first.headers["etag"]})
        assert late.status_code == 412, late.text
    with stack.client(tenant.user) as member:
        assert member.http.put(path, json=members).status_code == 403
    (newest, *_) = command(stack, "history", tenant.name)["entries"]
    assert (newest["change"], newest["actor"].partition(" ")[0]) == ("change", "http:administrator")


def test_drift_is_shown_before_it_is_put_back(stack: Stack, tenant: OwnTenant) -> None:
    sacctmgr(stack, "modify", "account", tenant.name, "set", "Fairshare=3")
    sources = command(stack, "validate", "-", document=tenant.document)["plan"]
    shown = [step for step in sources if step["name"] == tenant.name]
    if shown:  # else the bridge was faster
        assert (shown[0]["drift"], "shares 3 -> 1" in shown[0]["detail"]) == (True, True)
    wait_for(lambda: association(stack, tenant.name)["Share"] == "1", "it is put back", deadline_s=90)


def test_who_leaves_submits_no_more_and_loses_the_association_only_after_the_last_job(
    stack: Stack, tenant: OwnTenant
) -> None:
    staying, leaving = tenant.users
    shell = stack.login_node(leaving)
    number = shell.sbatch("--mem=64M --time=5 --wrap 'sleep 200'")
    shorter = {**tenant.document, "members": [{"user": staying}]}
    plan = command(stack, "apply", "-", document=shorter)["plan"]
    assert f"{tenant.name}/{leaving}" in [step["name"] for step in plan if step["action"] == "drain"]
    assert association(stack, tenant.name, leaving)["MaxSubmit"] == "0"
    refused = shell.run("sbatch --wrap hostname", check=False)
    assert "is not a member of any tenant" in refused.text
    assert job(stack, number)["JobState"] in ("PENDING", "RUNNING")
    stack.exec("slurmctld", "scancel", str(number))
    wait_for(lambda: not association(stack, tenant.name, leaving), "the association goes", deadline_s=120)
    assert f"{leaving}:" in stack.exec("login", "getent", "passwd", leaving).stdout


def test_a_change_of_a_job_is_judged_like_a_new_one(stack: Stack, make_tenant: MakeTenant) -> None:
    tenant = make_tenant(members=1, flavors={"h100": {"limit": 4}, "a100": {"limit": 2}})
    shell = stack.login_node(tenant.user)
    number = shell.sbatch("--hold --gpus=1 --wrap hostname")
    assert job(stack, number)["TresPerJob"] == "gres/gpu:h100:1"
    shell.run(f"scontrol update job={number} TresPerJob=gres/gpu:2")
    assert job(stack, number)["TresPerJob"] == "gres/gpu:h100:2"
    for change, rule in (
        ("TresPerJob=gres/gpu:9", "flavor.limit"),
        ("Partition=a100", "partition.contradicts"),
        ("QOS=normal", "class.unknown"),
        ("Account=root", "account.foreign"),
    ):
        said = shell.run(f"scontrol update job={number} {change}", check=False)
        assert f"(rule {rule})" in said.text, change
    shell.run(f"scontrol update job={number} Name=other && scancel {number}")


def test_nodes_cpus_memory_and_running_jobs_are_limited_for_the_tenant_and_for_each_user(
    stack: Stack, make_tenant: MakeTenant
) -> None:
    tenant = make_tenant(
        members=2,
        limits={
            "max_nodes": 2,
            "max_cpus": 6,
            "max_memory_mib": 2000,
            "max_cpus_per_user": 2,
            "max_memory_mib_per_user": 1000,
            "max_running_jobs_per_user": 2,
        },
    )
    limits = set(association(stack, tenant.name)["GrpTRES"].split(","))
    assert {"node=2", "cpu=6", "mem=2000M"} <= limits
    user = association(stack, tenant.name, tenant.user)["GrpTRES"]
    assert set(user.split(",")) == {"cpu=2", "mem=1000M"}
    assert own(command(stack, "apply", "-", document=tenant.document), tenant) == []
    shell, other = (stack.login_node(user) for user in tenant.users)
    asked = "--mem=64M --time=5 --wrap 'sleep 100'"
    first = shell.sbatch(f"-c2 {asked}")
    wait_for(lambda: job(stack, first)["JobState"] == "RUNNING", "the first job runs")
    waiting = shell.sbatch(f"-c1 {asked}")
    wait_for(lambda: job(stack, waiting)["Reason"] == "AssocGrpCpuLimit", "the user's CPUs are used up")
    theirs = other.sbatch(f"-c2 {asked}")
    wait_for(lambda: job(stack, theirs)["JobState"] == "RUNNING", "the other user has CPUs of their own")


def test_an_organisation_is_above_its_teams_in_slurm_and_in_the_rules(
    stack: Stack, make_tenant: MakeTenant
) -> None:
    org = make_tenant(members=1, flavors={"h100": {"limit": 2}})
    teams = [make_tenant(members=1, parent=org.name, flavors={"h100": {"limit": 4}}) for _ in range(2)]
    shells = [stack.login_node(team.user) for team in teams]
    refused = shells[0].run("sbatch --gpus=3 --wrap hostname", check=False)
    assert f"tenant {org.name}, which is above {teams[0].name}, may use 2 h100 GPUs" in refused.text
    asked = "--gpus=2 --mem=64M --time=5 --wrap 'sleep 100'"
    first, second = (shell.sbatch(asked) for shell in shells)
    wait_for(lambda: job(stack, first)["JobState"] == "RUNNING", "the first team's job runs")
    wait_for(lambda: "AssocGrp" in job(stack, second)["Reason"], "the other team's job meets the limit")
    stack.exec("slurmctld", "scancel", str(first))
    wait_for(lambda: job(stack, second)["JobState"] == "RUNNING", "it runs when the first has ended")
    listed = stack.exec(
        "slurmctld", "sacctmgr", "-nP", "show", "assoc", "user=", "format=Account,ParentName"
    ).stdout.splitlines()
    assert {f"{team.name}|{org.name}" for team in teams} <= set(listed)


def test_a_team_moves_from_one_organisation_to_another(stack: Stack, make_tenant: MakeTenant) -> None:
    orgs = [make_tenant(members=1, flavors={"h100": {"limit": limit}}) for limit in (2, 4)]
    team = make_tenant(members=1, parent=orgs[0].name, flavors={"h100": {"limit": 4}})
    shell = stack.login_node(team.user)
    assert "(rule parent.limit)" in shell.run("sbatch --gpus=3 --wrap hostname", check=False).text
    moved = {**team.document, "parent": orgs[1].name}
    plan = own(command(stack, "apply", "-", document=moved), team)
    detail = next(step["detail"] for step in plan if step["kind"] == "association")
    assert f"parent {orgs[0].name} -> {orgs[1].name}" in detail
    assert own(command(stack, "apply", "-", document=moved), team) == []
    shell.run(f"scancel {shell.sbatch('--hold --gpus=3 --wrap hostname')}")


def test_below_enforce_a_job_goes_on_as_it_was_asked_and_the_refusal_is_said_or_counted(
    stack: Stack, make_tenant: MakeTenant
) -> None:
    for mode, said in (("warn", True), ("observe", False)):
        tenant = make_tenant(members=1, flavors={"h100": {"limit": 1}}, rules=mode)
        shell = stack.login_node(tenant.user)
        ran = shell.run("sbatch --parsable --hold -p h100 --gpus=h100:2 --wrap hostname")
        number = int(ran.stdout.strip())
        assert ("this job asks 2" in ran.stderr) is said, ran
        assert job(stack, number)["TresPerJob"] == "gres/gpu:h100:2"
        shell.run(f"scancel {number}")
        log = stack.logs("slurmctld")
        assert f"mode {mode} of tenant {tenant.name}: rule flavor.limit, 1 times by now" in log
        with stack.client(tenant.user) as gateway:
            made = gateway.submit("#!/bin/sh\n#SBATCH --hold -p h100 --gpus=h100:2\ntrue\n")
        assert any("this job asks 2" in text for text in made["messages"]) is said
        shell.run(f"scancel {made['job_id']}")


@pytest.mark.parametrize("way", ["srun --immediate=5", "salloc --immediate=5", "sbatch --test-only --wrap"])
def test_each_of_slurms_commands_meets_the_rules(stack: Stack, tenant: OwnTenant, way: str) -> None:
    program, _, options = way.partition(" ")
    said = stack.login_node(tenant.user).run(f"{program} --gpus=9 {options} hostname", check=False)
    assert f"tenant {tenant.name} may use 8 h100 GPUs at once, this job asks 9" in said.text


def test_real_sbatch_decides_as_decide_py_does(stack: Stack, make_tenant: MakeTenant) -> None:
    """The same requests by decide.py and by sbatch: the same sentence, or the same job record."""
    tenant = make_tenant(
        members=1,
        flavors={"h100": {"limit": 3}, "a100": {"limit": 1}},
        classes={"allowed": ["training", "batch"], "default": "batch"},
        limits={"max_walltime_min": 100, "max_gpus_per_job": 2},
    )
    table = table_of([Tenant.model_validate(tenant.document)], _pool())
    shell, random, seen = stack.login_node(tenant.user), Random(7), set[str]()
    for _ in range(40):
        request, arguments = _asked(random, tenant)
        said = shell.run(f"sbatch --parsable --hold {arguments} --wrap hostname", check=False)
        seen.add(_compare(stack, table, request, said.text))
    assert len(seen) >= 6, seen
    shell.run("scancel --me")


def _compare(stack: Stack, table: PolicyTable, request: Request, said: str) -> str:
    decision = decide(table, request)
    if isinstance(decision, Refusal):
        assert decision.sentence in said, request
        return decision.rule
    assert isinstance(decision, Decision), "the tenant enforces"
    assert said.strip().isdigit(), (request, said)
    record = job(stack, int(said))
    shown = record["Account"], record["Partition"], record["QOS"], record["TimeLimit"]
    assert shown == (decision.account, decision.partition, decision.qos, _clock(decision)), request
    assert record.get("TresPerJob") == decision.tres_per_job
    assert record.get("TresPerNode") == decision.tres_per_node
    return "accepted"


def _clock(decision: Decision) -> str:
    if decision.time_limit_min == UNLIMITED:
        return "UNLIMITED"
    hours, minutes = divmod(int(decision.time_limit_min), 60)
    return f"{hours:02}:{minutes:02}:00"


def _pool() -> Pool:
    names = ("a100", "h100")
    flavors = {n: Flavor(name=n, gres_type=n, partition=n, configured=8, healthy=8, assured=8) for n in names}
    return Pool(flavors, {name: {"a100": 4, "h100": 4} for name in names})


def _asked(random: Random, tenant: OwnTenant) -> tuple[Request, str]:
    fields: dict[str, Any] = {"user": tenant.user}
    arguments: list[str] = []
    for name, option, values in (
        ("account", "--account", [tenant.name, "root"]),
        ("partition", "--partition", ["h100", "a100", "h100,a100"]),
        ("qos", "--qos", ["training", "batch", "development", "production", "normal"]),
        ("time_limit_min", "--time", [1, 100, 101]),
    ):
        if random.random() < 0.35:
            fields[name] = random.choice(values)
            arguments.append(f"{option}={fields[name]}")
    if random.random() < 0.8:
        way = random.choice(["tres_per_job", "tres_per_node"])
        asked = random.choice(["1", "2", "3", "4", "h100:1", "h100:2", "a100:1", "a100:2", "b200:1"])
        fields[way] = f"gres/gpu:{asked}"
        arguments.append(f"--{'gpus' if way == 'tres_per_job' else 'gpus-per-node'}={asked}")
    if random.random() < 0.1:
        fields["exclusive"] = True
        arguments.append("--exclusive")
    return Request(**fields), " ".join(arguments)
