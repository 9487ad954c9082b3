"""The script parser against real sbatch, asked afresh: what is sent, and what becomes of it by both doors."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator

import pytest

from tests.integration.sbatch_oracle.oracle import Oracle, hand_made, oracle
from tests.support.stack import STACK_NAME, GatewayClient, OwnTenant, Stack, run
from tests.unit.sbatch.description import judge
from tests.unit.sbatch.generator import Case, cases, het_jobs, structures
from tests.unit.sbatch.test_recorded_answers import OTHER_JUDGES

pytestmark = pytest.mark.cluster

Client = Callable[[str], GatewayClient]

SEED = int(os.environ.get("SLUICE_TEST_SEED", "7"))

VOLATILE = frozenset(
    {
        *("JobId", "SubmitTime", "EligibleTime", "AccrueTime", "StartTime", "EndTime", "LastSchedEval"),
        *("Priority", "AllocNode:Sid", "Command", "AdminComment", "SubmitLine", "Scheduler", "SuspendTime"),
        *("SecsPreSuspend", "Extra", "Comment"),
    }
)
"""Fields of a record that differ from one submission to the next, or that say by which door it came."""

EACH_TIME = re.compile(
    r"_(JOB_?ID|SLUID|SUBMIT_HOST|TASK_PID|TOPOLOGY|NODE|NODELIST|START|END|GTIDS|RLIMIT)|^SLURMD_|ADDR"
)
"""Variables of a job that differ from one run to the next."""

SCRIPTS = {
    "plain": "",
    "tasks": "#SBATCH -n2 -c2\n#SBATCH --mem-per-cpu=100M",
    "nodes": "#SBATCH -N2 --ntasks-per-node=2\n#SBATCH --time=1:30:00 --time-min=10",
    "gpus": "#SBATCH --gpus=h100:2\n#SBATCH --cpus-per-gpu=2 --mem-per-gpu=512M",
    "gpus per node": "#SBATCH -N2 --gpus-per-node=h100:1 --mem=256M",
    "gpus per task": "#SBATCH -n2 --gpus-per-task=h100:1 --mem=256M",
    "gres": "#SBATCH --gres=gpu:h100:2 --gres-flags=disable-binding",
    "array": "#SBATCH -a 1-4%2 -o out-%A_%a.log",
    "chain": "#SBATCH -d singleton -J chain",
    "signal": "#SBATCH --signal=B:USR1@120 --requeue",
    "mail": "#SBATCH --mail-type=END,FAIL,TIME_LIMIT_80 --mail-user=pi@example.org",
    "files": "#SBATCH -o logs/%x-%j.out -e err.log -i in.txt --open-mode=append",
    "whole nodes": "#SBATCH --exclusive",
    "shared": "#SBATCH -s --nice=50",
    "layout": "#SBATCH -n4 -m cyclic:block --ntasks-per-socket=2",
    "hint": "#SBATCH -n2 --hint=nomultithread",
    "begin": "#SBATCH --begin=2030-01-20T12:34:00 --deadline=2031-01-01 --time=5",
    "nodes by name": "#SBATCH -w gpu2 -x gpu1",
    "name and quotes": '#SBATCH -J "two words" --wckey=key # a comment',
    "no requeue": "#SBATCH --no-requeue --no-kill --overcommit -n3",
    "spread": "#SBATCH -N1-2 --spread-job --use-min-nodes",
    "frequency": "#SBATCH --cpu-freq=low-high:performance --threads-per-core=1",
}


@pytest.fixture(scope="module")
def real_sbatch(stack: Stack) -> Iterator[Oracle]:
    """Real sbatch of the stack's own image, before a controller that takes no job."""
    inspected = run(["docker", "inspect", "--format={{.Image}}", stack.container("slurmctld")])
    with oracle(inspected.stdout.strip(), STACK_NAME) as asked:
        yield asked


JUDGED_BY_HAND = re.compile(r"external|nodefile|export-file|bbf")
"""Options that read files or make no batch job; docs/known-limits.md says what differs beside others."""


def wrong(real_sbatch: Oracle, asked: list[Case]) -> dict[str, list[str]]:
    """Return what the parser judges otherwise than real sbatch, with the script."""
    answers = real_sbatch.ask(asked)
    found = {answer["name"]: [*judge(answer), answer["script"]] for answer in answers}
    return {name: said for name, said in found.items() if len(said) > 1}


def made(cases_: Iterable[Case]) -> list[Case]:
    """Leave out the generated cases that are `JUDGED_BY_HAND`."""
    return [case for case in cases_ if not JUDGED_BY_HAND.search(f"{case.script!r} {case.arguments}")]


def test_hand_made_scripts_are_sent_as_by_real_sbatch(real_sbatch: Oracle) -> None:
    asked = [case for case in hand_made() if case.name not in OTHER_JUDGES]
    assert wrong(real_sbatch, asked) == {}


def test_generated_scripts_are_sent_as_by_real_sbatch(real_sbatch: Oracle) -> None:
    assert wrong(real_sbatch, made([*cases(SEED, 150), *structures(SEED, 100), *het_jobs(SEED, 50)])) == {}


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_two_thousand_generated_scripts_are_sent_as_by_real_sbatch(real_sbatch: Oracle) -> None:
    assert (
        wrong(
            real_sbatch,
            made([*cases(SEED + 1, 1400), *structures(SEED + 1, 400), *het_jobs(SEED + 1, 200)]),
        )
        == {}
    )


def record(stack: Stack, job_id: int) -> dict[str, str]:
    """The record of a job as ``scontrol show job`` has it, without what differs each time."""
    text = stack.exec("slurmctld", "scontrol", "show", "job", "-o", str(job_id)).stdout.splitlines()[0]
    text = re.sub(rf"(?<![0-9A-Za-z]){job_id}(?![0-9A-Za-z])", "@J@", text)
    fields = re.findall(r"(\S+?)=(.*?)(?=\s+[A-Za-z/:]+=|\s*$)", text)
    return {name: value for name, value in fields if name not in VOLATILE}


def test_both_doors_make_the_same_record(stack: Stack, client: Client, tenant: OwnTenant) -> None:
    held = ("-p", "h100", "-H")
    gateway = client(tenant.user)
    different: dict[str, dict[str, tuple[str | None, str | None]]] = {}
    for name, lines in SCRIPTS.items():
        script = f"#!/bin/bash\n{lines}\nhostname\n"
        theirs = record(stack, stack.login_node(tenant.user).sbatch(" ".join(held), script=script))
        ours = record(stack, gateway.submit(script, *held)["job_id"])
        fields = {
            field: (ours.get(field), theirs.get(field))
            for field in {*ours, *theirs}
            if ours.get(field) != theirs.get(field)
        }
        different |= {name: fields} if fields else {}
    assert different == {}, "field: (by HTTP, by sbatch)"


def test_a_refusal_of_the_client_has_sbatch_s_words(client: Client, tenant: OwnTenant) -> None:
    answer = client(tenant.user).try_submit("#!/bin/sh\n#SBATCH --time=1d\n")
    assert answer.status_code == 422, answer.text
    assert answer.json()["slurm_words"] == "sbatch: error: Invalid --time specification"


def test_both_doors_give_the_job_the_same_slurm_variables(
    stack: Stack, client: Client, tenant: OwnTenant
) -> None:
    options = "#SBATCH -p h100 -n2 --mem=64M --time=2"
    script = f"#!/bin/bash\n{options}\nenv | grep -E '^(SLURM|OMPI)' | sort\n"
    gateway = client(tenant.user)
    said: list[list[str]] = []
    for job_id in (
        stack.login_node(tenant.user).sbatch(script=script),
        gateway.submit(script)["job_id"],
    ):
        job = gateway.ended(job_id)
        assert job["state"] == "COMPLETED", job
        lines = gateway.http.get(f"/v1/jobs/{job_id}/stdout").text.splitlines()
        said.append([line for line in lines if not EACH_TIME.search(line.partition("=")[0])])
    assert said[1] == said[0]
