"""Reading sacct: any cut, any text in a field, every form of a job's number."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bridge.agent.sacct import FIELDS, arguments, moment, rows
from bridge.job import UNLIMITED, AccountingRow, BaseState, ExitStatus

MARK = "|f00|"
CELLS = {
    "Cluster": "sluice",
    "DBIndex": "9223372036854775900",
    "JobIDRaw": "12",
    "JobID": "12",
    "JobName": "train",
    "User": "ada",
    "UID": "20006",
    "Account": "astro",
    "Partition": "h100",
    "QOS": "training",
    "State": "COMPLETED",
    "ExitCode": "0:0",
    "Submit": "1800000000",
    "Eligible": "1800000001",
    "Start": "1800000002",
    "End": "1800000062",
    "Suspended": "00:00:00",
    "TimelimitRaw": "60",
    "NodeList": "gpu1",
    "ReqTRES": "cpu=1,mem=64M,node=1,billing=12",
    "AllocTRES": "billing=12,cpu=1,gres/gpu:h100=2,gres/gpu=2,mem=16384M,node=1",
    "WorkDir": "/home/ada",
    "StdOut": "/home/ada/slurm-12.out",
    "StdErr": "",
    "AdminComment": "",
    "Comment": "",
}


def line(**cells: str) -> str:
    return "".join(f"{value}{MARK}" for value in (CELLS | cells).values()) + "\n"


def one(**cells: str) -> AccountingRow:
    (row,) = rows([line(**cells)], MARK)
    return row


def test_the_cells_are_sacct_fields_in_order() -> None:
    assert tuple(CELLS) == FIELDS
    assert f"--format={','.join(FIELDS)}" in arguments(MARK)


def test_a_row() -> None:
    row = one()
    assert (row.cluster, row.db_index, row.job_id) == ("sluice", "9223372036854775900", 12)
    assert row.submitted_at == datetime.fromtimestamp(1800000000, UTC)
    assert row.ended_at == datetime.fromtimestamp(1800000062, UTC)
    assert row.tres_allocated["gres/gpu:h100"] == 2
    assert row.tres_allocated["mem"] == 16384
    assert row.stderr == row.stdout


@pytest.mark.parametrize(
    ("shown", "raw", "fields"),
    [
        ("12_3", "15", {"job_id": 15, "array_job_id": 12, "array_task_id": 3}),
        ("12_[4-9%2]", "12", {"job_id": 12, "array_job_id": 12, "array_tasks": "4-9%2"}),
        ("12_[0x3F8]", "12", {"job_id": 12, "array_job_id": 12, "array_tasks": "0x3F8"}),
        ("12+1", "13", {"job_id": 13, "het_job_id": 12, "het_offset": 1}),
    ],
)
def test_numbers(shown: str, raw: str, fields: dict[str, Any]) -> None:
    row = one(JobID=shown, JobIDRaw=raw)
    assert {name: getattr(row, name) for name in fields} == fields


def test_a_job_that_never_ran_has_no_start() -> None:
    row = one(State="CANCELLED by 20006", Start="1800000009", NodeList="None assigned", AllocTRES="")
    assert row.state.base is BaseState.CANCELLED
    assert (row.started_at, row.nodes, row.tres_allocated) == (None, "", {})


def test_a_job_that_waits() -> None:
    row = one(State="PENDING", Start="Unknown", End="Unknown", NodeList="None assigned", Eligible="Unknown")
    assert (row.started_at, row.ended_at, row.eligible_at) == (None, None, None)


@pytest.mark.parametrize(("text", "limit"), [("UNLIMITED", UNLIMITED), ("5", 5), ("Partition_Limit", None)])
def test_time_limits(text: str, limit: object) -> None:
    assert one(TimelimitRaw=text).time_limit_min == limit


@pytest.mark.parametrize(
    ("text", "seconds"), [("00:01:05", 65), ("2-03:00:01", 183601), ("01:05.250", 65), ("", 0)]
)
def test_suspended(text: str, seconds: int) -> None:
    assert one(Suspended=text).suspended_s == seconds


def test_signals() -> None:
    assert one(State="FAILED", ExitCode="0:9").exit == ExitStatus(0, 9)


def cut(text: str, places: list[int]) -> Iterator[str]:
    begin = 0
    for place in sorted(place % (len(text) + 1) for place in places):
        yield text[begin:place]
        begin = place
    yield text[begin:]


@given(
    names=st.lists(st.text(max_size=8), min_size=1, max_size=4),
    places=st.lists(st.integers(0, 10_000), max_size=6),
)
def test_any_text_and_any_cut(names: list[str], places: list[int]) -> None:
    texts = [name.replace(MARK, "") for name in names]
    # A name may begin with a line end only after the row's first cell, the cluster.
    output = "".join(line(JobName=name, Comment=f"\n{name}\n") for name in texts)
    found = list(rows(cut(output, places), MARK))
    assert [row.name for row in found] == texts
    assert [row.comment for row in found] == [f"\n{name}\n" for name in texts]


def test_nothing_is_no_row() -> None:
    assert list(rows([], MARK)) == []


def test_an_output_that_ends_within_a_row_is_an_error() -> None:
    with pytest.raises(ValueError, match="ends within a row"):
        list(rows([line(), line()[:40]], MARK))


def test_moments_are_written_in_utc() -> None:
    assert moment(datetime.fromisoformat("2026-03-01T01:00:00+05:30")) == "2026-02-28T19:30:00"
