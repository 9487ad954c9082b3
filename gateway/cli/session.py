"""Where the gateway is and who asks: what all client commands share.

What flows in: the environment (SLUICE_URL, SLUICE_API_KEY) or what `up` wrote under
``.sluice/<stack>/`` of the checkout. What flows out: a `Session`. What doesn't belong here: HTTP
(`gateway.cli.client`).
"""

from __future__ import annotations

import json
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Final

import typer

from bridge.errors import Denied, InputError, NotFound

CHECKOUT: Final = Path(__file__).resolve().parents[2]
DEFAULT_STACK: Final = "sluice"

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
    url, key = os.environ.get("SLUICE_URL", ""), os.environ.get("SLUICE_API_KEY", "")
    if url and key and as_user is None:
        return Session(url.rstrip("/"), key)
    if url and not key:
        raise Denied("SLUICE_URL is set but SLUICE_API_KEY is not; set it to a key of that gateway")
    state = state_dir(stack)
    if not (state / "stack.json").exists():
        raise NotFound(
            f"there is no local stack {stack!r}; ./sluice up makes it, or set SLUICE_URL and SLUICE_API_KEY"
        )
    user, key = _key_of(state, as_user)
    return Session(url.rstrip("/") or stack_url(stack), key, user)


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
