"""The site's own directory of users and groups (NSS: SSSD, LDAP), as this host sees it.

An adapter around `getent`: a process of its own for each question, so that a directory that hangs costs a
time-out and nothing else, and so that a restarted SSSD is met afresh. "Not there" and "does not answer" look
the same in NSS: both are None here, and nobody is thrown out for either (`bridge.tenants.membership`).
"""

from __future__ import annotations

import subprocess
from collections.abc import Collection, Iterator, Mapping, Sequence
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

    def members(self, group: str) -> tuple[str, ...] | None:
        """Return a group's members; None when it is not known, or nobody answers."""
        ...

    def users(self, names: Collection[str]) -> Mapping[str, SiteUser]:
        """Return those of the names that are users; the others are absent."""
        ...


class NoDirectory:
    """A site without one."""

    def members(self, group: str) -> tuple[str, ...] | None:
        """Know no group."""
        del group
        return None

    def users(self, names: Collection[str]) -> Mapping[str, SiteUser]:
        """Know no user."""
        del names
        return {}


class Getent:
    """The directory of this host.

    Parameters
    ----------
    timeout_s
        Longest wait for one call.
    """

    def __init__(self, *, timeout_s: float = 10.0) -> None:
        self._timeout_s = timeout_s

    def members(self, group: str) -> tuple[str, ...] | None:
        """Ask for one group; one of the system's is not known."""
        for name, _password, gid, members in self._ask("group", [group], fields=4):
            if name == group and _is_the_sites(gid):
                return tuple(filter(None, members.split(",")))
        return None

    def users(self, names: Collection[str]) -> Mapping[str, SiteUser]:
        """Ask for users, many at once."""
        found: dict[str, SiteUser] = {}
        ordered = sorted(names)
        for start in range(0, len(ordered), AT_ONCE):
            some = ordered[start : start + AT_ONCE]
            for name, _password, uid, gid, *_rest in self._ask("passwd", some, fields=7):
                if _is_the_sites(uid) and gid.isdecimal():
                    found[name] = SiteUser(name, int(uid), int(gid))
        return found

    def _ask(self, database: str, keys: Sequence[str], *, fields: int) -> Iterator[list[str]]:
        try:
            ran = subprocess.run(
                ["getent", database, *keys], capture_output=True, timeout=self._timeout_s, check=False
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
