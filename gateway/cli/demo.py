"""The demo at the end of ``sluice up``: real scripts, both doors, three tenants, one report.

What flows in: a running stack with ``examples/tenants``. What flows out: a table of jobs and the usage
per tenant on the console; `StepFailed` when a job ends otherwise than its script says. How a script
goes through a door is `gateway.cli.doors`.
"""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from rich.console import Console
from rich.live import Live
from rich.table import Table
from rich.text import Text

from bridge.errors import NotFound, StepFailed, Unavailable
from gateway.cli.answers import Job
from gateway.cli.client import Gateway
from gateway.cli.doors import Door, Refusal, by_http, by_sbatch
from gateway.cli.jobs import POLL_S
from gateway.cli.report_tables import usage_table
from gateway.cli.session import CHECKOUT, Session, stack_keys, stack_url, state_dir
from gateway.cli.tables import STATE_STYLES, fitted_table, reason, run_time, state_text

JOBS_DIR: Final = CHECKOUT / "examples" / "jobs"
DEADLINE_S: Final = 300.0
"""For all jobs to end; they take some ten seconds on an idle machine."""


@dataclass(frozen=True, slots=True)
class Step:
    """One submission: which script goes through which door as whom, and how it must end."""

    script: str
    door: Door
    user: str
    tenant: str
    expected: str = "COMPLETED"
    """``COMPLETED``, ``FAILED 7``, or ``REFUSED``."""
    tasks: int = 0
    """Tasks of an array; 0 for a plain job."""
    after: str = ""
    """Script that must have ended well before this one starts (``--dependency=afterok``)."""


PROGRAM: Final = (
    Step("kmer-array.sh", "http", "chen", "genomics", tasks=4),
    Step("stack-frames.sh", "sbatch", "ada", "astro"),
    Step("chain-1-simulate.sh", "sbatch", "emil", "robotics"),
    Step("chain-2-train.sh", "http", "emil", "robotics", after="chain-1-simulate.sh"),
    Step("chain-3-evaluate.sh", "sbatch", "emil", "robotics", after="chain-2-train.sh"),
    Step("missing-input.sh", "http", "dina", "genomics", expected="FAILED 7"),
    Step("too-many-gpus.sh", "http", "chen", "genomics", expected="REFUSED"),
    Step("too-many-gpus.sh", "sbatch", "dina", "genomics", expected="REFUSED"),
)


@dataclass(slots=True)
class Line:
    """One line of the demo's table: a job or an array task, or a refusal, as last seen."""

    step: Step
    job_id: str = ""
    """What the API is asked for: Slurm's number, ``17_3`` for a task."""
    job: Job | None = None
    refusal: Refusal | None = None

    @property
    def ended(self) -> bool:
        """Whether nothing more will happen to it."""
        return self.refusal is not None or (self.job is not None and self.job.ended)

    @property
    def outcome(self) -> str:
        """In the words of `Step.expected`."""
        if self.refusal is not None:
            return "REFUSED"
        if self.job is None:
            return "not seen"
        return self.job.state if self.job.exit in ("", "0") else f"{self.job.state} {self.job.exit}"


def run(stack: str, console: Console) -> None:
    """Submit the example jobs by both doors, wait until all ended, show them and the usage.

    Raises
    ------
    StepFailed
        A job ended otherwise than expected, or not within `DEADLINE_S`; its output's end is shown.
    """
    with contextlib.ExitStack() as opened:
        gateways = _gateways(stack, opened)
        console.print(f"[bold]Demo:[/bold] {len(PROGRAM)} scripts of examples/jobs through both doors")
        begun = datetime.now(UTC)
        lines = submit_all(stack, gateways)
        watch(lines, gateways, console)
        wrong = [line for line in lines if line.outcome != line.step.expected]
        if wrong:
            raise _failure(wrong[0], gateways)
        console.print()
        console.print(_refusals(lines))
        show_usage(lines, gateways, console, since=begun)
    show_addresses(stack, console)


def _gateways(stack: str, opened: contextlib.ExitStack) -> dict[str, Gateway]:
    keys = stack_keys(stack)
    missing = sorted({step.user for step in PROGRAM} - set(keys))
    if missing:
        raise StepFailed(
            f"the demo has no API key of {', '.join(missing)}",
            remedy="apply examples/tenants again: ./sluice up",
        )
    url = stack_url(stack)
    return {
        user: opened.enter_context(Gateway(Session(url, keys[user], user)))
        for user in sorted({step.user for step in PROGRAM})
    }


def submit_all(stack: str, gateways: dict[str, Gateway]) -> list[Line]:
    """Submit the whole program, in order; returns one line a job, task or refusal."""
    numbers: dict[str, str] = {}
    lines: list[Line] = []
    for step in PROGRAM:
        script = JOBS_DIR / step.script
        options = [f"--dependency=afterok:{numbers[step.after]}"] if step.after else []
        if step.door == "http":
            answer = by_http(gateways[step.user], script, options)
        else:
            answer = by_sbatch(stack, step.user, script, options)
        if isinstance(answer, Refusal):
            lines.append(Line(step, refusal=answer))
            continue
        numbers[step.script] = answer
        tasks = [f"{answer}_{task}" for task in range(step.tasks)] or [answer]
        lines += [Line(step, job_id=job_id) for job_id in tasks]
    return lines


def watch(lines: Sequence[Line], gateways: dict[str, Gateway], console: Console) -> None:
    """Show the table, renewed each second, until all lines have ended."""
    end = time.monotonic() + DEADLINE_S
    with Live(console=console, auto_refresh=False, transient=False) as live:
        while True:
            for line in lines:
                if not line.ended:
                    line.job = _look(gateways[line.step.user], line.job_id) or line.job
            live.update(demo_table(lines, now=datetime.now(UTC), width=console.width), refresh=True)
            if all(line.ended for line in lines):
                return
            if time.monotonic() > end:
                break
            time.sleep(POLL_S)
    late = [line.job_id for line in lines if not line.ended]
    raise StepFailed(
        f"after {DEADLINE_S:.0f} s these jobs of the demo have not ended: {', '.join(late)}",
        command="squeue",
        remedy="./sluice status shows what is down; ./sluice logs slurmctld what Slurm says",
    )


def _look(gateway: Gateway, job_id: str) -> Job | None:
    """Return the job; None while the gateway hasn't seen it (sbatch's jobs come with its next look)."""
    try:
        return gateway.job(job_id)
    except (NotFound, Unavailable):
        return None


def demo_table(lines: Sequence[Line], *, now: datetime, width: int) -> Table:
    """Return the demo's one table."""
    titles = ("Door", "Tenant", "User", "Job", "Name", "State", "Exit", "GPUs", "Nodes", "Time")
    rows = [[line.step.door, line.step.tenant, line.step.user, *_job_cells(line, now)] for line in lines]
    return fitted_table(titles, rows, width=width)


def _job_cells(line: Line, now: datetime) -> list[str | Text]:
    name = line.step.script.removesuffix(".sh")
    if line.refusal is not None:
        return ["-", name, Text("REFUSED", style=STATE_STYLES["REFUSED"]), "", "", "", ""]
    if line.job is None:
        return [line.job_id, name, Text("submitted", style="dim"), "", "", "", ""]
    job = line.job
    where = job.nodes or (reason(job) if not job.ended else "")
    return [job.number, name, state_text(job), job.exit, str(job.gpus), where, run_time(job, now=now)]


def _refusals(lines: Sequence[Line]) -> Text:
    words = Text()
    for line in lines:
        if line.refusal is not None:
            words.append(f"refused at the {line.step.door} door: ", style="bold")
            words.append(f"{line.refusal.sentence}\n")
    return words


def _failure(line: Line, gateways: dict[str, Gateway]) -> StepFailed:
    step = line.step
    tail = line.refusal.sentence if line.refusal else ""
    if line.job is not None:
        with contextlib.suppress(NotFound, Unavailable):
            log = gateways[step.user].log(line.job_id, "stdout", query={"tail": 20})
            tail = log.data.decode(errors="replace")
    return StepFailed(
        f"the demo's {step.script} by {step.door} as {step.user} ended as {line.outcome}, "
        f"expected {step.expected}",
        command=f"examples/jobs/{step.script}",
        tail=tail,
        remedy="./sluice status shows what is down; ./sluice logs slurmctld what Slurm says",
    )


def show_usage(
    lines: Sequence[Line], gateways: dict[str, Gateway], console: Console, *, since: datetime
) -> None:
    """Print the usage per tenant once the ledger has all that the demo's jobs used."""
    ends = [datetime.fromisoformat(line.job.ended_at) for line in lines if line.job and line.job.ended_at]
    newest = max(ends, default=since)
    with console.status("waiting for the ledger to take in what slurmdbd has"):
        report = _wait(lambda: _usage(gateways, newest=newest), "the ledger took in the demo's jobs")
    console.print(usage_table(report, width=console.width, title="GPU usage per tenant, this month"))


def _usage(gateways: dict[str, Gateway], *, newest: datetime) -> dict[str, Any] | None:
    """Return the tenants' rows, each seen by its own manager; None while any is older than `newest`."""
    managers = {"astro": "ada", "genomics": "chen", "robotics": "emil"}
    rows: list[dict[str, Any]] = []
    for tenant, manager in managers.items():
        report = gateways[manager].report({"by": "tenant"})
        as_of = report.get("as_of")
        if not as_of or datetime.fromisoformat(as_of) < newest + timedelta(seconds=1):
            return None
        rows += [row for row in report["rows"] if row["tenant"] == tenant]
    keys = [key for key in (rows[0] if rows else {}) if key != "tenant"]
    return {"rows": rows, "total": {key: sum(int(row[key]) for row in rows) for key in keys}}


def _wait(ask: Callable[[], dict[str, Any] | None], what: str) -> dict[str, Any]:
    end = time.monotonic() + DEADLINE_S
    while (answer := ask()) is None:
        if time.monotonic() > end:
            raise StepFailed(
                f"after {DEADLINE_S:.0f} s still not so: {what}",
                remedy="./sluice logs gateway and ./sluice logs slurmdbd show why",
            )
        time.sleep(POLL_S)
    return answer


def show_addresses(stack: str, console: Console) -> None:
    """Print where everything is that a newcomer would look for."""
    url = stack_url(stack)
    known = json.loads((state_dir(stack) / "stack.json").read_text())
    suffix = "" if stack == "sluice" else f" --stack {stack}"
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_row("HTTP API", url)
    table.add_row("API page", f"{url}/docs")
    table.add_row("Metrics", f"{url}/metrics")
    table.add_row(
        "Login node", f"./sluice login ada{suffix}   (or {', '.join(list(stack_keys(stack))[1:4])} ...)"
    )
    table.add_row("API keys", f"{state_dir(stack) / 'keys.json'}")
    table.add_row(
        "Logs", f"./sluice logs NAME{suffix}   ({', '.join(known.get('parts', [])) or 'see ./sluice status'})"
    )
    console.print(table)
