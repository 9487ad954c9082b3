"""Where the gateway is and who asks: what all client commands share.

What flows in: the environment (SLUICE_URL with SLUICE_API_KEY or SLUICE_TOKEN), what `up` wrote under
``.sluice/<stack>/`` of the checkout, or, on a login node, the site's address with a token of Slurm's own.
What flows out: a `Session`. What doesn't belong here: HTTP
(`gateway.cli.client`).
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Final

import typer

from bridge.errors import Denied, InputError, NotFound, Unavailable

CHECKOUT: Final = Path(__file__).resolve().parents[2]
DEFAULT_STACK: Final = "sluice"
SITE_URL: Final = Path("/etc/sluice/url")
"""On a login node: the address of the site's gateway."""
TOKEN_S: Final = 600
"""Life of a token of Slurm's that a command takes; `sluice tail --follow` may need it for long."""

StackOption = Annotated[
    str, typer.Option("--stack", envvar="SLUICE_STACK", help="Name of the local stack.", show_default=True)
]
AsOption = Annotated[
    str | None,
    typer.Option("--as", metavar="USER", help="Act as this user of the local stack (default: the first)."),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]


@dataclass(frozen=True, slots=True)
class Session:
    """A gateway and a key: what every request needs. `user` is empty when the key came by SLUICE_API_KEY."""

    url: str
    key: str
    user: str = ""


def print_json(value: object) -> None:
    """Print what ``--json`` asks for, on standard output and nothing else there."""
    sys.stdout.write(json.dumps(value, indent=2, ensure_ascii=False) + "\n")


def state_dir(stack: str) -> Path:
    """Return the folder where `up` keeps what it knows about a stack."""
    return CHECKOUT / ".sluice" / stack


def open_session(stack: str, as_user: str | None) -> Session:
    """Find the gateway and the key.

    Raises
    ------
    NotFound
        No SLUICE_URL and no local stack of that name.
    Denied
        No key for that user.
    """
    url = os.environ.get("SLUICE_URL", "")
    key = os.environ.get("SLUICE_API_KEY", "") or os.environ.get("SLUICE_TOKEN", "")
    state = state_dir(stack)
    if not url and not (state / "stack.json").exists():
        url = site_url()
    if url and as_user is None and (key := key or slurm_token()):
        return Session(url.rstrip("/"), key)
    if url and not key:
        raise Denied(
            "SLUICE_URL is set but neither SLUICE_API_KEY nor SLUICE_TOKEN is; set one of them to a key or a"
            " token of that gateway"
        )
    if not (state / "stack.json").exists():
        raise NotFound(
            f"there is no local stack {stack!r}; ./sluice up makes it, or set SLUICE_URL and SLUICE_API_KEY"
        )
    user, key = _key_of(state, as_user)
    return Session(url.rstrip("/") or stack_url(stack), key, user)


def site_url() -> str:
    """Return the address of the site's gateway, which a login node has in a file; empty where it hasn't."""
    try:
        return SITE_URL.read_text(encoding="utf-8").strip()
    except OSError:
        return ""


def slurm_token() -> str:
    """Return a token by which Slurm says who the caller is; empty where Slurm's commands aren't."""
    scontrol = shutil.which("scontrol")
    if scontrol is None:
        return ""
    try:
        ran = subprocess.run(
            [scontrol, "token", f"lifespan={TOKEN_S}"],
            capture_output=True,
            text=True,
            timeout=15,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Unavailable(
            f"Slurm gives no token ({error}), so that the gateway can't know you; try again, or set"
            " SLUICE_API_KEY",
            part="slurmctld",
        ) from error
    name, _, token = ran.stdout.strip().partition("=")
    if ran.returncode != 0 or name != "SLURM_JWT":
        said = (ran.stderr or ran.stdout).strip().splitlines()[-1:] or ["no reason given"]
        raise Denied(f"Slurm gives you no token ({said[0]}); set SLUICE_API_KEY to a key instead")
    return token


def stack_url(stack: str) -> str:
    """Return the address of a local stack's gateway; `NotFound` when there is none."""
    try:
        return str(json.loads((state_dir(stack) / "stack.json").read_text())["url"]).rstrip("/")
    except (OSError, KeyError, ValueError) as error:
        raise NotFound(f"the address of stack {stack!r} is not known; ./sluice up writes it") from error


def stack_keys(stack: str) -> dict[str, str]:
    """Return the API keys that `up` made, by user, in the order in which it made them."""
    return _keys(state_dir(stack))


def _keys(state: Path) -> dict[str, str]:
    try:
        keys = json.loads((state / "keys.json").read_text())
    except (OSError, ValueError):
        return {}
    return {str(user): str(key) for user, key in keys.items()}


def _key_of(state: Path, as_user: str | None) -> tuple[str, str]:
    keys = _keys(state)
    if not keys:
        raise Denied(f"stack {state.name!r} has no API keys yet; ./sluice up makes one for each user")
    if as_user is not None:
        if as_user not in keys:
            raise InputError(f"--as {as_user}: no key of that user here; choose among {', '.join(keys)}")
        return as_user, keys[as_user]
    user = next(iter(keys))
    if len(keys) > 1:
        sys.stderr.write(f"acting as {user} (--as USER for another of {', '.join(keys)})\n")
    return user, keys[user]
