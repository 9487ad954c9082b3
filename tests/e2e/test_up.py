"""`./sluice up`: what it showed when the test stack came up, and that a second one changes nothing."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import pytest

from bridge.wellknown import LABEL_STACK
from tests.support.stack import CHECKOUT, Stack, run

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(300)]

LAUNCHER = str(CHECKOUT / "sluice")


def identities(stack: Stack) -> dict[str, tuple[str, str]]:
    """Container id and start time of each part."""
    listed = run(["docker", "ps", "-aq", "--no-trunc", "--filter", f"label={LABEL_STACK}={stack.name}"])
    seen = json.loads(run(["docker", "inspect", *listed.stdout.split()]).stdout)
    return {one["Name"]: (one["Id"], one["State"]["StartedAt"]) for one in seen}


def test_up_ended_with_the_demos_table_its_report_and_the_addresses(stack: Stack) -> None:
    said = os.environ.get("SLUICE_TEST_UP_LOG")
    if not said or not Path(said).exists():
        pytest.skip("the stack was not brought up by ./sluice test in this run")
    text = Path(said).read_text(encoding="utf-8")
    for word in ("kmer-array", "stack-frames", "chain-3-evaluate", "missing-input", "REFUSED", "GPU-seconds"):
        assert word in text
    assert text.count("COMPLETED") >= 8
    assert stack.url in text
    assert "Traceback" not in text


def test_a_second_up_changes_nothing_and_takes_seconds(stack: Stack) -> None:
    before = identities(stack)
    begun = time.monotonic()
    run([LAUNCHER, "up", "--stack", stack.name], timeout_s=240)
    assert time.monotonic() - begun < 90
    assert identities(stack) == before
    assert len(before) >= 8


def test_status_lists_every_part_and_is_zero_when_all_is_well(stack: Stack) -> None:
    said = run([LAUNCHER, "status", "--stack", stack.name])
    for part in (
        "mariadb",
        "slurmdbd",
        "slurmctld",
        "slurmrestd",
        "gpu1",
        "gpu2",
        "agent",
        "bridge",
        "gateway",
    ):
        assert part in said.stdout


def test_keys_are_for_this_user_alone(stack: Stack) -> None:
    state = CHECKOUT / ".sluice" / stack.name
    assert state.stat().st_mode & 0o777 == 0o700
    assert (state / "keys.json").stat().st_mode & 0o777 == 0o600


def test_errors_are_one_sentence_with_an_exit_code(stack: Stack) -> None:
    for arguments, code in (
        (("job", "999999999"), 3),
        (("submit", "nowhere.sh"), 2),
        (("jobs", "--as", "nobody"), 2),
        (("jobs", "--stack", "no-such-stack"), 3),
        (("frobnicate",), 2),
    ):
        where = () if "--stack" in arguments or arguments == ("frobnicate",) else ("--stack", stack.name)
        first, *rest = arguments
        said = run([LAUNCHER, first, *where, *rest], check=False)
        assert said.returncode == code, (arguments, said.text)
        assert "Traceback" not in said.text
        assert said.stdout == ""
