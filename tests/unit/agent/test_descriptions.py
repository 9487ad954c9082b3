"""One JobSpec as pyslurm's attributes and as slurmrestd's body."""

from __future__ import annotations

import dataclasses
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bridge.agent import native_job, rest_job
from bridge.agent.carriage import CARRIAGE
from bridge.errors import Unsupported
from bridge.job import UNLIMITED, JobSpec
from bridge.units import NO_VAL

PLAIN = JobSpec(script=b"#!/bin/sh\ntrue\n", work_dir="/tmp", environment={"A": "1"})


def native(**fields: Any) -> dict[str, Any]:
    return native_job.attributes(dataclasses.replace(PLAIN, **fields), uid=20001, gid=20002)


def rest(**fields: Any) -> dict[str, Any]:
    body = rest_job.request(dataclasses.replace(PLAIN, **fields), uid=20001, gid=20002)
    job: dict[str, Any] = body["job"]
    return job


def test_a_plain_job_sends_nothing_that_was_not_said() -> None:
    assert native() == {
        "user_id": 20001,
        "group_id": 20002,
        "script": b"#!/bin/sh\ntrue\n",
        "environment": {"A": "1"},
        "nodes": (NO_VAL, NO_VAL),
        "min_cpus_per_node": 1,
        "working_directory": "/tmp",
        "name": "sbatch",
    }
    assert rest() == {
        "user_id": "20001",
        "group_id": "20002",
        "environment": ["A=1"],
        "minimum_cpus": 1,
        "oom_kill_step": 0xFFFE,
        "current_working_directory": "/tmp",
        "name": "sbatch",
    }


def test_numbers_say_that_they_are_set() -> None:
    assert rest(memory_per_node_mib=0)["memory_per_node"] == {"set": True, "infinite": False, "number": 0}
    assert rest(time_limit_min=UNLIMITED)["time_limit"] == {"set": False, "infinite": True, "number": 0}
    assert native(time_limit_min=UNLIMITED)["time_limit"] == UNLIMITED


def test_hold_is_a_priority_of_0_and_wins() -> None:
    assert native(hold=True, priority=5)["priority"] == 0
    assert native(priority=5)["priority"] == 5
    assert rest(hold=True)["hold"] is True


def test_a_wish_of_no_is_sent() -> None:
    assert native(requeue=False)["is_requeueable"] is False
    assert rest(requeue=False)["requeue"] is False
    assert "overcommit" not in native()


def test_moments_are_epochs() -> None:
    begin = datetime(2027, 1, 1, tzinfo=UTC)
    assert native(begin=begin)["begin_time"] == 1798761600
    assert rest(begin=begin)["begin_time"]["number"] == 1798761600


def test_arguments_follow_a_name_for_the_script() -> None:
    assert native(argv=("a", "b c"))["script_args"] == ["sbatch", "a", "b c"]
    assert rest(argv=("a", "b c"))["argv"] == ["sbatch", "a", "b c"]


def test_a_warning_signal() -> None:
    assert native(signal="B:USR1@90")["signal"] == {
        "signal": 10,
        "time": 90,
        "batch_only": True,
        "allow_reservation_overlap": False,
    }
    assert rest(signal="B:USR1@90")["kill_warning_flags"] == ["BATCH_JOB"]


def test_all_mail_is_six_events() -> None:
    assert len(rest(mail_type=("ALL", "END"))["mail_type"]) == 6


@pytest.mark.parametrize(
    "fields",
    [{"mail_type": ("NEVER",)}, {"gres_flags": ("one-task-per-sharing",)}, {"mem_bind": "sideways"}],
    ids=str,
)
def test_words_that_slurmrestd_would_drop_are_refused(fields: dict[str, Any]) -> None:
    with pytest.raises(Unsupported) as refused:
        rest(**fields)
    assert refused.value.details["field"] in fields


@given(st.builds(JobSpec, script=st.just(b"#!/bin/sh\ntrue\n")))
def test_every_set_field_reaches_its_key(spec: JobSpec) -> None:
    attributes = native_job.attributes(dataclasses.replace(spec, signal=None), uid=1, gid=1)
    for name, carried in CARRIAGE.items():
        value = getattr(spec, name)
        if carried.native and name != "signal" and value not in (None, False, ()):
            assert carried.native in attributes


def test_what_policy_looks_at_is_plain() -> None:
    judged = native_job.judged(dataclasses.replace(PLAIN, time_limit_min=UNLIMITED), uid=1, gid=2)
    assert judged["time_limit"] == 0xFFFFFFFF
    assert all(value is None or isinstance(value, str | bytes | int) for value in judged.values())


def test_node_lists_are_lists_for_slurmrestd_which_warns_of_a_text() -> None:
    job = rest(nodelist="gpu[1-2]", exclude="gpu3")
    assert (job["required_nodes"], job["excluded_nodes"]) == (["gpu[1-2]"], ["gpu3"])
