"""Properties: nothing but ScriptError comes out, values survive writing and reading, nothing is slow."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bridge.errors import ScriptError
from bridge.job import UNLIMITED
from bridge.sbatch import FileWanted, SubmitContext, dates, memory, nodes, parse, signals, times
from bridge.sbatch.options import OPTIONS, VARIABLES
from tests.support.effort import examples
from tests.unit.sbatch.description import context_of
from tests.unit.sbatch.generator import cases, structures

LONG = 1024 * 1024
CONTEXT = context_of("a.sh", now=datetime(2026, 11, 30, 23, 59, tzinfo=UTC))
VALUE = st.text(st.characters(codec="utf-8", exclude_characters="\n\0"), max_size=30)
SPICE = st.text(st.sampled_from("0123456789-:,+=@*[]{}/.%kKmMgGtTbBrRx 'T\"\\#"), max_size=16)


def accept(script: bytes, *, context: SubmitContext = CONTEXT, **said: object) -> None:
    try:
        parse(script, context=context, **said)  # type: ignore[arg-type] # keywords of parse
    except FileWanted as wanted:
        assert wanted.path not in context.files
        held = {**context.files, wanted.path: b"gpu1\n"}
        accept(script, context=replace(context, files=held), **said)
    except ScriptError as error:
        assert error.message
        assert error.details["exit_code"] in (1, 255)


@given(st.binary(max_size=400))
def test_no_bytes_raise_anything_else(text: bytes) -> None:
    accept(text)
    accept(b"#!/bin/sh\n#SBATCH " + text)


@settings(max_examples=examples(200))
@given(st.sampled_from([option for option in OPTIONS if option.name]), VALUE | SPICE)
def test_no_value_of_any_option_raises_anything_else(option: object, value: str) -> None:
    name = option.name  # type: ignore[attr-defined] # an Option
    accept(b"#!/bin/sh\nx\n", arguments=[f"--{name}={value}", "-N2"])
    accept(b"#!/bin/sh\nx\n", arguments=[f"--{name}", value, "--gpus=2"])


@given(st.dictionaries(st.sampled_from(list(VARIABLES)), VALUE | SPICE, max_size=4))
def test_no_variable_raises_anything_else(variables: dict[str, str]) -> None:
    accept(b"#!/bin/sh\nx\n", variables=variables)


@given(
    st.lists(st.sampled_from(["#PBS -l ", "#BSUB -n ", "#PBS -W ", "#BSUB -M "]), max_size=3), SPICE | VALUE
)
def test_no_foreign_line_raises_anything_else(starts: list[str], value: str) -> None:
    accept("\n".join(["#!/bin/sh", *(f"{start}{value}" for start in starts)]).encode())


def test_no_generated_script_raises_anything_else() -> None:
    for case in [*cases(99, 300), *structures(99, 300)]:
        accept(case.script, arguments=case.arguments, variables=case.variables)


@given(st.integers(1, 2**31 - 3) | st.just(UNLIMITED))
def test_a_time_limit_survives_writing(limit_min: int) -> None:
    text = times.text_of(limit_min)
    seconds = limit_min * 60 if isinstance(limit_min, int) else 0
    assert seconds >= 2**31 - 60 or times.minutes(text) == limit_min


@given(st.integers(0, 2**40))
def test_a_size_survives_writing(size_mib: int) -> None:
    assert memory.mebibytes(memory.text_of(size_mib)) == size_mib


@given(st.lists(st.from_regex(r"[a-z]{1,3}[0-9]{0,3}", fullmatch=True), min_size=1, max_size=20))
def test_a_node_list_survives_writing(names: list[str]) -> None:
    assert nodes.hosts(nodes.host_list(names)) == names


@given(st.integers(1, 64), st.integers(0, 65535), st.booleans(), st.booleans())
def test_a_signal_survives_writing(number: int, lead_s: int, batch: bool, reservation: bool) -> None:
    ahead = signals.SignalAhead(number, lead_s, batch, reservation)
    assert signals.signal_ahead(str(ahead)) == ahead


@given(st.datetimes(datetime(2001, 1, 1), datetime(2098, 12, 31)))
def test_a_written_moment_is_that_moment(when: datetime) -> None:
    text = f"{when:%Y-%m-%dT%H:%M:%S}"
    assert dates.moment(text, CONTEXT.now) == when.replace(microsecond=0, tzinfo=UTC)


@pytest.mark.parametrize(
    "body",
    [
        b"# comment\n",
        b"\n",
        b"#",
        b"#SBATCH\n",
        b"   \n",
        b"echo hello world\n",
        b"#PBSx\n",
        b"#PBS\n",
        b"#SBATCH -n2 # " + b"c" * 100 + b"\n",
        b"#SBATCH --comment='" + b"q" * 1000 + b"'\n",
        b"#SBATCH " + b" " * 4000 + b"\n",
    ],
)
@pytest.mark.timeout(60)  # 4 MiB take a fraction of a second; a quadratic reading would take hours
def test_a_script_as_long_as_sbatch_takes_is_read(body: bytes) -> None:
    accept(b"#!/bin/sh\n" + body * (LONG // len(body)))
