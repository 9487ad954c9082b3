"""``sluice test``: what CI runs, in its order, with a summary at the end.

Lint, unit and property tests run while the test stack comes up beside them; then contract, integration,
faults and e2e run on it; last the tests on a Kubernetes cluster. The first stage that fails ends the run;
the summary is printed in any case.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Final

import typer
from rich.console import Console

from bridge.cluster.ages import Pace
from bridge.errors import InputError
from bridge.wellknown import LABEL_STACK
from gateway.cli import exits
from gateway.cli.session import CHECKOUT
from gateway.cli.stages import Outcome, Running, Stage, closing_lines, container_tails, tail
from gateway.cli.tables import plain_table

TEST_STACK: Final = "sluice-test"
FAILED_LINES: Final = 60
CONTAINER_LINES: Final = 15
TALKATIVE: Final = ("gateway", "bridge", "agent", "slurmctld", "kube-apiserver", "gpu1")
"""Parts whose last lines are shown after a failure; all are saved."""

KUBE_TESTS: Final = "tests/integration/kube"
KUBE_APART: Final = f"--ignore={KUBE_TESTS}"
DOWN_APART: Final = ("--ignore=tests/e2e/down", "--ignore=tests/e2e/kube_down")

_PYTHON: Final = (sys.executable, "-m")
CHECKS: Final = (
    Stage("lint", (*_PYTHON, "ruff", "check", "--output-format=concise", ".")),
    Stage("format", (*_PYTHON, "ruff", "format", "--check", ".")),
    Stage("types", (*_PYTHON, "mypy")),
    Stage("imports", (str(Path(sys.executable).with_name("lint-imports")),)),
)


@dataclass(frozen=True, slots=True)
class Plan:
    """What to run: `beside` starts first and ends before `on_stack` begins."""

    alone: tuple[Stage, ...]
    beside: Stage | None
    on_stack: tuple[Stage, ...]
    down: Stage | None
    on_kube: tuple[Stage, ...] = ()
    """After all others: two clusters at once are too much for a small machine."""

    def stages(self) -> Iterator[Stage]:
        """All stages, in the order of the summary."""
        yield from self.alone
        if self.beside:
            yield self.beside
        yield from self.on_stack
        if self.down:
            yield self.down
        yield from self.on_kube


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("test")(test)


def test(
    *,
    every: Annotated[bool, typer.Option("--all", help="Also the slow tests: long faults, scale.")] = False,
    quick: Annotated[
        bool, typer.Option("--quick", help="Only what needs no Docker: lint, types, unit, property.")
    ] = False,
    only: Annotated[
        list[str] | None, typer.Option("--only", metavar="STAGE", help="Only this stage; may be repeated.")
    ] = None,
    keep: Annotated[bool, typer.Option("--keep", help="Leave the test stack running.")] = False,
    stack: Annotated[
        str, typer.Option("--stack", envvar="SLUICE_TEST_STACK", help="Name of the test stack.")
    ] = TEST_STACK,
) -> None:
    """Run all tests: lint, types, unit, property; contract, integration and e2e on a stack of their own."""
    named = tuple(only or ())
    plan = choose(full_plan(stack, every=every), quick=quick, only=named, keep=keep, kube=every)
    console = Console(soft_wrap=True)
    logs = CHECKOUT / ".sluice" / "test-logs" / stack
    shutil.rmtree(logs, ignore_errors=True)
    logs.mkdir(parents=True)
    runner = Runner(console, logs, stack, every=every)
    try:
        good = runner.run(plan)
    except KeyboardInterrupt:
        console.print("stopped")
        runner.summary(plan)
        raise typer.Exit(130) from None
    runner.summary(plan)
    if not good:
        raise typer.Exit(exits.FAILED)


def full_plan(stack: str, *, every: bool) -> Plan:
    """Return every stage of a run."""
    launcher = str(CHECKOUT / "sluice")
    marks = () if every else ("-m", "not slow")
    cores = os.cpu_count() or 2

    def suite(name: str, *paths: str, workers: int) -> Stage:
        spread = ("-n", str(workers), "--dist", "loadgroup") if workers else ()
        argv = (*_PYTHON, "pytest", "-q", "--color=no", *marks, *spread, *paths)
        return Stage(name, argv, is_suite=True)

    faults = sorted(
        str(path.relative_to(CHECKOUT)) for path in CHECKOUT.glob("tests/integration/test_faults*.py")
    )
    apart = tuple(f"--ignore={path}" for path in faults)
    return Plan(
        alone=(
            *CHECKS,
            suite("unit", "tests/unit", workers=cores),
            suite("component", "tests/component", workers=cores),
            suite("property", "tests/property", workers=cores),
            suite("chart", "tests/chart", workers=0),
        ),
        beside=Stage("up", (launcher, "up", "--stack", stack, "--demo")),
        on_stack=(
            suite("contract", "tests/contract", workers=min(4, 2 * cores)),
            suite("integration", "tests/integration", *apart, KUBE_APART, workers=min(8, 2 * cores)),
            *((suite("faults", *faults, workers=0),) if faults else ()),
            suite("e2e", "tests/e2e", *DOWN_APART, workers=0),
        ),
        down=suite("down", "tests/e2e/down", workers=0),
        on_kube=kube_stages(
            Stage("kube-up", (launcher, "up", "--kubernetes", "--cluster-only", "--stack", f"{stack}-kube")),
            # One after the other: some kill parts of the cluster.
            suite("kube", KUBE_TESTS, workers=0),
            suite("kube-down", "tests/e2e/kube_down", workers=0),
        ),
    )


def kube_stages(up: Stage, tests: Stage, down: Stage) -> tuple[Stage, ...]:
    """Return the stages on a Kubernetes cluster of their own, or on the one that KUBECONFIG_TEST names."""
    return (tests,) if os.environ.get("KUBECONFIG_TEST") else (up, tests, down)


def choose(plan: Plan, *, quick: bool, only: Sequence[str], keep: bool, kube: bool = False) -> Plan:
    """Leave out what wasn't asked for; a stage on the stack needs the stack up.

    The cluster's stages run when they are named or with `kube`: building its programs takes a new machine
    longer than all other stages together.
    """
    names = [stage.name for stage in plan.stages()]
    unknown = sorted(set(only) - set(names))
    if unknown:
        raise InputError(f"--only {unknown[0]}: no such stage; choose among {', '.join(names)}")
    if quick:
        return Plan(alone=plan.alone, beside=None, on_stack=(), down=None)
    on_kube = tuple(stage for stage in plan.on_kube if not (keep and stage.name == "kube-down"))
    if not only:
        on_kube = on_kube if kube else ()
        return Plan(plan.alone, plan.beside, plan.on_stack, None if keep else plan.down, on_kube)
    alone = tuple(stage for stage in plan.alone if stage.name in only)
    on_stack = tuple(stage for stage in plan.on_stack if stage.name in only)
    up = plan.beside if on_stack or "up" in only else None
    if not any(stage.name in only for stage in on_kube):
        on_kube = ()
    return Plan(alone, up, on_stack, plan.down if "down" in only else None, on_kube)


class Runner:
    """Runs a plan: keeps the outcomes, shows progress, and ends what it started."""

    def __init__(self, console: Console, logs: Path, stack: str, *, every: bool = False) -> None:
        self.console = console
        self.logs = logs
        self.stack = stack
        self.outcomes: dict[str, Outcome] = {}
        self.environment = {
            "SLUICE_STACK": stack,
            "SLUICE_TEST_STACK": stack,
            "SLUICE_TEST_REQUIRED": "1",
            "SLUICE_PACE": Pace.QUICK.value,
            "SLUICE_TEST_ALL": "1" if every else "0",
            "SLUICE_TEST_UP_LOG": str(logs / "up.log"),
            "PYTHONUNBUFFERED": "1",
            # Without bytecode each worker compiles the tests anew: more work than the tests themselves.
            "PYTHONDONTWRITEBYTECODE": "",
            "COLUMNS": "120",
        }

    def run(self, plan: Plan) -> bool:
        """Run the plan; returns whether every stage was good."""
        beside = self._start(plan.beside) if plan.beside else None
        try:
            if not all(self._finish(self._start(stage)) for stage in plan.alone):
                return False
            if beside is not None and not self._finish(beside):
                return False
            if not all(self._finish(self._start(stage)) for stage in plan.on_stack):
                return False
            if plan.down is not None and not self._finish(self._start(plan.down)):
                return False
            return all(self._finish(self._start(stage)) for stage in plan.on_kube)
        finally:
            if beside is not None:
                beside.stop()

    def _start(self, stage: Stage) -> Running:
        return Running(stage, logs=self.logs, cwd=CHECKOUT, environment=self.environment)

    def _finish(self, running: Running) -> bool:
        try:
            outcome = running.wait(self.console)
        finally:
            running.stop()
        self.outcomes[outcome.stage.name] = outcome
        mark = "[green]ok[/green]" if outcome.good else "[red]FAILED[/red]"
        self.console.print(
            f"[bold]{outcome.stage.name}[/bold] {mark} in {outcome.seconds:.0f} s", highlight=False
        )
        if outcome.stage.is_suite and outcome.good:
            self._print(closing_lines(outcome.log))
        if not outcome.good:
            self._show_failure(outcome)
        return outcome.good

    def _show_failure(self, outcome: Outcome) -> None:
        self._print(tail(outcome.log, 64 * 1024)[-FAILED_LINES:])
        if outcome.stage.name in {stage.name for stage in CHECKS} | {"unit", "component", "property"}:
            return
        stack = f"{self.stack}-kube" if outcome.stage.name.startswith("kube") else self.stack
        for saved in container_tails(stack, LABEL_STACK, lines=500, into=self.logs):
            if any(saved.stem.endswith(f"-{part}") for part in TALKATIVE):
                self.console.print(f"[bold]last lines of {saved.stem}[/bold]")
                self._print(tail(saved, 16 * 1024)[-CONTAINER_LINES:])

    def _print(self, lines: Sequence[str]) -> None:
        for line in lines:
            self.console.print(f"  {line}", markup=False, highlight=False)

    def summary(self, plan: Plan) -> None:
        """Print a line a stage: what passed, failed, was skipped or never ran."""
        table = plain_table()
        table.add_column("Stage")
        table.add_column("Result")
        for title in ("Passed", "Failed", "Skipped", "Seconds"):
            table.add_column(title, justify="right")
        for stage in plan.stages():
            outcome = self.outcomes.get(stage.name)
            if outcome is None:
                table.add_row(stage.name, "[dim]not run[/dim]")
                continue
            counts = outcome.counts
            numbers = (counts.passed, counts.failed, counts.skipped) if counts else ("", "", "")
            result = "[green]ok[/green]" if outcome.good else "[red]failed[/red]"
            table.add_row(stage.name, result, *(str(number) for number in numbers), f"{outcome.seconds:.0f}")
        self.console.print()
        self.console.print(table)
        self.console.print(f"logs: {self.logs}", highlight=False)
