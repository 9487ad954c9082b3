"""The command ``sluice``: registers all commands and turns errors into one sentence and an exit code.

What flows in: the command line. What flows out: standard output for results, standard error for words,
an exit code of `gateway.cli.exits`. What doesn't belong here: what a command does.
"""

from __future__ import annotations

import json
import os
import re
import sys
import traceback
from datetime import UTC, datetime
from pathlib import Path
from types import ModuleType
from typing import Annotated

import typer

from bridge.errors import SluiceError, StepFailed
from bridge.version import VERSION
from gateway.cli import (
    audit,
    bench,
    down,
    dropin_commands,
    env,
    exits,
    imports,
    jobs,
    keys,
    lint,
    login,
    logs,
    prices,
    report,
    status,
    submit,
    tenants,
    test,
    up,
    whoami,
)
from gateway.cli.session import CHECKOUT

COMMANDS: tuple[ModuleType, ...] = (
    up,
    down,
    status,
    logs,
    login,
    submit,
    lint,
    jobs,
    dropin_commands,
    tenants,
    imports,
    report,
    whoami,
    keys,
    audit,
    prices,
    env,
    test,
    bench,
)
"""Modules of commands, in the order in which ``--help`` lists them; each has ``register(app)``."""

app = typer.Typer(
    name="sluice",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(*, asked: bool) -> None:
    if asked:
        sys.stdout.write(f"sluice {VERSION}\n")
        raise typer.Exit


@app.callback()
def sluice(
    *,
    version: Annotated[
        bool,
        typer.Option(
            "--version",
            callback=lambda asked: _version(asked=asked),
            is_eager=True,
            help="Say which Sluice this is.",
        ),
    ] = False,
) -> None:
    """One GPU pool, three doors: sbatch, HTTP and Kubernetes, all scheduled by Slurm."""
    del version


for _module in COMMANDS:
    _module.register(app)


def main() -> None:
    """Run the command line and exit."""
    try:
        app(prog_name="sluice")
    except SluiceError as error:
        _say(error, as_json="--json" in sys.argv)
        sys.exit(exits.code_of(error))
    except Exception as error:  # noqa: BLE001 - the last one who can turn it into a sentence
        sys.stderr.write(f"sluice: a fault of Sluice itself ({error!r}); the details are in {_keep(error)}\n")
        sys.exit(exits.INTERNAL)


def _say(error: SluiceError, *, as_json: bool) -> None:
    if as_json:
        problem = {"code": error.code, "message": error.message, "details": error.details}
        sys.stdout.write(json.dumps({"error": problem}, default=str, ensure_ascii=False) + "\n")
        return
    sys.stderr.write(f"sluice: {error.message}\n")
    if isinstance(error, StepFailed):
        if error.command:
            sys.stderr.write(f"  the command: {error.command}\n")
        for line in error.tail.splitlines():
            sys.stderr.write(f"  | {line}\n")
        if error.remedy:
            sys.stderr.write(f"  what to do: {error.remedy}\n")
        return
    found = error.details.get("errors")
    if isinstance(found, list) and len(found) > 1:  # the message has said the only one
        for entry in found:
            sys.stderr.write(f"  {_entry(entry)}\n")
    words = _plain(error.details.get("slurm_words"))
    if words and words not in _plain(error.message):
        sys.stderr.write(f"  Slurm says: {words}\n")


def _plain(words: object) -> str:
    """Slurm's lines as one, without the names of its programs, as a message has them."""
    lines = [re.sub(r"^sbatch: (?:error: )?", "", line) for line in str(words or "").splitlines()]
    return " ".join(" ".join(lines).split())


def _entry(entry: object) -> str:
    """One error of a list: file, path or line in front of its sentence."""
    if not isinstance(entry, dict):
        return str(entry)
    where = [str(entry[key]) for key in ("file", "path", "line", "column", "option") if entry.get(key)]
    return ": ".join([*where, str(entry.get("message", ""))])


def _keep(error: BaseException) -> str:
    """Keep a traceback where the user can find it; return the file's path."""
    state = CHECKOUT / ".sluice"
    if not os.access(CHECKOUT, os.W_OK):  # installed for everybody, as on a login node
        state = Path.home() / ".sluice"
    state.mkdir(mode=0o700, exist_ok=True)
    path = state / "fault.log"
    with path.open("a", encoding="utf-8") as log:
        log.write(f"--- {datetime.now(UTC).isoformat()} {' '.join(sys.argv[1:2])}\n")
        log.writelines(traceback.format_exception(error))
    return str(path)


if __name__ == "__main__":
    main()
