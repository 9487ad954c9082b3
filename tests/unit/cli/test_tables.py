"""Tables: they fit the terminal, and hide names before numbers."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from rich.console import Console

from gateway.cli.answers import Job
from gateway.cli.report_tables import usage_table
from gateway.cli.tables import duration, job_facts, jobs_table, moment, together
from tests.unit.cli.conftest import job_json

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)


def printed(renderable: object, width: int) -> list[str]:
    console = Console(width=width)
    with console.capture() as capture:
        console.print(renderable)
    return capture.get().splitlines()


@pytest.mark.parametrize("width", [80, 120])
def test_a_long_jobs_table_fits_and_keeps_its_numbers(width: int) -> None:
    jobs = [
        Job.read(
            job_json(
                number,
                array_job_id=1234567,
                array_task_id=number,
                name="a-name-that-nobody-can-remember-at-all",
                tenant="department-of-physics-x",
                user="a-very-long-user-name",
                state="OUT_OF_MEMORY",
                exit_code=None,
                signal=9,
                door="sbatch",
            )
        )
        for number in (1, 1000)
    ]
    lines = printed(jobs_table(jobs, now=NOW, width=width), width)
    assert len(lines) == 4
    assert all(len(line) <= width for line in lines)
    for whole in ("1234567_1000", "OUT_OF_MEMORY", "sig 9", "3m00s", "sbatch"):
        assert whole in lines[3]


def test_usage_has_a_total_and_fewer_numbers_when_narrow() -> None:
    numbers = {
        "jobs": 1,
        "gpu_seconds": 2000,
        "cpu_seconds": 3,
        "memory_mib_seconds": 2048,
        "node_seconds": 5,
    }
    report = {"rows": [{"tenant": "astro", "user": None, **numbers}], "total": numbers}
    narrow = printed(usage_table(report, width=80), 80)
    wide = printed(usage_table(report, width=120), 120)
    assert narrow[0].split() == ["Tenant", "User", "Jobs", "GPU-seconds", "CPU-seconds", "Node-seconds"]
    assert narrow[2].split() == ["astro", "-", "1", "2,000", "3", "5"]
    assert narrow[-1].split()[0] == "total"
    assert "Memory GiB-s" in wide[0]


@pytest.mark.parametrize(
    ("seconds", "words"), [(0, "0s"), (59, "59s"), (65, "1m05s"), (7380, "2h03m"), (352800, "4d02h")]
)
def test_durations_use_their_two_largest_units(seconds: int, words: str) -> None:
    assert duration(seconds) == words


def test_midnight_is_shown_as_a_day() -> None:
    assert moment("2026-11-01T00:00:00Z") == "2026-11-01"
    assert moment("2026-10-31T23:00:00Z", "Europe/Berlin") == "2026-11-01"
    assert moment("2026-10-31T23:00:01Z", "Europe/Berlin") == "2026-11-01 00:00:01 CET"


def test_a_report_of_many_columns_gives_up_numbers_before_it_folds_names() -> None:
    groups = {"tenant": "genomics", "user": "chen", "class": "batch", "flavor": "a100", "door": "sbatch"}
    numbers = {"jobs": 16, "gpu_seconds": 134, "cpu_seconds": 134, "node_seconds": 134}
    report = {"rows": [{**groups, "day": "2026-11-30", **numbers}], "total": numbers}
    narrow = printed(usage_table(report, width=80), 80)
    assert narrow[0].split()[-2:] == ["Jobs", "GPU-seconds"]
    assert narrow[2].split() == [*groups.values(), "2026-11-30", "16", "134"]
    assert all(len(line) <= 80 for line in narrow)
    assert moment("2026-11-01T02:00:05+02:00") == "2026-11-01 00:00:05 UTC"
    assert moment("") == ""


def read(number: int, array: int | None = None, task: int | None = None, **changes: object) -> Job:
    fields = {"id": f"job_{number}", "array_job_id": array, "array_task_id": task, **changes}
    return Job.read(job_json(number, **fields))


def test_tasks_of_an_array_are_listed_in_their_order() -> None:
    newest_first = [
        read(12),
        read(11, 5, 3),
        read(10, 5, 10),
        read(7, het_job_id=6, het_offset=1),
        read(6, het_job_id=6, het_offset=0),
        read(5, 5, array_tasks="11-20"),
        read(9, 5, 0),
        read(4),
    ]
    shown = [job.number for job in together(newest_first)]
    assert shown == ["12", "5", "5_0", "5_3", "5_10", "6", "7", "4"]


def test_an_array_says_that_it_is_one() -> None:
    array = "\n".join(printed(job_facts(read(5, 5, array_tasks="1-3%2"), now=NOW), 120))
    assert "a whole array: tasks 1-3%2 wait" in array
    assert "5_TASK" in array
    task = "\n".join(printed(job_facts(read(6, 5, 2), now=NOW), 120))
    assert "task 2 of 5" in task
    assert "Array" not in "\n".join(printed(job_facts(read(4), now=NOW), 120))
