"""The carriage table: total, and the choice of the way that it gives."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from bridge.agent.carriage import CARRIAGE, Way, ways
from bridge.agent.carriage_page import page
from bridge.errors import Unsupported
from bridge.job import JobSpec

PLAIN = JobSpec(script=b"#!/bin/sh\ntrue\n", work_dir="/tmp", environment={"A": "1"})


def spec(**fields: Any) -> JobSpec:
    return dataclasses.replace(PLAIN, **fields)


def test_the_table_has_every_field_and_no_other() -> None:
    assert list(CARRIAGE) == [field.name for field in dataclasses.fields(JobSpec)]


@pytest.mark.parametrize("name", CARRIAGE)
def test_a_way_that_is_left_out_says_why(name: str) -> None:
    carried = CARRIAGE[name]
    assert bool(carried.why) == (not carried.native or not carried.rest)


def test_a_plain_job_goes_native_and_could_go_by_rest() -> None:
    assert ways(PLAIN) == (Way.NATIVE, Way.REST)


def test_a_field_that_pyslurm_lacks_goes_by_rest() -> None:
    assert ways(spec(prefer="fast")) == (Way.REST,)


@pytest.mark.parametrize("name", ["clusters", "reserve_ports"])
def test_a_field_that_nobody_carries_is_refused_by_name(name: str) -> None:
    with pytest.raises(Unsupported, match=name) as refused:
        ways(spec(**{name: "x"}))
    assert refused.value.details["field"] == name


@pytest.mark.parametrize(
    "fields",
    [{"memory_per_node_mib": 0}, {"core_spec": 0}, {"ntasks": 70000}, {"script": b"true\n"}],
    ids=str,
)
def test_values_that_pyslurm_changes_go_by_rest(fields: dict[str, Any]) -> None:
    assert ways(spec(**fields)) == (Way.REST,)


def test_a_script_that_could_be_a_path_never_reaches_pyslurm() -> None:
    assert Way.NATIVE not in ways(spec(script=b"/etc/passwd"))


LATIN_1 = "#!/bin/sh\n# Gr\u00f6\u00dfe\n".encode("latin-1")


def test_a_script_in_another_encoding_goes_native_since_rest_is_json() -> None:
    assert ways(spec(script=LATIN_1)) == (Way.NATIVE,)


def test_a_script_in_another_encoding_and_a_field_of_rest_are_refused_by_name() -> None:
    with pytest.raises(Unsupported, match="not UTF-8 and prefer"):
        ways(spec(script=LATIN_1, prefer="fast"))


def test_a_script_with_a_nul_is_refused() -> None:
    with pytest.raises(Unsupported, match="NUL") as refused:
        ways(spec(script=b"#!/bin/sh\n\0\n"))
    assert refused.value.details["field"] == "script"


def test_the_reference_page_is_the_tables(pytestconfig: pytest.Config) -> None:
    written = pytestconfig.rootpath / "docs" / "reference" / "carriage.md"
    assert written.read_text(encoding="utf-8") == page(), "run: python -m bridge.agent.carriage_page"
