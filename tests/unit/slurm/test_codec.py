"""Every dataclass that crosses the wire comes back equal, through msgpack itself."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import msgpack
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bridge.errors import InputError
from bridge.job import AccountingRow, BaseState, ExitStatus, JobSpec, JobState, JobStatus
from bridge.slurm import port
from bridge.slurm.codec import decode, encode
from tests.support.effort import examples

CLASSES: list[type[Any]] = [
    JobSpec,
    JobStatus,
    AccountingRow,
    port.Cluster,
    port.PartHealth,
    port.Submitted,
    port.NodeStatus,
    port.PartitionStatus,
    port.Account,
    port.Association,
    port.Qos,
    port.AccountingState,
]
MOMENTS = st.datetimes(
    min_value=datetime(1971, 1, 1),
    max_value=datetime(2105, 1, 1),
    timezones=st.just(UTC),
)


def through_msgpack(plain: dict[str, Any]) -> dict[str, Any]:
    packed = msgpack.packb(plain, use_bin_type=True, datetime=True)
    result: dict[str, Any] = msgpack.unpackb(packed, raw=False, timestamp=3, strict_map_key=False)
    return result


@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)
def test_any_value_comes_back_equal(cls: type[Any]) -> None:
    st.register_type_strategy(datetime, MOMENTS)
    st.register_type_strategy(int, st.integers(-(2**63), 2**64 - 1))
    st.register_type_strategy(float, st.floats(allow_nan=False))

    @settings(max_examples=examples(15))
    @given(st.builds(cls))
    def check(value: Any) -> None:
        back = decode(cls, through_msgpack(encode(value)))
        assert back == value

    check()


def test_fields_with_their_default_do_not_travel() -> None:
    spec = JobSpec(script=b"#!/bin/sh\n", work_dir="/home/a", environment={"A": "1"})
    assert encode(spec) == {"script": b"#!/bin/sh\n", "work_dir": "/home/a", "environment": {"A": "1"}}


def test_equal_values_have_equal_bytes() -> None:
    forth = encode(JobState(BaseState.RUNNING, frozenset({"COMPLETING", "STAGE_OUT", "SIGNALING"})))
    assert forth["flags"] == ["COMPLETING", "SIGNALING", "STAGE_OUT"]


def test_an_unknown_field_is_refused_by_name() -> None:
    with pytest.raises(InputError, match=r"ExitStatus has no field colour"):
        decode(ExitStatus, {"code": 1, "signal": 0, "colour": 3})


def test_a_missing_field_is_refused_by_name() -> None:
    with pytest.raises(InputError, match=r"ExitStatus is incomplete.*code"):
        decode(ExitStatus, {"signal": 9})
