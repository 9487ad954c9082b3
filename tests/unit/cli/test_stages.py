"""`sluice test` itself: it runs all, stops at a failure, counts, and always sums up."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from rich.console import Console

from bridge.errors import InputError
from gateway.cli.stages import Running, Stage, closing_lines, read_junit
from gateway.cli.test import Plan, Runner, choose, full_plan
from tests.support.waiting import wait_for


def python(name: str, code: str) -> Stage:
    return Stage(name, (sys.executable, "-c", code))


def is_gone(pid: int) -> bool:
    """Whether a process has ended; a container's init may reap it late."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().split()[2] == "Z"
    except FileNotFoundError:
        return True


def finish(tmp_path: Path, plan: Plan) -> tuple[bool, Runner, str]:
    console = Console(width=100, record=True, file=(tmp_path / "out").open("w"))
    runner = Runner(console, tmp_path, "no-such-stack")
    try:
        good = runner.run(plan)
        runner.summary(plan)
    finally:
        console.file.close()
    return good, runner, console.export_text()


def test_a_failed_stage_ends_the_run_and_what_ran_beside(tmp_path: Path) -> None:
    beside = python("up", "import time; time.sleep(600)")
    plan = Plan(
        (python("lint", "print('bad'); raise SystemExit(3)"),), beside, (python("contract", ""),), None
    )
    good, runner, shown = finish(tmp_path, plan)
    assert not good
    assert [*runner.outcomes] == ["lint"]
    assert "  bad\n" in shown
    assert shown.count("not run") == 2


def test_a_good_run_runs_all_in_order(tmp_path: Path) -> None:
    plan = Plan((python("lint", ""),), python("up", ""), (python("contract", ""),), python("down", ""))
    good, runner, shown = finish(tmp_path, plan)
    assert good
    assert [*runner.outcomes] == ["lint", "up", "contract", "down"]
    assert "not run" not in shown


def test_counts_come_from_junit_with_the_reasons_of_skips(tmp_path: Path) -> None:
    (tmp_path / "unit.xml").write_text(
        "<testsuites><testsuite><testcase name='a'/><testcase name='b'><failure/></testcase>"
        "<testcase name='c'><skipped message='no GPU here'/></testcase></testsuite></testsuites>"
    )
    counts = read_junit(tmp_path / "unit.xml")
    assert counts is not None
    assert (counts.passed, counts.failed, counts.skipped) == (1, 1, 1)
    assert counts.reasons == {"no GPU here": 1}
    assert read_junit(tmp_path / "none.xml") is None


def test_closing_lines_are_pytests_summary(tmp_path: Path) -> None:
    log = tmp_path / "unit.log"
    log.write_text("....\n=== short test summary info ===\nSKIPPED [1] a: why\n3 passed, 1 skipped in 1s\n")
    assert closing_lines(log)[1:] == ["SKIPPED [1] a: why", "3 passed, 1 skipped in 1s"]
    log.write_text("....\n4 passed in 1s\n\n")
    assert closing_lines(log) == ["4 passed in 1s"]


def test_a_stage_is_stopped_with_its_children(tmp_path: Path) -> None:
    marker = tmp_path / "child"
    code = (
        "import subprocess, sys, pathlib, time\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'])\n"
        f"pathlib.Path({str(marker)!r}).write_text(str(child.pid))\n"
        "time.sleep(600)\n"
    )
    running = Running(python("up", code), logs=tmp_path, cwd=tmp_path, environment={})
    while not marker.exists() or not marker.read_text():
        assert running._watcher.is_alive()
    running.stop()
    child = int(marker.read_text())
    wait_for(lambda: is_gone(child), "the child is gone", every_s=0.01)


def test_stages_can_be_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("KUBECONFIG_TEST", raising=False)
    plan = full_plan("x", every=False)
    assert [stage.name for stage in choose(plan, quick=True, only=(), keep=False).stages()] == [
        "lint",
        "format",
        "types",
        "imports",
        "unit",
        "component",
        "property",
        "chart",
    ]
    assert [stage.name for stage in choose(plan, quick=False, only=("e2e",), keep=False).stages()] == [
        "up",
        "e2e",
    ]
    kube = [stage.name for stage in choose(plan, quick=False, only=("kube",), keep=False).stages()]
    assert kube == ["kube-up", "kube", "kube-down"]
    kept = choose(plan, quick=False, only=(), keep=True, kube=True)
    assert choose(plan, quick=False, only=(), keep=True).on_kube == ()
    assert kept.down is None
    assert [stage.name for stage in kept.on_kube] == ["kube-up", "kube"]
    with pytest.raises(InputError, match="choose among lint"):
        choose(plan, quick=False, only=("nonsense",), keep=False)


def test_slow_tests_run_only_with_all() -> None:
    quick = next(stage for stage in full_plan("x", every=False).stages() if stage.name == "unit")
    every = next(stage for stage in full_plan("x", every=True).stages() if stage.name == "unit")
    assert "not slow" in quick.argv
    assert "not slow" not in every.argv
