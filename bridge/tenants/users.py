"""Local users (``identity: local``): uids that are never given twice, and the files of libnss-extrausers.

Pure: allocation and text. `UserFiles` at the end does the writing, by rename. A user keeps the entry for
ever: who left all tenants can't submit (no association, not in the table), but files and old jobs keep
their owner's name, and the uid is nobody else's.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from bridge.errors import InputError, TenantError
from bridge.policy.documents import PoolFault, Sourced
from bridge.tenants.directory import SiteUser
from bridge.tenants.source import refuse, replace_file
from bridge.wellknown import FIRST_TENANT_UID, HOMES_DIR, LAST_TENANT_UID, SITE_USERS

REGISTRY: Final = ".uids.json"
"""Beside the documents: user to uid, of everybody who ever had one."""


def allocate(known: Mapping[str, int], documents: Iterable[Sourced]) -> dict[str, int]:
    """Give every member a uid: the one that the user ever had, the document's, else the next free one.

    Parameters
    ----------
    known
        All users that ever had a uid.

    Returns
    -------
    dict
        `known` and the new ones; a free uid is above every uid ever given, so that none comes back.

    Raises
    ------
    TenantError
        A document names a uid that is somebody else's, or another one than the user has.
    InputError
        The range is used up.
    """
    given = dict(known)
    wrong: list[PoolFault] = []
    waiting: dict[str, None] = {}
    owners = {uid: user for user, uid in known.items()}
    for document in documents:
        for index, member in enumerate(document.tenant.members):
            if member.uid is None:
                waiting[member.user] = None
                continue
            fault = _fixed(given, owners, member.user, member.uid)
            if fault:
                wrong.append(PoolFault(document.file, f"members[{index}].uid", fault))
    refuse(wrong)
    following = max([FIRST_TENANT_UID - 1, *known.values()]) + 1
    for user in waiting:
        if user in given:
            continue
        while following in owners:
            following += 1
        if following > LAST_TENANT_UID:
            raise InputError(
                f"no uid is left for {user}: all of {FIRST_TENANT_UID} to {LAST_TENANT_UID} were given once"
            )
        given[user] = following
        owners[following] = user
    return given


def _fixed(given: dict[str, int], owners: dict[int, str], user: str, uid: int) -> str:
    if given.get(user, uid) != uid:
        return f"user {user} has uid {given[user]} already and keeps it; leave uid out or give {given[user]}"
    if owners.get(uid, user) != user:
        return f"uid {uid} is or was user {owners[uid]}'s; give {user} another"
    given[user] = uid
    owners[uid] = user
    return ""


@dataclass(frozen=True, slots=True)
class Rendered:
    """The three files of libnss-extrausers."""

    passwd: str
    group: str
    shadow: str


def render(uids: Mapping[str, int], full_names: Mapping[str, str]) -> Rendered:
    """Write the files: a private group for each user, no password (``sluice login`` is the way in).

    `full_names` go into the GECOS field; what would break the line is left out.
    """
    ordered = sorted(uids.items(), key=lambda item: item[1])
    passwd = (
        f"{user}:x:{uid}:{uid}:{_gecos(full_names.get(user, ''))}:{HOMES_DIR}/{user}:/bin/bash\n"
        for user, uid in ordered
    )
    return Rendered(
        passwd="".join(passwd),
        group="".join(f"{user}:x:{uid}:\n" for user, uid in ordered),
        # Without a shadow line su refuses (measured); the dates mean "never changes, never expires".
        shadow="".join(f"{user}:*:20000:0:99999:7:::\n" for user, _uid in ordered),
    )


def _gecos(text: str) -> str:
    return "".join(c for c in text if c.isprintable() and c not in ":,\\")


def full_names(documents: Iterable[Sourced]) -> dict[str, str]:
    """Return what stands in GECOS: the display names of a user's tenants, of those that Sluice manages."""
    names: dict[str, list[str]] = {}
    for document in documents:
        if not document.tenant.managed:
            continue
        for member in document.tenant.members:
            names.setdefault(member.user, []).append(document.tenant.display_name or document.tenant.name)
    return {user: " and ".join(tenants) for user, tenants in names.items()}


class UserFiles:
    """Keeps the registry beside the documents and the rendered files in the users' volume."""

    def __init__(self, *, tenants_dir: Path, users_dir: Path) -> None:
        self.registry = tenants_dir / REGISTRY
        self.users_dir = users_dir

    def known(self) -> dict[str, int]:
        """Return all uids ever given; raises `TenantError` when the registry can't be read."""
        try:
            values = json.loads(self.registry.read_text())
            return {str(user): int(uid) for user, uid in values.items()}
        except FileNotFoundError:
            return {}
        except (ValueError, AttributeError, TypeError) as error:
            raise TenantError(
                f"{self.registry} can't be read, and without it a uid could be given twice; restore it"
            ) from error

    def write(self, uids: Mapping[str, int], names: Mapping[str, str]) -> bool:
        """Write registry and files, passwd last; returns whether anything changed."""
        changed = self.register(uids)
        self.users_dir.mkdir(parents=True, exist_ok=True)
        files = render(uids, names)
        changed |= replace_file(self.users_dir / "shadow", files.shadow.encode(), mode=0o600)
        changed |= replace_file(self.users_dir / "group", files.group.encode())
        return replace_file(self.users_dir / "passwd", files.passwd.encode()) or changed

    def register(self, uids: Mapping[str, int]) -> bool:
        """Keep who has which uid, before anybody is told; returns whether anything was new."""
        self.registry.parent.mkdir(parents=True, exist_ok=True)
        text = json.dumps(dict(sorted(uids.items(), key=lambda item: item[1])), indent=1) + "\n"
        return replace_file(self.registry, text.encode())

    def settle(self) -> None:
        """Wait until slurmctld has the files; nothing to do where it shares the folder."""

    def write_site_users(self, users: Mapping[str, SiteUser]) -> bool:
        """Write who of the members is in the site's own directory; the file-agent reads it, no NSS does."""
        lines = (f"{name}:x:{user.uid}:{user.gid}:::\n" for name, user in sorted(users.items()))
        self.users_dir.mkdir(parents=True, exist_ok=True)
        return replace_file(self.users_dir / SITE_USERS, "".join(lines).encode())
