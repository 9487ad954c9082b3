"""Accounts, associations and QOS in slurmdbd, by slurmrestd.

What was measured on 26.05.5 and shapes this file: a POST of an association replaces its TRES lists as a
set, one of a QOS never clears what is absent (a count of -1 does); a POST of an account's association
*creates* it with a broken place in the tree, so creation goes through accounts_association, changes
through associations; users must exist before their associations; unknown accounts are answered 200.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from bridge.agent.accounting_bodies import (
    accounts_of,
    association_body,
    association_of,
    preempt_of,
    qos_body,
    qos_of,
)
from bridge.agent.rest import Body, Rest
from bridge.errors import SlurmRefused
from bridge.slurm.errnos import Errno
from bridge.slurm.port import Account, AccountingState, Association, Qos

NO_REMOVE_DEFAULT_ACCOUNT: Final = 7009
AT_ONCE: Final = 100
"""Users or associations in one request. slurmrestd asks slurmdbd about each (2 to 5 ms), in one transaction:
20,000 in a request held the database and slurmctld for minutes, and requests side by side wait for each
other's locks (both seen)."""


class RestAccounting:
    """slurmdbd's records of one cluster."""

    def __init__(self, rest: Rest, *, deadline_s: float = 60.0) -> None:
        self._rest = rest
        self._deadline_s = deadline_s
        self._cluster = ""

    @property
    def cluster(self) -> str:
        """The cluster's name, from slurmctld."""
        if not self._cluster:
            self._cluster = str(self._rest.get("ping/")["meta"]["slurm"]["cluster"])
        return self._cluster

    def state(self) -> AccountingState:
        """Read everything of this cluster."""
        accounts = self._get("accounts/")["accounts"]
        associations = self._get("associations/", {"cluster": self.cluster})["associations"]
        qos = self._get("qos/")["qos"]
        return AccountingState(
            accounts=accounts_of(accounts, associations),
            associations=tuple(association_of(each) for each in associations if not each.get("partition")),
            qos=tuple(qos_of(each) for each in qos),
        )

    def put_accounts(self, accounts: Sequence[Account]) -> None:
        """Create what is missing, parents first, then set descriptions in one request."""
        known = {each["account"] for each in self._account_associations()}
        missing = [account for account in accounts if account.name not in known]
        while missing:
            ready = [account for account in missing if account.parent in known]
            if not ready:
                raise SlurmRefused(
                    f"account {missing[0].name}: its parent {missing[0].parent} does not exist",
                    errno=int(Errno.INVALID_ACCOUNT),
                )
            for parent, names in _by_parent(ready).items():
                self._create(names, parent)
            known |= {account.name for account in ready}
            missing = [account for account in missing if account.name not in known]
        bodies = [
            {
                "name": account.name,
                "description": account.description or account.name,
                "organization": account.organization or account.name,
                "coordinators": [],
            }
            for account in accounts
        ]
        if bodies:
            self._post("accounts/", {"accounts": bodies})

    def put_associations(self, associations: Sequence[Association]) -> None:
        """Create missing users, then write all associations, some at a time; a repeat does no harm."""
        accounts = {each["account"] for each in self._account_associations()}
        for association in associations:
            for account in filter(None, (association.account, association.parent)):
                if account not in accounts:
                    words = f"account {account} does not exist on cluster {self.cluster}"
                    raise SlurmRefused(words, errno=int(Errno.INVALID_ACCOUNT))
        users = {association.user for association in associations if association.user}
        if users:
            new = sorted(users - {each["name"] for each in self._get("users/")["users"]})
            self._post_some("users", [{"name": name} for name in new])
        self._post_some("associations", [association_body(each, self.cluster) for each in associations])

    def put_qos(self, qos: Sequence[Qos]) -> list[str]:
        """Write QOS in one request; returns the names whose preempt list must be cleared otherwise."""
        present = {each["name"]: each for each in self._get("qos/")["qos"]}
        unknown = sorted(({name for each in qos for name in each.preempt}) - set(present))
        if unknown:
            # A QOS may only name one that exists: make them bare first.
            bare = [{"name": each.name} for each in qos if each.name not in present]
            if bare:
                self._post("qos/", {"qos": bare})
        if qos:
            self._post("qos/", {"qos": [qos_body(each, present.get(each.name)) for each in qos]})
        return [
            each.name for each in qos if not each.preempt and preempt_of(present.get(each.name, {}))["list"]
        ]

    def remove_qos(self, names: Sequence[str]) -> None:
        """Remove QOS, one request each; slurmrestd answers 304 for one that isn't there."""
        for name in names:
            self._rest.delete(f"slurmdb/qos/{name}")

    def remove(self, *, account: str, user: str) -> None:
        """Remove a user's association, or an account with all that is in it."""
        if not user:
            self._rest.delete(f"slurmdb/account/{account}")
            return
        query = {"cluster": self.cluster, "account": account, "user": user}
        try:
            self._rest.delete("slurmdb/association/", query=query)
        except SlurmRefused as error:
            if error.errno != NO_REMOVE_DEFAULT_ACCOUNT:
                raise
            self._remove_default(account, user, query)

    def _remove_default(self, account: str, user: str, query: Mapping[str, str]) -> None:
        own = self._get("associations/", {"cluster": self.cluster, "user": user})["associations"]
        others = [each["account"] for each in own if each["account"] != account and each["user"] == user]
        if not others:
            self._rest.delete(f"slurmdb/user/{user}")
            return
        moved = {"cluster": self.cluster, "account": others[0], "user": user, "is_default": True}
        self._post("associations/", {"associations": [moved]})
        self._rest.delete("slurmdb/association/", query=query)

    def _create(self, names: Sequence[str], parent: str) -> None:
        condition = {
            "accounts": list(names),
            "clusters": [self.cluster],
            "association": {"parent": parent},
        }
        account = {"description": names[0], "organization": names[0]}
        body = {"association_condition": condition, "account": account}
        self._post("accounts_association/", body)

    def _account_associations(self) -> list[Body]:
        listed = self._get("associations/", {"cluster": self.cluster})["associations"]
        return [each for each in listed if not each["user"]]

    def _get(self, path: str, query: Mapping[str, str] | None = None) -> Body:
        answer = self._rest.get(f"slurmdb/{path}", query=query, deadline_s=self._deadline_s)
        return defaultdict(list, answer)

    def _post_some(self, kind: str, bodies: Sequence[Body]) -> None:
        for first in range(0, len(bodies), AT_ONCE):
            self._post(f"{kind}/", {kind: bodies[first : first + AT_ONCE]})

    def _post(self, path: str, body: Body) -> None:
        self._rest.post(f"slurmdb/{path}", body, deadline_s=self._deadline_s)


def _by_parent(accounts: Iterable[Account]) -> dict[str, list[str]]:
    groups: dict[str, list[str]] = defaultdict(list)
    for account in accounts:
        groups[account.parent].append(account.name)
    return groups
