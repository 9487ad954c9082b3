"""Classes in action, alone on the cluster: who stops whom, who is asked first, who runs again.

A borrower has all GPUs, batch on the a100 and training on the h100. Then a tenant with guarantees comes with
production. Times are Slurm's own: nothing here looks at a clock.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

import pytest

from tests.support.stack import OwnTenant, Stack, tenant_maker
from tests.support.waiting import wait_for

pytestmark = [pytest.mark.cluster, pytest.mark.xdist_group("faults"), pytest.mark.timeout(300)]

BEGUN: Final = "echo begun ${SLURM_RESTART_COUNT:-0}"
BY_STEP: Final = f"""#!/bin/bash
{BEGUN}
srun bash -c 'trap "echo asked; exit 1" TERM; while :; do sleep 0.2; done'
exit 1
"""
BY_SHELL: Final = f"""#!/bin/bash
#SBATCH --signal=B:TERM
{BEGUN}
trap 'echo asked; exit 1' TERM
while :; do sleep 0.2; done
"""
HOLDS: Final = "#!/bin/bash\nexec sleep 600\n"


@dataclass(frozen=True, slots=True)
class Scene:
    """The cluster after production came."""

    stack: Stack
    borrower: OwnTenant
    owner: OwnTenant
    by_step: int
    by_shell: int
    training: int
    """The borrower's jobs: two of batch on the a100, one of training on the h100."""
    on_a100: int
    after_training: int
    """The owner's production jobs, one in the place of each."""
    next_training: int
    """The owner's own training job, which stopped the other batch job."""

    def field(self, job: int, name: str) -> str:
        """One field of slurmctld's record."""
        shown = self.stack.exec("slurmctld", "scontrol", "show", "job", str(job), "-o").stdout
        found = re.search(rf"(?:^|\s){name}=(\S*)", shown)
        return found[1] if found else ""

    def runs(self, job: int) -> list[tuple[str, datetime, datetime | None]]:
        """State, start and end of each run in accounting, pending ones left out."""
        columns = "--format=state,start,end"
        rows = self.stack.exec("slurmctld", "sacct", "-XDnP", "-j", str(job), columns).stdout.split()
        cells = [row.split("|") for row in rows if "Unknown" not in row.split("|")[1]]
        return [
            (state, datetime.fromisoformat(start), None if end == "Unknown" else datetime.fromisoformat(end))
            for state, start, end in cells
        ]

    def output(self, job: int) -> list[str]:
        """What the borrower's job wrote."""
        return self.stack.login_node(self.borrower.user).run(f"cat out-{job}").stdout.splitlines()


def state(stack: Stack, job: int) -> str:
    return stack.exec("slurmctld", "squeue", "-h", "-j", str(job), "-o", "%T").stdout.strip()


def submitted(stack: Stack, user: str, options: str, script: str = HOLDS) -> int:
    return stack.login_node(user).sbatch(f"--mem=64M --time=20 -o out-%j {options}", script=script)


def becomes(stack: Stack, job: int, wanted: str) -> int:
    wait_for(lambda: state(stack, job) == wanted, f"job {job} is {wanted}", deadline_s=120)
    return job


def told(stack: Stack, user: str, job: int, line: str) -> None:
    wait_for(
        lambda: line in stack.login_node(user).run(f"cat out-{job}", check=False).stdout,
        f"job {job} says {line}",
    )


@pytest.fixture(scope="module")
def scene(stack: Stack) -> Iterator[Scene]:
    with tenant_maker(stack) as make:
        borrower = make(members=1)
        owner = make(
            members=1,
            flavors={"a100": {"limit": 8, "guarantee": 4}, "h100": {"limit": 8, "guarantee": 2}},
            classes={"allowed": ["production", "training"], "default": "production"},
        )
        low, high = borrower.user, owner.user
        half = "-p a100 --gpus=4 -N1"
        by_step = submitted(stack, low, f"{half} --qos=batch", BY_STEP)
        by_shell = submitted(stack, low, f"{half} --qos=batch", BY_SHELL)
        training = submitted(stack, low, "-p h100 --gpus=8 --qos=training", BY_STEP)
        for job in (by_step, by_shell, training):
            becomes(stack, job, "RUNNING")
            told(stack, low, job, "begun 0")
        on_a100 = submitted(stack, high, half)
        after_training = submitted(stack, high, "-p h100 --gpus=2")
        becomes(stack, on_a100, "RUNNING")
        next_training = submitted(stack, high, f"{half} --qos=training")
        becomes(stack, next_training, "RUNNING")
        becomes(stack, after_training, "RUNNING")
        yield Scene(
            stack=stack,
            borrower=borrower,
            owner=owner,
            by_step=by_step,
            by_shell=by_shell,
            training=training,
            on_a100=on_a100,
            after_training=after_training,
            next_training=next_training,
        )


def test_who_is_stopped_was_asked_and_is_queued_again(scene: Scene) -> None:
    for job in (scene.by_step, scene.by_shell, scene.training):
        assert "asked" in scene.output(job)
        assert scene.runs(job)[0][0] == "PREEMPTED"
        becomes(scene.stack, job, "PENDING")
        assert scene.field(job, "Restarts") == "1"


def test_training_runs_its_least_time_before_it_is_stopped(scene: Scene) -> None:
    shown = scene.stack.exec(
        "slurmctld", "sacctmgr", "-nP", "show", "qos", "training", "format=PreemptExemptTime"
    ).stdout.strip()
    hours, minutes, seconds = map(int, shown.split(":"))
    _state, start, end = scene.runs(scene.training)[0]
    assert end is not None
    assert end - start >= timedelta(hours=hours, minutes=minutes, seconds=seconds) > timedelta(0)


def test_production_starts_when_the_stopped_job_has_left(scene: Scene) -> None:
    first = min(scene.runs(job)[0][2] or datetime.max for job in (scene.by_step, scene.by_shell))
    assert scene.runs(scene.on_a100)[0][1] >= first
    assert scene.runs(scene.after_training)[0][1] >= (scene.runs(scene.training)[0][2] or datetime.max)


def test_production_beyond_the_guarantee_waits_and_a_job_larger_than_it_is_refused(scene: Scene) -> None:
    shell = scene.stack.login_node(scene.owner.user)
    more = shell.sbatch("-p a100 --gpus=2 --mem=64M --wrap=true")
    wait_for(lambda: scene.field(more, "Reason") == "QOSGrpGRES", "it waits for the guarantee", deadline_s=60)
    said = shell.run("sbatch -p a100 --gpus=5 --wrap=true", check=False).text
    assert "run on its 4 guaranteed a100 GPUs, this job asks 5" in said
    shell.run(f"scancel {more}")


def test_nobody_stops_production(scene: Scene) -> None:
    listed = scene.stack.exec("slurmctld", "sacctmgr", "-nP", "show", "qos", "format=Name,Preempt").stdout
    assert not any("production" in line.partition("|")[2] for line in listed.splitlines())
    # All that could make room for it is production and a training job: it waits.
    shell = scene.stack.login_node(scene.borrower.user)
    eager = shell.sbatch("-p a100 --gpus=8 --mem=64M --qos=training --time=5 --wrap=true")
    wait_for(
        lambda: scene.field(eager, "Reason") in ("Resources", "Priority"), "others' training waits for it"
    )
    for job in (scene.on_a100, scene.after_training):
        assert (state(scene.stack, job), scene.field(job, "PreemptTime")) == ("RUNNING", "None")
    shell.run(f"scancel {eager}")


def test_what_was_borrowed_is_lent_again_and_the_stopped_jobs_go_on(scene: Scene) -> None:
    """Runs last: the owner's jobs end."""
    stack, stopped = scene.stack, (scene.by_step, scene.by_shell, scene.training)
    stack.exec("slurmctld", "scancel", f"--account={scene.owner.name}")
    for job in stopped:
        # Slurm lets a job that was queued again rest for two minutes.
        stack.exec("slurmctld", "scontrol", "update", f"job={job}", "StartTime=now")
    for job in stopped:
        becomes(stack, job, "RUNNING")
        told(stack, scene.borrower.user, job, "begun 1")
