"""A stack on this machine: its name, its folder of state, its lock, its port.

What flows in: a name. What flows out: ``<checkout>/.sluice/<stack>/`` (0700) with ``stack.json`` and
``keys.json`` (0600), and the promise that only one command at a time changes the stack.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
import socket
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from bridge.cluster.reporter import Reporter
from bridge.errors import InputError, Unavailable

NAME: Final = re.compile(r"[a-z][a-z0-9-]{0,31}")
"""What Docker takes as a container, volume and network name, and as a host name."""

RESERVED: Final = frozenset(
    {"bootstrap", "build", "environment", "launcher", "locks", "ports", "test-logs", "tools"}
)
"""Names that have a meaning of their own below ``.sluice/``."""

GATEWAY_PORTS: Final = range(8080, 8180)
API_PORTS: Final = range(6443, 6543)


@dataclass(frozen=True, slots=True)
class Stack:
    """A stack's name and the checkout that it is made from."""

    name: str
    checkout: Path

    def __post_init__(self) -> None:
        """Refuse a name that Docker would refuse later."""
        if self.name in RESERVED:
            raise InputError(f"stack name {self.name!r} is taken by Sluice itself; choose another")
        if not NAME.fullmatch(self.name) or self.name.endswith("-"):
            raise InputError(
                f"stack name {self.name!r} is not good: use lower-case letters, digits and dashes, a letter"
                " first, at most 32 of them"
            )

    @property
    def state(self) -> Path:
        """Folder of what is known about it; only `write` makes it."""
        return self.checkout / ".sluice" / self.name

    @property
    def _locks(self) -> Path:
        folder = self.checkout / ".sluice" / "locks"
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        return folder

    def read(self, file: str) -> dict[str, object]:
        """Read a JSON object of the state; empty when it is missing or broken (`up` writes it anew)."""
        return _read(self.state / file)

    def write(self, file: str, value: Mapping[str, object]) -> None:
        """Write a JSON object of the state, whole or not at all, for this user only."""
        self.write_secret(file, json.dumps(dict(value), indent=2) + "\n")

    def write_secret(self, file: str, text: str) -> Path:
        """Write a file of the state, whole or not at all, for this user only; return its path."""
        self.state.mkdir(mode=0o700, parents=True, exist_ok=True)
        path = self.state / file
        new = path.with_suffix(".new")
        new.touch(mode=0o600)
        new.write_text(text, encoding="utf-8")
        new.replace(path)
        return path

    def forget(self) -> None:
        """Remove what `up` wrote, and the folder when nothing else is in it."""
        for file in ("stack.json", "keys.json", "kubeconfig"):
            with suppress(FileNotFoundError):
                (self.state / file).unlink()
        with suppress(OSError):
            self.state.rmdir()

    @contextmanager
    def choosing_port(self) -> Iterator[frozenset[int]]:
        """Hold the lock of ports, and yield those that other stacks of this checkout chose.

        A gateway starts long after its port was chosen: two stacks that come up at once must not choose
        the same.
        """
        root = self.state.parent
        with (self._locks / "ports.lock").open("a") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            others = [folder.name for folder in root.iterdir() if folder.is_dir() and folder != self.state]
            known = [_read(root / other / "stack.json") for other in others]
            ports = [one.get(key) for one in known for key in ("port", "api_port")]
            yield frozenset(port for port in ports if isinstance(port, int))

    @contextmanager
    def locked(self, report: Reporter) -> Iterator[None]:
        """Hold the stack's lock; waits for the other command, and says so."""
        with _lock(self._locks / f"{self.name}.lock", f"is changing stack {self.name}", report):
            yield

    @contextmanager
    def building(self, report: Reporter) -> Iterator[None]:
        """Hold the lock of builds: two stacks of a checkout need the same images, and build them once."""
        with _lock(self._locks / "build.lock", "is building the images", report):
            yield


@contextmanager
def _lock(path: Path, what: str, report: Reporter) -> Iterator[None]:
    """Hold a file's lock; the kernel frees the one of a command that died."""
    with path.open("a+") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            lock.seek(0)
            holder = lock.read().strip() or "another command"
            report.say(f"{holder} {what}; waiting until it is done")
            fcntl.flock(lock, fcntl.LOCK_EX)
        lock.seek(0)
        lock.truncate()
        lock.write(f"process {os.getpid()}")
        lock.flush()
        yield


def _read(file: Path) -> dict[str, object]:
    try:
        value = json.loads(file.read_text())
    except (OSError, ValueError):
        return {}
    return value if isinstance(value, dict) else {}


def choose_port(
    *,
    wished: int | None,
    kept: int | None,
    kept_is_ours: bool,
    is_free: Callable[[int], bool],
    among: range = GATEWAY_PORTS,
) -> int:
    """Choose a port on the loopback.

    Parameters
    ----------
    wished
        What the user asked for; taken as it is when it is free.
    kept
        The port of the last `up`.
    kept_is_ours
        Whether our own part listens on `kept` now: then it is not free, and still right.
    is_free
        Tells whether nobody listens on a port (`port_is_free`).
    among
        Ports to choose from, the first free one is taken.

    Raises
    ------
    Unavailable
        The wished port is taken, or all of ours are.
    """
    if wished is not None:
        if (wished == kept and kept_is_ours) or is_free(wished):
            return wished
        raise Unavailable(f"port {wished} on 127.0.0.1 is taken; choose another with --port", part="gateway")
    if kept is not None and (kept_is_ours or is_free(kept)):
        return kept
    for port in among:
        if is_free(port):
            return port
    raise Unavailable(
        f"ports {among[0]} to {among[-1]} on 127.0.0.1 are all taken; choose one with --port",
        part="gateway",
    )


def port_is_free(port: int) -> bool:
    """Whether nobody listens on this port of the loopback."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True
