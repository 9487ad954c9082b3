"""Who a user is for the kernel: uid, gid and supplementary groups, from the bridge's own files.

What flows in: passwd and group of libnss-extrausers, and site-passwd, rendered by the bridge. What flows
out: `Identity`. The files are parsed again as soon as one of them changes. They are read here and not through
NSS, so that a system account of this container can never be taken for a tenant's user.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from bridge.errors import Denied, NotFound, Unavailable
from bridge.wellknown import FIRST_TENANT_UID, SITE_USERS, SLUICE_UID, SLURM_UID

FIRST_GROUP_GID: Final = 1000
"""Groups below are the system's (root, shadow, disk): no tenant's user is ever given one."""
FIRST_SITE_UID: Final = 1000
"""The same for users of the site's own directory, whose uids are the site's."""

_Stamp = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class Identity:
    """What a child becomes before it opens anything."""

    user: str
    uid: int
    gid: int
    groups: tuple[int, ...]
    """Supplementary groups, without `gid`, ascending."""
    of_the_site: bool = False
    """Whether the site's own directory has the user, with a uid outside of our range."""


class Users:
    """Looks users up; thread-safe.

    Parameters
    ----------
    folder
        Where ``passwd`` and ``group`` are (`bridge.wellknown.USERS_DIR`).
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lock = threading.Lock()
        self._stamp: tuple[_Stamp, _Stamp | None, _Stamp | None] | None = None
        self._known: dict[str, Identity] = {}

    def identity(self, user: str) -> Identity:
        """Return who `user` is now.

        Raises
        ------
        NotFound
            No such local user.
        Denied
            A uid below the tenants' range, or a system group as primary group.
        Unavailable
            The files can't be read.
        """
        with self._lock:
            self._refresh()
            found = self._known.get(user)
        if found is None:
            raise NotFound(f"there is no user {user!r} among the local users", user=user)
        first = FIRST_SITE_UID if found.of_the_site else FIRST_TENANT_UID
        if found.uid < first or found.gid < FIRST_GROUP_GID or found.uid in (SLUICE_UID, SLURM_UID):
            raise Denied(f"{user} is a system account; files are read for tenants' users only", user=user)
        return found

    def _refresh(self) -> None:
        passwd, group = self._folder / "passwd", self._folder / "group"
        site = self._folder / SITE_USERS
        try:
            stamp = (
                _stamp(passwd),
                _stamp(group) if group.exists() else None,
                _stamp(site) if site.exists() else None,
            )
            if stamp == self._stamp:
                return
            text = passwd.read_text("utf-8")
            groups = group.read_text("utf-8") if stamp[1] else ""
            others = site.read_text("utf-8") if stamp[2] else ""
        except (OSError, UnicodeDecodeError) as error:
            raise Unavailable(
                f"the list of local users can't be read ({error})", part="file-agent"
            ) from error
        # Of one name the local user counts, as in the cluster's own NSS.
        of_the_site = (replace(known, of_the_site=True) for known in identities(others, ""))
        self._known = {known.user: known for known in (*of_the_site, *identities(text, groups))}
        self._stamp = stamp


def identities(passwd: str, group: str) -> Iterator[Identity]:
    """Parse the text of passwd and group; lines that are none of theirs are left out.

    Yields
    ------
    Identity
        One per passwd line, first line first (a later double wins in a dict: the bridge writes none).
    """
    members = _memberships(group)
    for line in passwd.splitlines():
        fields = line.split(":")
        if len(fields) < 4 or not fields[2].isdecimal() or not fields[3].isdecimal():
            continue
        gid = int(fields[3])
        groups = tuple(sorted(members.get(fields[0], set()) - {gid}))
        yield Identity(user=fields[0], uid=int(fields[2]), gid=gid, groups=groups)


def _memberships(group: str) -> dict[str, set[int]]:
    members: dict[str, set[int]] = {}
    for line in group.splitlines():
        fields = line.split(":")
        if len(fields) < 4 or not fields[2].isdecimal():
            continue
        gid = int(fields[2])
        # Sluice's and Slurm's own groups are as closed to tenants as the system's.
        if gid < FIRST_GROUP_GID or gid in (SLUICE_UID, SLURM_UID):
            continue
        for user in filter(None, fields[3].split(",")):
            members.setdefault(user.strip(), set()).add(gid)
    return members


def _stamp(path: Path) -> _Stamp:
    status = path.stat()
    return status.st_mtime_ns, status.st_size, status.st_ino
