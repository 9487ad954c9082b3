"""A user gains nothing by the agent's being SlurmUser."""

from __future__ import annotations

from typing import Any

import pytest

from bridge.agent.privilege import as_ordinary
from bridge.errors import SlurmRefused
from bridge.job import JobSpec
from bridge.slurm.errnos import Errno


def spec(**fields: Any) -> JobSpec:
    return JobSpec(script=b"#!/bin/sh\n", work_dir="/", environment={"A": "b"}, **fields)


def root_only() -> frozenset[str]:
    return frozenset({"secret", "vault"})


@pytest.mark.parametrize(
    ("fields", "errno"),
    [
        ({"reboot": True}, Errno.ACCESS_DENIED),
        ({"nice": -1}, Errno.INVALID_NICE),
        ({"partition": "secret"}, Errno.ACCESS_DENIED),
        ({"partition": "secret,vault"}, Errno.ACCESS_DENIED),
    ],
    ids=str,
)
def test_what_slurmctld_refuses_to_users_is_refused(fields: dict[str, Any], errno: int) -> None:
    with pytest.raises(SlurmRefused) as refused:
        as_ordinary(spec(**fields), root_only)
    assert refused.value.errno == errno


def test_a_priority_counts_for_nothing() -> None:
    assert as_ordinary(spec(priority=5, hold=True), root_only) == spec(hold=True)


@pytest.mark.parametrize(
    "fields", [{}, {"nice": 5}, {"partition": "batch"}, {"partition": "batch,secret"}], ids=str
)
def test_all_else_goes_on_as_it_is(fields: dict[str, Any]) -> None:
    assert as_ordinary(spec(**fields), root_only) == spec(**fields)


def test_partitions_are_looked_at_only_where_one_is_named() -> None:
    def never() -> frozenset[str]:
        raise AssertionError("asked")

    assert as_ordinary(spec(), never) == spec()
