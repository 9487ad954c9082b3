"""What of this process goes with a submission: environment, mask, limits, folder and host, as from sbatch."""

from __future__ import annotations

import base64
import os
import resource
import socket
import sys
from collections.abc import Mapping
from typing import Any, Final

from bridge.sbatch.command_line import CommandLine

_OF_THIS_HOST: Final = frozenset(
    ("HOME", "USER", "LOGNAME", "USERNAME", "SHELL", "MAIL", "XDG_RUNTIME_DIR", "XDG_SESSION_ID", "_")
)
"""Who and where one is here; on the cluster the user's login says it."""
_SECRET: Final = ("SLUICE_",)
"""No key of ours in the environment of a job."""
LIMITS: Final = ("CPU", "FSIZE", "DATA", "STACK", "CORE", "RSS", "NPROC", "NOFILE", "MEMLOCK", "AS")
"""Names of Slurm's limits, setrlimit's without RLIMIT_."""


def body(
    script: bytes, line: CommandLine, *, limits: dict[str, int], folder: str, files: Mapping[str, bytes]
) -> dict[str, Any]:
    """Return the JSON of a submission; `files` are those that options name and that are here."""
    found: dict[str, Any] = {
        "script_base64": base64.b64encode(script).decode("ascii"),
        "options": list(line.options),
        "args": list(line.argv),
        "environment": environment(),
        "work_dir": folder,
        "submit_host": socket.gethostname(),
        "limits": limits,
    }
    if line.script_name is not None:
        found["file_name"] = line.script_name
    if files:
        found["files"] = {path: base64.b64encode(content).decode("ascii") for path, content in files.items()}
    return found


def environment() -> dict[str, str]:
    """Return the variables that the job gets, with the mask that sbatch would put in.

    What isn't UTF-8 can't be sent; it is left out and said.
    """
    kept: dict[str, str] = {}
    for name, value in os.environ.items():
        if name in _OF_THIS_HOST or name.startswith(_SECRET):
            continue
        if _is_text(name) and _is_text(value):
            kept[name] = value
        else:
            sys.stderr.write(f"sbatch: warning: the variable {name!a} is not UTF-8 and is left out\n")
    mask = os.umask(0)
    os.umask(mask)
    kept.setdefault("SLURM_UMASK", f"0{mask:03o}")
    return kept


def limits() -> dict[str, int]:
    """Return this process's soft limits; -1 is unlimited."""
    found: dict[str, int] = {}
    for name in LIMITS:
        number = getattr(resource, f"RLIMIT_{name}", None)
        if number is not None:
            found[name] = resource.getrlimit(number)[0]
    return found


def _is_text(value: str) -> bool:
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True
