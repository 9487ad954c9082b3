"""``/v1/commands``: Slurm's own squeue, sacct, scancel, sinfo, scontrol, for hosts without Slurm.

The slurm-agent runs the real command with the caller's rights in Slurm, so that formats, columns and exit
codes are Slurm's. Which words it takes is `bridge.agent.admission`'s business.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Final, Literal

import anyio.to_thread
import structlog
from fastapi import APIRouter, Request

from bridge.errors import Denied, Unavailable
from gateway.auth import Known
from gateway.compose import Parts
from gateway.principal import Scope
from gateway.routes.recording import record as noted
from gateway.schemas.v1.command import CommandOutput, RunCommand
from gateway.schemas.v1.problem import problems

router = APIRouter(prefix="/v1/commands", tags=["commands"])
_log = structlog.get_logger(__name__)

Name = Literal["squeue", "sacct", "scancel", "sinfo", "scontrol", "sshare", "sprio", "sacctmgr", "sbatch"]
_SHOWING: Final = frozenset({"show", "ping", "version", "help"})
"""Verbs of scontrol that change nothing."""
_FLAGS: Final = frozenset(
    [
        "-a",
        "--all",
        "-d",
        "--details",
        "-F",
        "--future",
        "--hide",
        "--json",
        "--local",
        "-o",
        "--oneliner",
        "-Q",
        "--quiet",
        "-v",
        "--verbose",
        "--yaml",
        "-h",
        "--help",
        "--usage",
        "-V",
        "--version",
    ]
)
"""Options of scontrol without a value of their own: the word after one of them is no value."""


@router.post("/{command}", responses=problems(401, 403, 404, 422, 503))
async def run_command(request: Request, caller: Known, command: Name, asked: RunCommand) -> CommandOutput:
    """Run one of Slurm's commands as the caller's Linux user; `sbatch` only tells about itself (`--help`).

    scancel and scontrol, unless it shows, need a credential that may submit. Slurm knows users and no
    narrower credentials, so that one limited to tenants is refused.
    """
    parts: Parts = request.app.state.parts
    if caller.grant.tenants is not None:
        raise Denied(
            "this credential is limited to some of your tenants, and Slurm's commands show and touch all that"
            " is yours; use one that isn't, or /v1/jobs"
        )
    changes = command == "scancel" or (command == "scontrol" and not _only_shows(asked.args))
    caller.require(Scope.SUBMIT if changes else Scope.READ)
    if changes:
        await noted(parts, caller, "command.run", command, after={"args": asked.args})
    run = partial(
        parts.slurm.command, (command, *asked.args), user=caller.user, variables=dict(asked.variables)
    )
    answer = await anyio.to_thread.run_sync(run)
    if changes:
        await _see(parts)
    return CommandOutput(
        exit_code=answer.exit_code,
        stdout=answer.stdout.decode(errors="replace"),
        stderr=answer.stderr.decode(errors="replace"),
    )


def _only_shows(args: Sequence[str]) -> bool:
    """Whether scontrol's verb shows; what can't be told for sure counts as a change.

    The verb alone decides: ``scontrol hold 17 show`` holds job 17.
    """
    for word in args:
        if word not in _FLAGS:
            return word.lower() in _SHOWING
    return True


async def _see(parts: Parts) -> None:
    """Look at the queue at once, so that the next read shows what was changed."""
    try:
        await parts.tracker.fresh()
    except Unavailable as error:
        _log.info("no fresh listing after a command", reason=error.message)
