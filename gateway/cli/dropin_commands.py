"""``sluice sbatch``, ``squeue``, ...: Slurm's commands over HTTP; ``sluice link`` makes programs of them."""

from __future__ import annotations

import shlex
import stat
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Final

import typer

from bridge.errors import Conflict, InputError
from gateway.cli.dropin.run import NAMES, main
from gateway.cli.session import CHECKOUT

_MARK: Final = "# made by sluice link"
_LAUNCHER: Final = """#!/bin/sh
{mark}
if [ -n "${{SLURM_JOB_ID:-}}" ]; then
    IFS=:
    for folder in $PATH; do
        [ -x "$folder/{name}" ] && ! grep -q '^{mark}$' "$folder/{name}" && exec "$folder/{name}" "$@"
    done
fi
{run}
"""
_ABOUT: Final = {
    "sbatch": "Submit a batch script, as Slurm's sbatch does.",
    "squeue": "List jobs, as Slurm's squeue does.",
    "sacct": "Show accounting, as Slurm's sacct does.",
    "scancel": "Cancel or signal jobs, as Slurm's scancel does.",
    "sinfo": "Show partitions and nodes, as Slurm's sinfo does.",
    "scontrol": "Show, hold, release, requeue or update jobs, as Slurm's scontrol does.",
}
"""What ``sluice --help`` lists; the others are there for programs."""


def register(app: typer.Typer) -> None:
    """Add the commands; all words behind a name belong to it, ``--help`` too."""
    for name in NAMES:
        settings = {
            "ignore_unknown_options": True,
            "allow_interspersed_args": False,
            "help_option_names": [],
        }
        app.command(name, help=_ABOUT.get(name), hidden=name not in _ABOUT, context_settings=settings)(
            _command(name)
        )
    app.command("link")(link)


def _command(name: str) -> Callable[..., None]:
    def run(words: Annotated[list[str] | None, typer.Argument(metavar="WORDS")] = None) -> None:
        sys.exit(main(name, words or []))

    return run


def link(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="Where they are made; put it on PATH.")],
    *,
    stack: Annotated[str | None, typer.Option("--stack", help="Local stack that they speak to.")] = None,
    as_user: Annotated[str | None, typer.Option("--as", metavar="USER", help="As which user of it.")] = None,
) -> None:
    """Make sbatch, squeue, sacct, scancel, sinfo and scontrol that work without Slurm, for programs."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name in NAMES:
            _write(folder / name, _launcher(name, stack=stack, user=as_user))
    except OSError as error:
        raise InputError(f"{folder}: {error.strerror}; name a folder that you may write") from error
    shown = shlex.quote(str(folder.absolute()))
    sys.stdout.write(f"{', '.join(NAMES)} are in {folder}; use them by: export PATH={shown}:$PATH\n")


def _write(path: Path, text: str) -> None:
    if path.is_symlink() or (path.exists() and _MARK not in path.read_text(errors="replace")):
        raise Conflict(f"{path} is there and was not made by sluice link; name another folder")
    path.write_text(text, encoding="utf-8")
    path.chmod(path.stat().st_mode | stat.S_IXUSR | stat.S_IXGRP | stat.S_IXOTH)


def _launcher(name: str, *, stack: str | None, user: str | None) -> str:
    """Return a shell script that runs a command by this Python, whatever the caller's PYTHONPATH is.

    Inside a job it gives way to Slurm's own, when that is further down in PATH: the folder may be shared
    with the nodes, and PATH goes with a job.
    """
    call = f"main({name!r}, sys.argv[1:], stack={stack!r}, user={user!r})"
    code = (
        f"import sys; sys.path.insert(0, {str(CHECKOUT)!r});"
        f" from gateway.cli.dropin.run import main; sys.exit({call})"
    )
    run = f'exec {shlex.quote(sys.executable)} -I -c {shlex.quote(code)} "$@"'
    return _LAUNCHER.format(mark=_MARK, name=name, run=run)
