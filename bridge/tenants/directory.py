"""The site's own directory of users and groups (NSS: SSSD, LDAP), as this host sees it.

An adapter around `getent`: a process of its own for each question, so that a directory that hangs costs a
time-out and nothing else, and so that a restarted SSSD is met afresh. "Not there" and "does not answer" look
the same in NSS: both are absent here, and nobody is thrown out for either (`bridge.tenants.membership`).
"""

from __future__ import annotations

import subprocess
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Final, Protocol

import structlog

from bridge.wellknown import SLUICE_UID, SLURM_UID

FIRST_ID: Final = 1000
"""uids and gids below are the system's own."""
OURS: Final = frozenset({SLURM_UID, SLUICE_UID})
AT_ONCE: Final = 500
"""Names in one call."""
_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class SiteUser:
    """A user of the site's directory."""

    name: str
    uid: int
    gid: int


class SiteDirectory(Protocol):
    """Who is who at the site."""

    def groups(self, names: Collection[str]) -> Mapping[str, tuple[str, ...]]:
        """Return the members of those groups that are found; absent: not known, or nobody answers."""
        ...

    def users(self, names: Collection[str]) -> Mapping[str, SiteUser]:
        """Return those of the names that are users; the others are absent."""
        ...


class NoDirectory:
    """A site without one."""

    def groups(self, names: Collection[str]) -> Mapping[str, tuple[str, ...]]:
        """Know no group."""
        del names
        return {}

    def users(self, names: Collection[str]) -> Mapping[str, SiteUser]:
        """Know no user."""
        del names
        return {}


class Getent:
    """The directory of this host; many names cost one call.

    Parameters
    ----------
    timeout_s
        Longest wait for one call. After one that took so long the rest of the same question isn't asked.
    """

    def __init__(self, *, timeout_s: float = 10.0) -> None:
        self._timeout_s = timeout_s

    def groups(self, names: Collection[str]) -> Mapping[str, tuple[str, ...]]:
        """Ask for groups; one of the system's is not known."""
        found: dict[str, tuple[str, ...]] = {}
        for name, _password, gid, members in self._ask("group", names, fields=4):
            if name in names and _is_the_sites(gid):
                found[name] = tuple(filter(None, members.split(",")))
        return found

    def users(self, names: Collection[str]) -> Mapping[str, SiteUser]:
        """Ask for users."""
        found: dict[str, SiteUser] = {}
        for name, _password, uid, gid, *_rest in self._ask("passwd", names, fields=7):
            if name in names and _is_the_sites(uid) and gid.isdecimal():
                found[name] = SiteUser(name, int(uid), int(gid))
        return found

    def _ask(self, database: str, names: Collection[str], *, fields: int) -> Iterator[list[str]]:
        keys = sorted(names)
        for start in range(0, len(keys), AT_ONCE):
            some = keys[start : start + AT_ONCE]
            try:
                ran = subprocess.run(
                    ["getent", database, "--", *some],
                    capture_output=True,
                    timeout=self._timeout_s,
                    check=False,
                )
            except (OSError, subprocess.TimeoutExpired) as error:
                _log.warning("the site's directory does not answer", database=database, reason=str(error))
                return
            for line in ran.stdout.decode(errors="replace").splitlines():
                parts = line.split(":")
                if len(parts) == fields:
                    yield parts


def _is_the_sites(number: str) -> bool:
    return number.isdecimal() and int(number) >= FIRST_ID and int(number) not in OURS
