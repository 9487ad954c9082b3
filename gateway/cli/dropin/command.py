"""All but sbatch: the arguments go to the gateway, which has the real command run; its outputs come back."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Sequence
from typing import Final

from gateway.cli.client import Gateway

_READ: Final = re.compile(r"(SQUEUE|SACCT|SINFO|SCANCEL|SCONTROL|SSHARE|SPRIO)_[A-Z0-9_]+|SLURM_TIME_FORMAT")
"""Variables that these commands read as options."""


def run(gateway: Gateway, name: str, arguments: Sequence[str]) -> int:
    """Run one command; returns its exit status."""
    variables = {key: value for key, value in os.environ.items() if _READ.fullmatch(key)}
    said = gateway.run_command(name, arguments, variables)
    write(sys.stdout, said.stdout)
    write(sys.stderr, said.stderr)
    return said.exit_code


def write(stream: object, text: str) -> None:
    """Write text as UTF-8, whatever the terminal's encoding is."""
    buffer = getattr(stream, "buffer", None)
    if buffer is None:
        getattr(stream, "write")(text)  # noqa: B009 - a stream that a test put in place
        return
    buffer.write(text.encode("utf-8", "surrogateescape"))
    buffer.flush()
