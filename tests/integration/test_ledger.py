"""The ledger against a real slurmdbd: real jobs, and the sum worked out here from sacct's own columns.

The arithmetic below is written out on purpose and shares no code with the product.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial

import pytest

from tests.support.stack import GatewayClient, Json, OwnTenant, Stack
from tests.support.waiting import wait_for

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(300)]

Client = Callable[[str], GatewayClient]

FIELDS = "JobIDRaw,DBIndex,State,Start,End,Suspended,AllocTRES,User,JobID,QOS"
SMALL = "--mem=64M --time=5"


@dataclass(frozen=True)
class Row:
    """One row of sacct."""

    job_id: int
    index: str
    state: str
    start_s: int | None
    end_s: int | None
    suspended_s: int
    tres: Mapping[str, int]
    user: str
    shown: str
    qos: str

    @property
    def seconds(self) -> int:
        if self.start_s is None or self.end_s is None or not self.tres:
            return 0
        return self.end_s - self.start_s

    @property
    def held(self) -> bool:
        return self.start_s is not None and bool(self.tres)


def rows_of(stack: Stack, tenant: OwnTenant) -> list[Row]:
    """All rows of a tenant, requeued ones too, whole, with times as epochs."""
    said = stack.exec(
        "slurmctld",
        *("env", "SLURM_TIME_FORMAT=%s", "sacct", "-a", "-X", "-D", "-P", "-n", "--noconvert"),
        *("-A", tenant.name, "-S", "now-1day", "-E", "now", f"--format={FIELDS}"),
    )
    return [_row(line.split("|")) for line in said.stdout.splitlines()]


def _row(cells: list[str]) -> Row:
    tres = {name: int(re.sub(r"\D", "", count)) for name, count in re.findall(r"([^,=]+)=([^,]+)", cells[6])}
    moments = [int(cell) if cell.isdigit() else None for cell in cells[3:5]]
    hours, minutes, seconds = ([0, 0, 0] + [int(float(part)) for part in cells[5].split(":")])[-3:]
    return Row(
        job_id=int(re.sub(r"\D.*", "", cells[0])),
        index=cells[1],
        state=cells[2],
        start_s=moments[0],
        end_s=moments[1],
        suspended_s=hours * 3600 + minutes * 60 + seconds,
        tres=tres,
        user=cells[7],
        shown=cells[8],
        qos=cells[9],
    )


def all_over(stack: Stack, tenant: OwnTenant, count: int) -> list[Row]:
    """Wait until slurmdbd has `count` rows of the tenant, all with an end."""

    def over() -> list[Row] | None:
        rows = rows_of(stack, tenant)
        return rows if len(rows) >= count and all(row.end_s for row in rows) else None

    return wait_for(over, f"{count} rows of {tenant.name} have an end", deadline_s=120)


def by_hand(rows: list[Row]) -> dict[str, int]:
    """AllocTRES x (End - Start), row by row; only CPUs stop while a run is suspended."""
    return {
        "jobs": sum(row.held for row in rows),
        "gpu_seconds": sum(row.tres.get("gres/gpu", 0) * row.seconds for row in rows),
        "cpu_seconds": sum(
            row.tres.get("cpu", 0) * (row.seconds - row.suspended_s) for row in rows if row.held
        ),
        "memory_mib_seconds": sum(row.tres.get("mem", 0) * row.seconds for row in rows),
        "node_seconds": sum(row.tres.get("node", 0) * row.seconds for row in rows),
        "billing_seconds": sum(row.tres.get("billing", 0) * row.seconds for row in rows),
    }


def report(gateway: GatewayClient, **query: str) -> Json:
    answer = gateway.http.get("/v1/reports/usage", params=query)
    assert answer.status_code == 200, answer.text
    found: Json = answer.json()
    return found


def settled(gateway: GatewayClient, rows: list[Row]) -> Json:
    """The report once accounting has been read beyond the last end and nothing is provisional."""
    last_s = max(row.end_s or 0 for row in rows)

    def fresh() -> Json | None:
        found = report(gateway)
        as_of = found["as_of"] and datetime.fromisoformat(found["as_of"]).timestamp()
        return found if as_of and as_of > last_s and not found["provisional"]["jobs"] else None

    return wait_for(fresh, "the report is beyond the last job", deadline_s=60)


def figures(found: Json) -> dict[str, int]:
    total: dict[str, int] = found["total"]
    return total


def is_running(gateway: GatewayClient, job: int) -> bool:
    answer = gateway.http.get(f"/v1/jobs/{job}")
    return answer.status_code == 200 and answer.json()["state"] == "RUNNING"


def test_jobs_of_every_shape_add_up_to_sacct_and_to_sreport(
    stack: Stack, client: Client, tenant: OwnTenant
) -> None:
    login, gateway = stack.login_node(tenant.user), client(tenant.user)
    gateway.submit("#!/bin/sh\nsleep 4\n", "--gres=gpu:h100:2", *SMALL.split())
    login.sbatch(f"--gres=gpu:a100:1 --array=0-2 {SMALL} --wrap='sleep 2'")
    login.sbatch(f"-N2 --gpus-per-node=h100:1 {SMALL} --wrap='sleep 3'")
    login.sbatch(f"--gres=gpu:h100:1 {SMALL} --wrap='exit 7'")
    login.sbatch(f"{SMALL} --cpus-per-task=2 --wrap='sleep 2'")
    never = login.sbatch(f"--hold --gres=gpu:h100:4 {SMALL} --wrap='sleep 60'")
    login.run(f"scancel {never}")

    # The one that never was eligible is in no window of sacct at all, and in no report.
    rows = all_over(stack, tenant, 7)
    found = settled(gateway, rows)

    assert figures(found) == by_hand(rows)
    assert figures(found)["jobs"] == 7
    assert figures(found)["gpu_seconds"] > 0
    by_flavor = {row["flavor"]: row for row in report(gateway, by="flavor")["rows"]}
    for flavor in ("h100", "a100"):
        expected = sum(row.tres.get(f"gres/gpu:{flavor}", 0) * row.seconds for row in rows)
        assert by_flavor[flavor]["gpu_seconds"] == expected > 0
    doors = {row["door"]: row["jobs"] for row in report(gateway, by="door")["rows"]}
    assert doors == {"http": 1, "sbatch": 6}
    assert sreport(stack, tenant) == {
        "gres/gpu": figures(found)["gpu_seconds"],
        "cpu": figures(found)["cpu_seconds"],
        "node": figures(found)["node_seconds"],
        "billing": figures(found)["billing_seconds"],
    }


def sreport(stack: Stack, tenant: OwnTenant) -> dict[str, int]:
    """TRES-seconds of a tenant by sreport, after a roll-up that includes the present hour."""
    now = datetime.now(UTC).replace(minute=0, second=0, microsecond=0)
    span = [
        moment.strftime("%Y-%m-%dT%H:00:00")
        for moment in (now - timedelta(hours=2), now + timedelta(hours=1))
    ]
    stack.exec("slurmctld", "sacctmgr", "-i", "rollup", *span)
    said = stack.exec(
        "slurmctld",
        *("sreport", "-n", "-P", "-t", "Seconds", "-T", "gres/gpu,cpu,node,billing"),
        *("cluster", "AccountUtilizationByUser", f"Accounts={tenant.name}"),
        *(f"Start={span[0]}", f"End={span[1]}", "format=Account,Login,TresName,Used"),
    )
    lines = [line.split("|") for line in said.stdout.splitlines()]
    return {name: int(used) for account, user, name, used in lines if account == tenant.name and not user}


def test_the_parts_of_a_cut_period_are_the_whole(stack: Stack, client: Client, tenant: OwnTenant) -> None:
    login, gateway = stack.login_node(tenant.user), client(tenant.user)
    login.sbatch(f"--gres=gpu:h100:2 {SMALL} --wrap='sleep 6'")
    (row,) = rows = all_over(stack, tenant, 1)
    whole = settled(gateway, rows)
    assert row.start_s is not None and row.end_s is not None
    middle = datetime.fromtimestamp((row.start_s + row.end_s) // 2, UTC).isoformat()
    first, second = report(gateway, to=middle), report(gateway, **{"from": middle})
    assert figures(first)["gpu_seconds"] == 2 * ((row.start_s + row.end_s) // 2 - row.start_s)
    assert figures(first)["gpu_seconds"] + figures(second)["gpu_seconds"] == figures(whole)["gpu_seconds"]
    assert figures(first)["jobs"] == figures(second)["jobs"] == 1


def test_a_requeued_job_is_charged_for_each_of_its_runs(
    stack: Stack, client: Client, tenant: OwnTenant
) -> None:
    login, gateway = stack.login_node(tenant.user), client(tenant.user)
    job = login.sbatch(f"--requeue --gres=gpu:h100:1 {SMALL} --wrap='sleep 200'")
    wait_for(partial(is_running, gateway, job), f"job {job} runs")
    began = wait_for(lambda: [row for row in rows_of(stack, tenant) if row.start_s], "its row has a start")
    wait_for(lambda: datetime.now(UTC).timestamp() > (began[0].start_s or 0) + 2, "it ran for two seconds")
    stack.exec("slurmctld", "scontrol", "requeue", str(job))
    # Slurm lets a requeued job wait for two minutes; an administrator may shorten that.
    now = ("scontrol", "update", f"jobid={job}", "starttime=now")

    def runs_again() -> bool:
        # Time and again: said before the first run has ended, it is overwritten when that ends.
        stack.exec("slurmctld", *now, check=False)
        return len([row for row in rows_of(stack, tenant) if row.start_s]) == 2

    wait_for(runs_again, "it runs again")
    login.run(f"scancel {job}")
    rows = all_over(stack, tenant, 2)
    found = settled(gateway, rows)
    assert len({row.job_id for row in rows}) == 1
    assert figures(found) == by_hand(rows)
    assert figures(found)["jobs"] == 2


def test_suspended_time_stops_cpus_and_not_gpus(stack: Stack, client: Client, tenant: OwnTenant) -> None:
    login, gateway = stack.login_node(tenant.user), client(tenant.user)
    job = login.sbatch(f"--gres=gpu:h100:1 {SMALL} --wrap='sleep 200'")
    wait_for(partial(is_running, gateway, job), f"job {job} runs")
    stack.exec("slurmctld", "scontrol", "suspend", str(job))
    suspended_at = datetime.now(UTC)
    wait_for(lambda: datetime.now(UTC) > suspended_at + timedelta(seconds=3), "three seconds are over")
    stack.exec("slurmctld", "scontrol", "resume", str(job))
    login.run(f"scancel {job}")
    rows = all_over(stack, tenant, 1)
    found = settled(gateway, rows)
    assert rows[0].suspended_s >= 2
    assert figures(found) == by_hand(rows)
    assert figures(found)["cpu_seconds"] < rows[0].tres["cpu"] * rows[0].seconds


def test_a_running_job_is_provisional_and_its_end_replaces_it(
    stack: Stack, client: Client, tenant: OwnTenant
) -> None:
    login, gateway = stack.login_node(tenant.user), client(tenant.user)
    job = login.sbatch(f"--gres=gpu:a100:2 {SMALL} --wrap='sleep 200'")

    def grows() -> Json | None:
        found = report(gateway)
        return found if found["provisional"]["gpu_seconds"] >= 2 else None

    running = wait_for(grows, f"job {job} shows while it runs")
    assert running["total"]["gpu_seconds"] == running["provisional"]["gpu_seconds"]
    assert running["runaways"] == []
    login.run(f"scancel {job}")
    rows = all_over(stack, tenant, 1)
    assert figures(settled(gateway, rows)) == by_hand(rows)


def test_a_resized_job_is_charged_for_each_size(stack: Stack, client: Client, tenant: OwnTenant) -> None:
    login, gateway = stack.login_node(tenant.user), client(tenant.user)
    job = login.sbatch(f"-N2 --gpus-per-node=h100:1 {SMALL} --wrap='sleep 200'")
    wait_for(partial(is_running, gateway, job), f"job {job} runs")
    stack.exec("slurmctld", "scontrol", "update", f"jobid={job}", "numnodes=1")
    wait_for(lambda: len(rows_of(stack, tenant)) == 2, "the resized row is there")
    login.run(f"scancel {job}")
    rows = all_over(stack, tenant, 2)
    found = settled(gateway, rows)
    assert sorted(row.tres["node"] for row in rows) == [1, 2]
    assert figures(found) == by_hand(rows)


def test_the_parts_of_a_heterogeneous_job_are_charged_each(
    stack: Stack, client: Client, tenant: OwnTenant
) -> None:
    login, gateway = stack.login_node(tenant.user), client(tenant.user)
    script = f"""#!/bin/sh
#SBATCH --gres=gpu:h100:1 {SMALL}
#SBATCH hetjob
#SBATCH --gres=gpu:h100:2 {SMALL}
sleep 3
"""
    login.sbatch(script=script)
    rows = all_over(stack, tenant, 2)
    found = settled(gateway, rows)
    assert sorted(row.tres["gres/gpu"] for row in rows) == [1, 2]
    assert figures(found) == by_hand(rows)
