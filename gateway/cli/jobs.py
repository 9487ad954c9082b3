"""``sluice jobs``, ``job``, ``cancel`` and ``tail``: look at jobs and end them."""

from __future__ import annotations

import sys
import time
from datetime import UTC, datetime
from typing import Annotated, Final

import typer
from rich.console import Console

from bridge.errors import Denied, NotFound, SluiceError
from gateway.cli.answers import Job, Log
from gateway.cli.client import Gateway
from gateway.cli.session import AsOption, JsonOption, StackOption, open_session, print_json
from gateway.cli.tables import job_facts, jobs_table, together

POLL_S: Final = 1.0
"""Between two looks at a job or a log; the gateway's own picture is 1 to 5 s old."""

NONE_AT_ALL: Final = "no jobs; ./sluice submit SCRIPT or sbatch on the login node makes one"
NONE_SUCH: Final = "no such jobs; ./sluice jobs without --tenant, --user and --state lists all"

CHUNK: Final = 1024 * 1024

JobArgument = Annotated[str, typer.Argument(metavar="JOB", help="17, 17_3 (array task) or job_...")]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command("jobs")(jobs)
    app.command("job")(job)
    app.command("cancel")(cancel)
    app.command("tail")(tail)


def jobs(
    *,
    tenant: Annotated[str | None, typer.Option("--tenant", help="Only jobs of this tenant.")] = None,
    user: Annotated[str | None, typer.Option("--user", help="Only jobs of this user.")] = None,
    state: Annotated[
        str | None, typer.Option("--state", help="Only jobs in this state, e.g. RUNNING.")
    ] = None,
    limit: Annotated[int, typer.Option("--limit", min=1, help="At most so many, newest first.")] = 30,
    as_user: AsOption = None,
    stack: StackOption = "sluice",
    as_json: JsonOption = False,
) -> None:
    """List jobs of all doors, newest first."""
    query = {"tenant": tenant, "user": user, "state": state.upper() if state else None}
    with Gateway(open_session(stack, as_user)) as gateway:
        found = list(
            gateway.jobs({name: value for name, value in query.items() if value is not None}, limit=limit)
        )
    if as_json:
        print_json([one.raw for one in found])
        return
    console = Console()
    if not found:
        narrowed = any(value is not None for value in query.values())
        console.print(NONE_SUCH if narrowed else NONE_AT_ALL)
        return
    console.print(jobs_table(together(found), now=datetime.now(UTC), width=console.width))
    if len(found) == limit:
        Console(stderr=True).print(f"[dim]the newest {limit}; --limit shows more[/dim]")


def job(
    job_id: JobArgument,
    *,
    as_user: AsOption = None,
    stack: StackOption = "sluice",
    as_json: JsonOption = False,
) -> None:
    """Show one job."""
    with Gateway(open_session(stack, as_user)) as gateway:
        found = gateway.job(job_id)
    if as_json:
        print_json(found.raw)
    else:
        show(found)


def cancel(
    job_ids: Annotated[list[str], typer.Argument(metavar="JOB", help="Jobs or array tasks.")],
    *,
    as_user: AsOption = None,
    stack: StackOption = "sluice",
    as_json: JsonOption = False,
) -> None:
    """Cancel jobs; one that can't be cancelled keeps none of the others from it."""
    ended: list[Job] = []
    wrong: list[SluiceError] = []
    with Gateway(open_session(stack, as_user)) as gateway:
        for job_id in job_ids:
            try:
                ended.append(gateway.cancel(job_id))
            except (NotFound, Denied) as error:
                wrong.append(error)
    if as_json and not wrong:
        print_json([one.raw for one in ended])
    words = Console(stderr=as_json)
    for one in ended if wrong or not as_json else ():
        words.print(f"{one.number} {'has ended: ' + one.state if one.ended else 'is being cancelled'}")
    for other in wrong[1:]:
        Console(stderr=True).print(f"sluice: {other.message}", markup=False, highlight=False, soft_wrap=True)
    if wrong:
        raise wrong[0]


def tail(
    job_id: JobArgument,
    *,
    follow: Annotated[bool, typer.Option("-f", "--follow", help="Go on until the job ends.")] = False,
    errors: Annotated[bool, typer.Option("--stderr", help="The error output instead.")] = False,
    lines: Annotated[
        int, typer.Option("-n", "--lines", min=0, help="Begin so many lines before the end.")
    ] = 10,
    as_user: AsOption = None,
    stack: StackOption = "sluice",
) -> None:
    """Print the end of a job's output, byte for byte."""
    stream = "stderr" if errors else "stdout"
    with Gateway(open_session(stack, as_user)) as gateway:
        if not follow:
            piece = gateway.log(job_id, stream, query={"tail": lines})
            _write(piece)
            _warn(piece.warning)
            return
        _follow(gateway, job_id, stream, lines)


def _follow(gateway: Gateway, job_id: str, stream: str, lines: int) -> None:
    """Print what is added until the job has ended; the last look comes after the end was seen."""
    offset, warning = -1, ""
    while True:
        ended = gateway.job(job_id).ended
        try:
            offset, warning = _print_from(gateway, job_id, stream, offset=offset, lines=lines)
        except NotFound:  # nothing was written yet
            if ended:
                raise
        if ended:
            _warn(warning)
            return
        time.sleep(POLL_S)


def _print_from(gateway: Gateway, job_id: str, stream: str, *, offset: int, lines: int) -> tuple[int, str]:
    """Print what lies behind `offset` (-1: the last `lines` lines); returns the new offset, and a warning."""
    if offset < 0:
        piece = gateway.log(job_id, stream, query={"tail": lines})
        _write(piece)
        return piece.offset + len(piece.data), piece.warning
    while True:
        piece = gateway.log(job_id, stream, query={"offset": offset, "limit": CHUNK})
        if piece.size < offset:  # truncated, or a requeued run began the file again
            offset = 0
            continue
        _write(piece)
        offset += len(piece.data)
        if not piece.data or offset >= piece.size:
            return offset, piece.warning


def wait_until_ended(gateway: Gateway, awaited: Job, *, quiet: bool) -> Job:
    """Look at the job every second until it has ended; says its state on the way unless `quiet`."""
    console = Console(stderr=True, quiet=quiet)
    current = awaited
    with console.status(f"job {current.number} {current.state}") as status:
        while not current.ended:
            time.sleep(POLL_S)
            current = gateway.job(awaited.id)
            status.update(f"job {current.number} {current.state} {current.reason}")
    return current


def show(found: Job) -> None:
    """Print one job's facts."""
    Console().print(job_facts(found, now=datetime.now(UTC)))


def _warn(warning: str) -> None:
    if warning:
        sys.stderr.write(f"sluice: {warning}\n")


def _write(piece: Log) -> None:
    sys.stdout.buffer.write(piece.data)
    sys.stdout.buffer.flush()
