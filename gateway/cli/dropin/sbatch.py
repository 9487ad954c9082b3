"""``sbatch`` over HTTP: the same arguments, variables, output and exit status as Slurm's.

The script is read here, by the parser that the gateway uses too (`bridge.sbatch`), for what the client has
to do (``--wait``, ``--parsable``) and for sbatch's own refusals; the gateway reads it again, and its word
counts. The job gets this process's environment, as from sbatch, without what says who and where one is on
this host: that is the cluster's (`_OF_THIS_HOST`).
"""

from __future__ import annotations

import os
import socket
import sys
import uuid
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from bridge.errors import InputError, ScriptError, SluiceError, SlurmRefused, Unavailable
from bridge.sbatch import ParsedScript, SiteOption, SubmitContext, parse
from bridge.sbatch.command_line import CommandLine, read_command_line
from bridge.sbatch.context import ClientOptions
from bridge.sbatch.getopt import Argument
from gateway.cli.client import Gateway
from gateway.cli.dropin import command, request, wait

_ASKS_ABOUT_IT: Final = frozenset({"help", "usage", "version"})
AWAY: Final = "Unable to contact slurm controller (connect failure)"
"""Slurm's words, for programs that look for them before they try again."""
_LARGEST: Final = 4 * 1024 * 1024
"""Slurm's own default (max_script_size)."""


def run(gateway: Gateway, _name: str, arguments: Sequence[str]) -> int:
    """Submit; returns sbatch's exit status."""
    try:
        return _run(gateway, tuple(arguments))
    except ScriptError as error:
        words = error.details.get("slurm_words")
        sys.stderr.write(f"{words or 'sbatch: error: ' + error.message}\n")
        return int(str(error.details.get("exit_code") or 1)) or 1
    except SlurmRefused as error:
        return _failed(error.message)
    except InputError as error:
        sys.stderr.write(f"sbatch: error: {error.message}\n")
        return 1
    except Unavailable as error:
        return _failed(f"{AWAY}\nsbatch: error: {error.message}")
    except SluiceError as error:
        return _failed(error.message)


def _run(gateway: Gateway, arguments: tuple[str, ...]) -> int:
    options: tuple[SiteOption, ...] = ()
    try:
        line = read_command_line(arguments)
    except ScriptError:  # maybe an option of the site's
        options = _site_options(gateway)
        line = read_command_line(arguments, options)
    if asked := _ASKS_ABOUT_IT & line.said:
        return command.run(gateway, "sbatch", [f"--{min(asked)}"])
    script = b"" if line.wraps else _script(line)
    files = _Files()
    try:
        parsed = _parse(script, line, options, files)
    except ScriptError:
        if options or not (options := _site_options(gateway)):
            raise
        parsed = _parse(script, line, options, files)
    client = parsed.client
    body = request.body(script, line, limits=request.limits(), folder=_folder(), files=files.here())
    if client.test_only:
        return _tell(gateway.test_job(body))
    return _submit(gateway, body, client)


def _submit(gateway: Gateway, body: dict[str, Any], client: ClientOptions) -> int:
    job = gateway.submit_job(body, idempotency_key=uuid.uuid4().hex)
    for message in job.messages:
        sys.stderr.write(f"{message if message.startswith('sbatch: ') else 'sbatch: ' + message}\n")
    number = job.number.partition("_")[0]
    if client.parsable:
        sys.stdout.write(f"{number}\n")
    elif not client.quiet:
        sys.stdout.write(f"Submitted batch job {number}\n")
    sys.stdout.flush()
    return wait.exit_status(gateway, job) if client.wait else 0


def _parse(script: bytes, line: CommandLine, options: tuple[SiteOption, ...], files: _Files) -> ParsedScript:
    context = SubmitContext(
        user="",
        home=os.environ.get("HOME", "/"),
        work_dir=_folder(),
        host=socket.gethostname(),
        now=datetime.now(UTC).astimezone(),
        environment=dict(os.environ),
        file_name=line.script_name,
        site_options=options,
        files=files,
    )
    return parse(script, arguments=line.options, argv=line.argv, variables=os.environ, context=context)


def _script(line: CommandLine) -> bytes:
    if line.script is None:
        return sys.stdin.buffer.read(_LARGEST + 1)
    try:
        return Path(line.script).read_bytes()
    except OSError:
        raise InputError(f"Unable to open file {line.script}") from None


def _folder() -> str:
    """Return the submit directory as the shell names it, as sbatch does (a link stays a link)."""
    real = Path.cwd()
    named = Path(os.environ.get("PWD", ""))
    return str(named if named.is_absolute() and named.exists() and named.samefile(real) else real)


class _Files(dict[str, bytes | None]):
    """Files that options name, read here when they are asked for."""

    def __contains__(self, path: object) -> bool:
        return True

    def __missing__(self, path: str) -> bytes | None:
        try:
            self[path] = Path(path).read_bytes()
        except OSError:
            self[path] = None
        return self[path]

    def here(self) -> dict[str, bytes]:
        """Return those that were read."""
        return {path: found for path, found in self.items() if found is not None}


def _site_options(gateway: Gateway) -> tuple[SiteOption, ...]:
    return tuple(
        SiteOption(each["plugin"], each["option"], Argument(each["argument"]), each["about"])
        for each in gateway.site_options()
    )


def _tell(found: dict[str, object]) -> int:
    """Say what ``--test-only`` found, as sbatch does: on standard error."""
    return wait.say_forecast(found)


def _failed(words: str) -> int:
    sys.stderr.write(f"sbatch: error: Batch job submission failed: {words}\n")
    return 1
