"""Shares steer who is next: the example of docs/explanation/fair-share.md, run and compared with sshare."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.support.fair_share import teams
from tests.support.stack import OwnTenant, Stack
from tests.support.waiting import wait_for

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(540)]

COLUMNS = ("Account", "User", "NormShares", "RawUsage", "EffectvUsage", "LevelFS")
STEP = "--mem=16M --time=20 --wrap 'sleep 900'"


def shares(stack: Stack, account: str) -> dict[str, float]:
    """What sshare says of an account."""
    asked = ("sshare", "-anPl", "-A", account, f"--format={','.join(COLUMNS)}")
    rows = [line.split("|") for line in stack.exec("slurmctld", *asked).stdout.splitlines()]
    (row,) = [row for row in rows if row[0].strip() == account and not row[1].strip()]
    return {name: float(cell) for name, cell in zip(COLUMNS[2:], row[2:], strict=True) if cell}


def shown(stack: Stack, job: int, what: str) -> str:
    return stack.exec("slurmctld", "squeue", "-h", "-j", str(job), "-o", what).stdout.strip()


def becomes_running(stack: Stack, job: int) -> None:
    wait_for(lambda: shown(stack, job, "%T") == "RUNNING", f"job {job} runs", deadline_s=120)


def test_the_worked_example_is_what_sshare_says_and_decides_who_is_next(
    stack: Stack, make_tenant: Callable[..., OwnTenant]
) -> None:
    h100 = {"h100": {"limit": 3}}
    above = make_tenant(members=0, flavors=h100)
    lines = teams()
    made = [make_tenant(members=1, parent=above.name, weight=each.weight, flavors=h100) for each in lines]
    shells = [stack.login_node(tenant.user) for tenant in made]
    running = [
        shell.sbatch(f"--hold -N1 --gpus={gpus} -c{gpus} {STEP}")
        for shell, gpus in zip(shells, (2, 1), strict=True)
    ]
    stack.exec("slurmctld", "scontrol", "release", ",".join(map(str, running)))
    for job in running:
        becomes_running(stack, job)

    def as_on_the_page() -> bool:
        """Both began at nearly the same time, so that U comes near to the page's as they run."""
        told = [shares(stack, tenant.name) for tenant in made]
        return all(
            found.get("LevelFS") == pytest.approx(line.level_fs, rel=0.1)
            and found["NormShares"] == pytest.approx(line.share, abs=1e-3)
            and found["EffectvUsage"] == pytest.approx(line.usage, rel=0.1)
            and found["LevelFS"] == pytest.approx(found["NormShares"] / found["EffectvUsage"], rel=0.01)
            for found, line in zip(told, lines, strict=True)
        )

    wait_for(as_on_the_page, "sshare says what the page says", deadline_s=300, every_s=2)
    # The organisation's GPUs are used up. South asks first, north is next.
    south, north = (shells[at].sbatch(f"--gpus=3 {STEP}") for at in (1, 0))
    wait_for(
        lambda: int(shown(stack, north, "%Q") or 0) > int(shown(stack, south, "%Q") or 0),
        "north's job is before south's",
        deadline_s=150,
        every_s=1,
    )
    stack.exec("slurmctld", "scancel", *map(str, running))
    becomes_running(stack, north)
    assert shown(stack, south, "%T") == "PENDING"
