"""``sluice submit``: a batch script by HTTP, as `sbatch` would take it."""

from __future__ import annotations

import sys
import uuid
from pathlib import Path
from typing import Annotated, Final

import typer
from rich.console import Console

from bridge.errors import InputError
from gateway.cli import exits
from gateway.cli.answers import Job
from gateway.cli.client import Gateway
from gateway.cli.jobs import show, wait_until_ended
from gateway.cli.preview import show_verdict
from gateway.cli.session import AsOption, JsonOption, StackOption, open_session, print_json

OWN_OPTIONS: Final = ("--tenant", "--class", "--work-dir", "--idempotency-key", "--as", "--stack", "--json")
"""Options of ``sluice submit`` that sbatch doesn't have: they stand before the script."""

MAX_SCRIPT_BYTES = 4 * 1024 * 1024
"""Slurm's own default limit (max_script_size)."""


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(
        "submit",
        context_settings={"allow_interspersed_args": False, "ignore_unknown_options": False},
    )(submit)


def submit(
    script: Annotated[str, typer.Argument(metavar="SCRIPT", help="A batch script; - reads standard input.")],
    arguments: Annotated[
        list[str] | None,
        typer.Argument(metavar="[SBATCH OPTIONS] [-- SCRIPT ARGUMENTS]", help="As on sbatch's command line."),
    ] = None,
    *,
    tenant: Annotated[str | None, typer.Option("--tenant", help="Tenant that pays for the job.")] = None,
    job_class: Annotated[
        str | None, typer.Option("--class", help="production, training, development or batch.")
    ] = None,
    work_dir: Annotated[
        str | None, typer.Option("--work-dir", help="Folder on the cluster; the user's home when left out.")
    ] = None,
    key: Annotated[
        str | None,
        typer.Option("--idempotency-key", help="The same key and script again give the same job."),
    ] = None,
    test_only: Annotated[
        bool, typer.Option("--test-only", help="Say when and where it would start; submit nothing.")
    ] = False,
    wait: Annotated[bool, typer.Option("--wait", help="Wait for the end; exit 1 unless COMPLETED.")] = False,
    as_user: AsOption = None,
    stack: StackOption = "sluice",
    as_json: JsonOption = False,
) -> None:
    """Submit a batch script: sluice submit job.sh --gres=gpu:h100:2 --time=5."""
    options, script_arguments = _split(arguments or [])
    _refuse_own(options)
    # sbatch's own spellings of the same wishes
    wait = wait or bool({"--wait", "-W"} & set(options))
    test_only = test_only or "--test-only" in options
    text = read_script(script)
    file_name = None if script == "-" else Path(script).name
    said = {"tenant": tenant, "class": job_class, "work_dir": work_dir, "file_name": file_name}
    request = {name: value for name, value in said.items() if value is not None}
    with Gateway(open_session(stack, as_user)) as gateway:
        key = key or uuid.uuid4().hex
        query = {"arg": options, "script_arg": script_arguments, **request}
        if test_only:
            show_verdict(gateway.look_at(text, by="jobs:test", query=query), as_json=as_json)
            return
        job = gateway.submit_script(text, query=query, idempotency_key=key)
        if wait:
            job = wait_until_ended(gateway, job, quiet=as_json)
    _report(job, as_json=as_json, waited=wait)


def _report(job: Job, *, as_json: bool, waited: bool) -> None:
    if as_json:
        print_json(job.raw)
    elif waited:
        show(job)
    else:
        Console().print(f"Submitted batch job {job.number}  ({job.id})", highlight=False)
        for message in job.messages:
            Console(stderr=True).print(message, highlight=False, markup=False)
    if waited and job.state != "COMPLETED":
        raise typer.Exit(exits.FAILED)


def read_script(script: str) -> bytes:
    """Return a script's bytes; ``-`` is standard input."""
    if script == "-":
        return sys.stdin.buffer.read(MAX_SCRIPT_BYTES + 1)
    try:
        return Path(script).read_bytes()
    except OSError as error:
        raise InputError(
            f"{script} can't be read ({error.strerror}); name a batch script, or - for standard input"
        ) from error


def _refuse_own(options: list[str]) -> None:
    """Refuse our options behind the script: sbatch would call them unrecognized, which helps nobody."""
    for option in options:
        name = option.partition("=")[0]
        if name in OWN_OPTIONS:
            raise InputError(
                f"{name} is an option of sluice, and what follows the script is for sbatch;"
                f" write {name} before the script"
            )


def _split(arguments: list[str]) -> tuple[list[str], list[str]]:
    """Split what follows the script at ``--``: sbatch's options, the script's own arguments."""
    if "--" not in arguments:
        return arguments, []
    border = arguments.index("--")
    return arguments[:border], arguments[border + 1 :]
