"""Rows that no test can wait for, written into the real slurmdbd's database and read back by real sacct.

The rows are copies of a real job's row with other times, numbers and states, as slurmdbd itself keeps such
cases. The expected figures are worked out by hand in each test.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime

import pytest

from tests.support.stack import GatewayClient, Json, OwnTenant, Stack
from tests.support.waiting import wait_for

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(300)]

Client = Callable[[str], GatewayClient]

HOUR, DAY = 3600, 86400
PENDING, RUNNING, COMPLETED, CANCELLED, REQUEUED = 0, 1, 3, 4, 1024


@dataclass
class History:
    """Writes rows for one tenant."""

    stack: Stack
    tenant: OwnTenant
    gateway: GatewayClient
    model: int
    """Number of the real job whose row is copied: one GPU, one CPU, one node."""
    written: list[int] = field(default_factory=list)

    def write(self, number: int, **columns: int | str) -> None:
        """Write a row with job number `number`, the model's in all else but `columns`."""
        self.written.append(number)
        index = 4096 * len(self.written)  # in the same milliseconds as the model, beyond its sequence
        values = {"id_job": number, "sluid": 0, "mod_time": int(time.time()), "id_array_job": 0, **columns}
        changes = ", ".join(f"{name}={value!r}" for name, value in values.items())
        self.sql(
            "create temporary table copied as "
            f"select * from sluice_job_table where id_job={self.model} limit 1;"
            f"update copied set job_db_inx=job_db_inx + {index}, {changes};"
            "insert into sluice_job_table select * from copied;"
        )

    def erase(self) -> None:
        """Take the rows away again."""
        if self.written:
            numbers = ",".join(map(str, self.written))
            self.sql(f"delete from sluice_job_table where id_job in ({numbers})")

    def sql(self, statements: str) -> str:
        return self.stack.exec("mariadb", "mariadb", "-N", "slurm_acct_db", "-e", statements).stdout

    def report(self, **query: str) -> Json:
        answer = self.gateway.http.get("/v1/reports/usage", params=query)
        assert answer.status_code == 200, answer.text
        found: Json = answer.json()
        return found

    def gpu_seconds(self, **query: str) -> int:
        total: int = self.report(**query)["total"]["gpu_seconds"]
        return total

    def shows(self, runs: int, **query: str) -> Json:
        """Wait until the ledger has so many runs of the tenant, the model included."""

        def there() -> Json | None:
            found = self.report(**{"from": "2020-01-01", **query})
            return found if found["total"]["jobs"] == runs else None

        return wait_for(there, f"{runs} runs of {self.tenant.name} are in the ledger")


@pytest.fixture
def history(stack: Stack, client: Client, tenant: OwnTenant) -> Iterator[History]:
    gateway = client(tenant.user)
    login = stack.login_node(tenant.user)
    model = login.sbatch("--gres=gpu:h100:1 --mem=64M --time=5 --wrap=true")
    gateway.ended(model)
    made = History(stack, tenant, gateway, model)
    made.shows(1)
    yield made
    made.erase()


def unused_number() -> int:
    """A job number above MaxJobId's default start that no job of this cluster has."""
    return 40_000_000 + time.time_ns() // 1000 % 20_000_000


def iso(moment_s: int) -> str:
    return datetime.fromtimestamp(moment_s, UTC).isoformat()


def test_a_run_over_month_and_clock_change_is_cut_at_each_border_of_the_zone(history: History) -> None:
    # The clocks of Berlin went back on the last Sunday of October; the run began on the Saturday before at
    # 22:00 UTC, which is the Sunday's midnight there, and ends now.
    now_s = int(time.time())
    today = datetime.now(UTC)
    year = today.year if today > datetime(today.year, 11, 3, tzinfo=UTC) else today.year - 1
    sunday = max(day for day in range(25, 32) if datetime(year, 10, day, tzinfo=UTC).weekday() == 6)
    start_s = int(datetime(year, 10, sunday - 1, 22, tzinfo=UTC).timestamp())
    november_s = int(datetime(year, 11, 1, tzinfo=UTC).timestamp())
    history.write(
        unused_number(),
        state=COMPLETED,
        time_submit=start_s,
        time_eligible=start_s,
        time_start=start_s,
        time_end=now_s,
    )
    before = history.gpu_seconds(**{"from": iso(start_s - DAY), "to": iso(start_s)})
    history.shows(2)

    october = {"from": f"{year}-10-01", "to": f"{year}-11-01"}
    assert before == 0
    assert history.gpu_seconds(**october) == november_s - start_s
    # Berlin's November begins an hour earlier.
    assert history.gpu_seconds(**october, timezone="Europe/Berlin") == november_s - HOUR - start_s
    days = history.report(**october, by="day", timezone="Europe/Berlin")["rows"]
    assert {row["day"]: row["gpu_seconds"] for row in days} == {
        f"{year}-10-{day:02}": (25 if day == sunday else 24) * HOUR for day in range(sunday, 32)
    }
    assert history.report(**october, by="day", timezone="Europe/Berlin")["total"]["jobs"] == 1


def test_rows_that_mislead_by_number_time_or_rest(history: History) -> None:
    now_s, number = int(time.time()), unused_number()

    def moments(start_s: int, end_s: int, eligible_s: int = now_s - 900) -> dict[str, int]:
        return {
            "time_submit": start_s - 5 if start_s else now_s - 900,
            "time_eligible": eligible_s,
            "time_start": start_s,
            "time_end": end_s,
        }

    # One number given twice: 100 s, and 20 s for somebody else's later job; here of the same tenant.
    history.write(number, state=COMPLETED, **moments(now_s - 480, now_s - 380))
    history.write(number, state=CANCELLED, **moments(now_s - 350, now_s - 330))
    # slurmctld's clock was set back while it ran: no time, not a negative one.
    history.write(number + 1, state=COMPLETED, **moments(now_s - 270, now_s - 320))
    # Waiting again after a requeue, the TRES of the first run still in the row.
    history.write(number + 2, state=PENDING, **moments(0, 0))
    # The rest of a throttled array: never eligible, in no window of sacct.
    history.write(number + 3, state=PENDING, **moments(0, 0, eligible_s=0))
    # Ended by a requeue: state 1024 has the base state of a job that waits; 50 s.
    history.write(number + 4, state=REQUEUED, **moments(now_s - 250, now_s - 200))

    history.shows(5)
    assert history.gpu_seconds(**{"from": iso(now_s - 900), "to": iso(now_s - 100)}) == 100 + 20 + 0 + 50


def test_a_runaway_is_listed_not_charged_and_settled_after_its_repair(stack: Stack, history: History) -> None:
    now_s, number = int(time.time()), unused_number()
    start_s = now_s - 3 * HOUR
    history.write(
        number,
        state=RUNNING,
        time_submit=start_s,
        time_eligible=start_s,
        time_start=start_s,
        time_end=0,
    )
    shown = wait_for(
        lambda: (found := history.report(**{"from": "2020-01-01"}))["runaways"] and found,
        "the runaway is listed",
    )
    assert [(one["job_id"], one["gpus"]) for one in shown["runaways"]] == [(number, 1)]
    assert history.gpu_seconds(**{"from": iso(start_s), "to": iso(now_s - HOUR)}) == 0

    # What `sacctmgr show runawayjobs` does when one says yes: an end in the past, where no scan looks.
    history.sql(
        f"update sluice_job_table set state={COMPLETED}, time_end={start_s + 600} where id_job={number}"
    )
    wait_for(lambda: not history.report(**{"from": "2020-01-01"})["runaways"], "the repaired row is taken in")
    assert history.gpu_seconds(**{"from": iso(start_s), "to": iso(now_s - HOUR)}) == 600
