"""Who ever had a uid, kept in a cluster: ConfigMaps instead of a file beside the documents.

One ConfigMap holds the uids of one range of `RANGE`: 25 bytes a user, so that none comes near Kubernetes'
limit of 1 MiB, however many users there were. The chart makes them, empty.
Each write names the version that it was made from: two bridges that both believe to lead can't give one uid
twice.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from bridge.errors import Conflict, Outdated, TenantError, Unavailable
from bridge.kube.kinds import CONFIG_MAP, Object, metadata, name_of, text
from bridge.kube.port import Cluster
from bridge.tenants.users import UserFiles
from bridge.wellknown import FIRST_TENANT_UID, LAST_TENANT_UID

RANGE: Final = 10_000
KEY: Final = "uids"


class ClusterUserFiles(UserFiles):
    """The users' files of a bridge in a cluster; the registry is `PREFIX-uids-N` in its namespace."""

    def __init__(self, cluster: Cluster, *, namespace: str, prefix: str, users_dir: Path) -> None:
        super().__init__(tenants_dir=users_dir, users_dir=users_dir)
        self._cluster = cluster
        self._namespace = namespace
        self._prefix = prefix
        self._maps: dict[str, Object] = {}

    def known(self) -> dict[str, int]:
        """Return all uids ever given; raises `TenantError` when a ConfigMap was damaged."""
        found = [self._cluster.get(CONFIG_MAP, name, namespace=self._namespace) for name in self._names()]
        self._maps = {name_of(item): item for item in found if item is not None}
        known: dict[str, int] = {}
        for name, item in self._maps.items():
            for line in text(item, "data", KEY).splitlines():
                user, _, uid = line.partition(" ")
                if not user or not uid.isdecimal():
                    raise TenantError(
                        f"ConfigMap {name} has the line {line!r}, and without it a uid could be given twice;"
                        " restore it"
                    )
                known[user] = int(uid)
        return known

    def register(self, uids: Mapping[str, int]) -> bool:
        """Write what is new; returns whether anything was."""
        known = self.known()
        if known == dict(uids):
            return False
        shards: dict[int, dict[str, int]] = defaultdict(dict)
        for user, uid in {**known, **uids}.items():
            shards[uid // RANGE][user] = uid
        for shard, users in shards.items():
            self._write(f"{self._prefix}-uids-{shard}", users)
        return True

    def _names(self) -> list[str]:
        shards = range(FIRST_TENANT_UID // RANGE, LAST_TENANT_UID // RANGE + 1)
        return [f"{self._prefix}-uids-{shard}" for shard in shards]

    def _write(self, name: str, users: Mapping[str, int]) -> None:
        lines = "".join(f"{user} {uid}\n" for user, uid in sorted(users.items(), key=lambda item: item[1]))
        old = self._maps.get(name)
        if old is not None and text(old, "data", KEY) == lines:
            return
        item: Object = {
            "metadata": dict(metadata(old)) if old else {"name": name},
            "data": {KEY: lines},
        }
        try:
            if old is None:
                self._cluster.create(CONFIG_MAP, item, namespace=self._namespace)
            else:
                self._cluster.replace(CONFIG_MAP, item, namespace=self._namespace)
        except (Conflict, Outdated) as error:
            raise Unavailable(
                f"ConfigMap {name} was changed by somebody else just now; trying again", part="kube-apiserver"
            ) from error
