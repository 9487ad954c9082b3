"""Which command it is, who asks, and what its errors look like."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import Final

from bridge.errors import InputError, SluiceError, Unavailable
from gateway.cli.client import Gateway
from gateway.cli.dropin import command, sbatch
from gateway.cli.session import DEFAULT_STACK, Session, open_session, stack_keys

NAMES: Final = (
    "sbatch",
    "squeue",
    "sacct",
    "scancel",
    "sinfo",
    "scontrol",
    "sshare",
    "sprio",
    "sacctmgr",
    "srun",
)
"""Slurm's commands that there are; programs look for srun, which works inside jobs alone."""

_NO_SRUN: Final = "steps run inside jobs, on the cluster: submit a script that calls srun by sbatch"


def main(name: str, arguments: Sequence[str], *, stack: str | None = None, user: str | None = None) -> int:
    """Run one of `NAMES`; returns its exit status.

    Parameters
    ----------
    stack, user
        The local stack and whose key, where SLUICE_URL is not set; default SLUICE_STACK and SLUICE_USER,
        then the stack's first user.
    """
    if name == "srun":
        return fail(name, InputError(_NO_SRUN))
    try:
        session = _session(stack or os.environ.get("SLUICE_STACK", DEFAULT_STACK), user)
        with Gateway(session) as gateway:
            run = sbatch.run if name == "sbatch" else command.run
            return run(gateway, name, arguments)
    except SluiceError as error:
        return fail(name, error)
    except BrokenPipeError:  # squeue | head
        sys.stdout = None  # nothing is left to be flushed
        return 1
    except KeyboardInterrupt:
        return 130


def fail(name: str, error: SluiceError) -> int:
    """Say an error in the shape of Slurm's; returns 1, as Slurm's commands do."""
    said = f"{sbatch.AWAY}: {error.message}" if isinstance(error, Unavailable) else error.message
    prefix = "" if said.startswith(f"{name}: ") else f"{name}: error: "
    sys.stderr.write(f"{prefix}{said}\n")
    return 1


def _session(stack: str, user: str | None) -> Session:
    if os.environ.get("SLUICE_URL"):
        return open_session(stack, None)
    # Named, so that nothing is said about whose key it is: programs read what is said.
    return open_session(stack, user or os.environ.get("SLUICE_USER") or next(iter(stack_keys(stack)), None))
