"""What a part of a stack is: one container, described once, compared by a hash.

Pure. What doesn't belong here: which parts there are (`bridge.cluster.parts`), Docker (`bridge.cluster.
engine`).
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass
from typing import Final

HASH_LENGTH: Final = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class Mount:
    """A volume of the stack (its short name) at a path."""

    volume: str
    path: str
    read_only: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class HostPath:
    """A folder of the Docker host, writable, at a path."""

    source: str
    path: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Health:
    """A command in the container; exit 0 means healthy.

    `up` asks it in a quick loop, Docker every `interval_s`.
    """

    command: tuple[str, ...]
    interval_s: int = 30
    timeout_s: int = 10
    retries: int = 3
    user: str = ""
    """Who asks, when not the container's own user."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Published:
    """A port of the container, reachable on the host's loopback only."""

    container_port: int
    host_port: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One container of a stack.

    Everything here is in `spec`: a container whose label says another hash is replaced.
    """

    name: str
    image: str
    """Reference with the content hash as its tag, so that a new image is a new spec."""

    command: tuple[str, ...]
    user: str = ""
    mounts: tuple[Mount, ...] = ()
    host_paths: tuple[HostPath, ...] = ()
    tmpfs: tuple[tuple[str, str], ...] = ()
    """Path and options of memory file systems."""

    environment: tuple[tuple[str, str], ...] = ()
    capabilities: tuple[str, ...] | None = None
    """None: Docker's default set. A tuple: exactly these."""

    more_capabilities: tuple[str, ...] = ()
    """On top of Docker's default set."""

    security: tuple[str, ...] = ("no-new-privileges:true",)
    device_rules: tuple[str, ...] = ()
    """Device cgroup rules on top of Docker's own."""

    read_only_root: bool = False
    address: str = ""
    """In the stack's network; empty: the part has no network at all."""

    published: tuple[Published, ...] = ()
    health: Health | None = None
    after: tuple[str, ...] = ()
    """Parts that must be healthy (or, when `once`, done) before this one starts."""

    once: bool = False
    """Runs to its end and stays as a stopped container: the mark that it was done."""

    files: tuple[tuple[str, str], ...] = ()
    """Absolute path and text of files that are put into the container before its start."""

    depends_on_content: str = ""
    """Hash of what the part reads from volumes; another one replaces the part."""

    stop_grace_s: int = 10

    @property
    def spec(self) -> str:
        """Hash of the whole description, hexadecimal."""
        return digest(asdict(self))


def digest(value: object) -> str:
    """Hash a JSON-able value; equal values give equal hashes on every machine."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:HASH_LENGTH]
