"""The fake's accounting database and its nodes: what `FakeSlurm` is built on.

Accounts, associations, QOS and partitions are kept as the port's own dataclasses; changing them means
putting another. Refusals carry slurmctld's numbers and words.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from bridge.errors import NotFound, SluiceError, SlurmRefused, Unauthenticated, Unavailable
from bridge.slurm.errnos import Errno
from bridge.slurm.port import (
    Account,
    AccountingState,
    Association,
    NodeStatus,
    PartitionStatus,
    Qos,
    Reservation,
)
from bridge.wellknown import FIRST_TENANT_UID, SHARED_QOS


class FakeRecords:
    """Accounts, associations, QOS, partitions, nodes and Linux users, in memory."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.users: dict[str, int] = {"root": 0}
        """Linux users that slurmctld knows, with their uids."""
        self.accounts: dict[str, Account] = {"root": Account(name="root", parent="")}
        self.associations: dict[tuple[str, str], Association] = {}
        self.qos: dict[str, Qos] = {"normal": Qos(name="normal")}
        self.partition_table: dict[str, PartitionStatus] = {}
        self.tokens: dict[str, str] = {}
        """Valid tokens of Slurm's own, with their users."""
        self.node_table: dict[str, NodeStatus] = {}
        self.reservation_table: list[Reservation] = []
        for flavor in ("h100", "a100"):
            self.partition_table[flavor] = PartitionStatus(name=flavor, up=True, nodes="gpu[1-2]")
        for node in ("gpu1", "gpu2"):
            self.add_node(node)

    def begin(self, op: str, part: str) -> SluiceError | None:
        """Count a call and raise or return the fault that was asked for."""
        raise NotImplementedError

    @staticmethod
    def require(part: str, down: Collection[str]) -> None:
        """Raise `Unavailable` when the part that a call needs is down."""
        if part in down:
            raise Unavailable(f"{part} does not answer", part=part)

    # Setting the scene ------------------------------------------------------------------------------

    def add_user(self, user: str, uid: int | None = None) -> int:
        """Make a Linux user known; returns its uid."""
        return self.users.setdefault(user, FIRST_TENANT_UID + len(self.users) - 1 if uid is None else uid)

    def add_tenant(
        self, account: str, *, users: Sequence[str], qos: Sequence[str] = SHARED_QOS, parent: str = "root"
    ) -> None:
        """Make an account with user associations, as the bridge would; the first QOS is the default."""
        for name in qos:
            self.qos.setdefault(name, Qos(name=name))
        self.accounts[account] = Account(name=account, parent=parent)
        allowed = frozenset(qos)
        self.associations[account, ""] = Association(
            account=account, parent=parent, qos=allowed, default_qos=qos[0]
        )
        for user in users:
            self.add_user(user)
            first = not any(who == user for _, who in self.associations)
            self.associations[account, user] = Association(
                account=account, user=user, qos=allowed, default_qos=qos[0], is_default=first
            )

    def add_node(self, name: str, **changes: object) -> None:
        """Make a node with 4 h100 and 4 a100; `changes` are fields of `NodeStatus`."""
        node = NodeStatus(
            name=name,
            state=frozenset({"IDLE"}),
            cpus=32,
            memory_mib=65536,
            gpus={"h100": 4, "a100": 4},
            gpus_used={"h100": 0, "a100": 0},
            partitions=("h100", "a100"),
        )
        self.node_table[name] = replace(node, **changes)  # type: ignore[arg-type]

    # The port ---------------------------------------------------------------------------------------

    def nodes(self) -> Sequence[NodeStatus]:
        """Return all nodes."""
        self.begin("nodes", "slurmctld")
        return list(self.node_table.values())

    def partitions(self) -> Sequence[PartitionStatus]:
        """Return all partitions."""
        self.begin("partitions", "slurmctld")
        return list(self.partition_table.values())

    def user_of_token(self, token: str) -> str:
        """Return whom a token of `tokens` stands for."""
        if token not in self.tokens:
            raise Unauthenticated("the token of Slurm is not valid")
        return self.tokens[token]

    def reservations(self) -> Sequence[Reservation]:
        """Return all reservations."""
        self.begin("reservations", "slurmctld")
        return list(self.reservation_table)

    def accounting_state(self) -> AccountingState:
        """Return everything kept."""
        self.begin("accounting_state", "slurmdbd")
        return AccountingState(
            accounts=tuple(self.accounts.values()),
            associations=tuple(self.associations.values()),
            qos=tuple(self.qos.values()),
        )

    def put_accounts(self, accounts: Sequence[Account]) -> None:
        """Keep accounts."""
        late = self.begin("put_accounts", "slurmdbd")
        for account in accounts:
            self.accounts[account.name] = account
        _raise(late)

    def put_associations(self, associations: Sequence[Association]) -> None:
        """Keep associations; an unknown account or parent is refused."""
        late = self.begin("put_associations", "slurmdbd")
        for association in associations:
            for account in filter(None, (association.account, association.parent)):
                if account not in self.accounts:
                    raise SlurmRefused(f"account {account} does not exist", errno=Errno.INVALID_ACCOUNT)
            self.associations[association.account, association.user] = association
        _raise(late)

    def put_qos(self, qos: Sequence[Qos]) -> None:
        """Keep QOS."""
        late = self.begin("put_qos", "slurmdbd")
        for each in qos:
            self.qos[each.name] = each
        _raise(late)

    def remove_qos(self, names: Sequence[str]) -> None:
        """Forget QOS; removing what is not there is no error."""
        late = self.begin("remove_qos", "slurmdbd")
        for name in names:
            self.qos.pop(name, None)
            # As slurmdbd does: lists that name it lose it.
            for key, qos in self.qos.items():
                self.qos[key] = replace(qos, preempt=qos.preempt - {name})
        _raise(late)

    def remove_association(self, *, account: str, user: str = "") -> None:
        """Forget one association; removing what is not there is no error."""
        late = self.begin("remove_association", "slurmdbd")
        self.associations.pop((account, user), None)
        if not user and not any(key[0] == account for key in self.associations):
            self.accounts.pop(account, None)
        _raise(late)

    def set_partition_accounts(self, partition: str, accounts: frozenset[str]) -> None:
        """Set AllowAccounts."""
        late = self.begin("set_partition_accounts", "slurmctld")
        if partition not in self.partition_table:
            raise SlurmRefused("Invalid partition name specified", errno=Errno.INVALID_PARTITION)
        known = replace(self.partition_table[partition], allow_accounts=accounts or frozenset({"root"}))
        self.partition_table[partition] = known
        _raise(late)

    # What slurmctld checks on a submission ----------------------------------------------------------

    def uid_of(self, user: str) -> int:
        """Return the uid; `NotFound` for a user that no host knows."""
        if user not in self.users:
            raise NotFound(f"user {user} does not exist on the cluster", user=user)
        return self.users[user]

    def association_of(self, account: str | None, user: str) -> Association:
        """Return the association that a job would run under; refuses with 2045."""
        own = [each for (_, who), each in self.associations.items() if who == user]
        wanted = [each for each in own if (each.account == account if account else each.is_default)]
        if not wanted:
            words = "Invalid account or account/partition combination specified"
            raise SlurmRefused(words, errno=Errno.INVALID_ACCOUNT)
        return wanted[0]

    def partition_for(self, partition: str | None, account: str) -> str:
        """Return the partition; the first one is the default; refuses with 2000 and 2045."""
        name = partition or next(iter(self.partition_table))
        known = self.partition_table.get(name)
        if known is None:
            raise SlurmRefused("Invalid partition name specified", errno=Errno.INVALID_PARTITION)
        if known.allow_accounts and account not in known.allow_accounts:
            words = "Invalid account or account/partition combination specified"
            raise SlurmRefused(words, errno=Errno.INVALID_ACCOUNT)
        return name

    def qos_for(self, qos: str | None, association: Association) -> str:
        """Return the QOS; refuses with 2066."""
        name = qos or association.default_qos or "normal"
        if name not in self.qos or (association.qos and name not in association.qos):
            raise SlurmRefused("Invalid qos specification", errno=Errno.INVALID_QOS)
        return name


def _raise(error: SluiceError | None) -> None:
    if error is not None:
        raise error
