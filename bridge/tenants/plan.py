"""The difference between what Slurm holds and what it should: ordered actions, empty when nothing is left.

Pure. What flows in: `Desired`, slurmdbd's state, the partitions, how many live jobs each association has.
What flows out: a `Plan`. Carrying it out is `bridge.tenants.flow`'s.

Nothing that runs is ever killed: an association that no document wants any more is drained first (no new
jobs), and removed by a later plan, when its last job has ended.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields, replace
from typing import Literal

from bridge.errors import Conflict
from bridge.slurm.port import Account, AccountingState, Association, PartitionStatus, Qos
from bridge.tenants.accounts import NOBODY, ORGANIZATION, QOS_MARK, Desired
from bridge.tenants.unmanaged import differences
from bridge.units import tres_text
from bridge.wellknown import PRODUCTION_QOS_PREFIX

Verb = Literal["create", "change", "drain", "remove", "leave", "hold", "release"]
"""``leave``: it differs from the document, which does not manage it."""
Kind = Literal["account", "association", "qos", "partition", "user", "table", "document", "job"]
LiveJobs = Mapping[tuple[str, str], int]
"""(account, user) to jobs of slurmctld that aren't finished."""


@dataclass(frozen=True, slots=True)
class Action:
    """One step as a person reads it."""

    verb: Verb
    kind: Kind
    name: str
    detail: str = ""
    drift: bool = False
    """Whether it is to be done without any change of a document: somebody else changed Slurm."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """All steps, in the order in which they are carried out, and what they write."""

    actions: tuple[Action, ...]
    qos: tuple[Qos, ...] = ()
    accounts: tuple[Account, ...] = ()
    associations: tuple[Association, ...] = ()
    partition_accounts: Mapping[str, frozenset[str]]
    removals: tuple[Association, ...] = ()
    draining: Mapping[str, str]
    """Account (or ``account/user``) to why it is still there."""


def plan(want: Desired, have: AccountingState, partitions: Iterable[PartitionStatus], live: LiveJobs) -> Plan:
    """Compare; raises `Conflict` when a name that is wanted belongs to something Sluice didn't make."""
    _check_ownership(want, have)
    qos = _changed_qos(want, have)
    accounts = _changed_accounts(want, have)
    associations = _changed_associations(want, have)
    gone = _Leaving(want, have, live)
    allowed = _changed_partitions(want, partitions, gone.accounts)
    actions = (
        *(action for action, _item in qos),
        *(action for action, _item in accounts),
        *(action for action, _item in associations),
        *(action for action, _item in allowed),
        *(action for action, _item in gone.drained),
        *(_action("remove", association) for association in gone.removed),
        *left_alone(want, have),
    )
    return Plan(
        actions=actions,
        qos=tuple(item for _action, item in qos),
        accounts=tuple(item for _action, item in accounts),
        associations=(*(item for _a, item in associations), *(item for _a, item in gone.drained)),
        partition_accounts={name: names for _action, (name, names) in allowed},
        removals=gone.removed,
        draining=gone.reasons,
    )


def _check_ownership(want: Desired, have: AccountingState) -> None:
    made = {account.name: account.organization for account in have.accounts}
    for account in want.accounts:
        if account.name not in want.adopted and made.get(account.name, ORGANIZATION) != ORGANIZATION:
            raise Conflict(
                f"Slurm has an account {account.name} that Sluice did not make (organization"
                f" {made[account.name]!r}); rename the tenant, or write `managed: true`"
                " into its document to hand the account over, `managed: false` to leave it alone",
                account=account.name,
            )
    described = {qos.name: qos.description for qos in have.qos}
    for qos in want.qos:
        if not described.get(qos.name, QOS_MARK).startswith(QOS_MARK):
            raise Conflict(
                f"Slurm has a QOS {qos.name} that Sluice did not make; rename it, or begin its description"
                f" with {QOS_MARK!r} to hand it over",
                qos=qos.name,
            )


def _changed_qos(want: Desired, have: AccountingState) -> list[tuple[Action, Qos]]:
    present = {qos.name: qos for qos in have.qos}
    # A QOS can only preempt one that exists: those that preempt fewer are made first.
    ordered = sorted(want.qos, key=lambda qos: len(qos.preempt))
    return [
        (_change("qos", qos.name, qos, present.get(qos.name)), qos)
        for qos in ordered
        if qos != present.get(qos.name)
    ]


def _changed_accounts(want: Desired, have: AccountingState) -> list[tuple[Action, Account]]:
    # The parent isn't compared: it is the association's.
    present = {account.name: replace(account, parent="") for account in have.accounts}
    return [
        (_change("account", account.name, replace(account, parent=""), present.get(account.name)), account)
        for account in want.accounts
        if replace(account, parent="") != present.get(account.name)
    ]


def _changed_associations(want: Desired, have: AccountingState) -> list[tuple[Action, Association]]:
    present = {(item.account, item.user): _comparable(item) for item in have.associations}
    changes = []
    for item in want.associations:
        before = present.get((item.account, item.user))
        if item != before:
            changes.append((_change("association", _name(item), item, before), item))
    return changes


def _comparable(association: Association) -> Association:
    if association.user:
        return replace(association, parent="")
    return replace(association, is_default=False)


def _changed_partitions(
    want: Desired, partitions: Iterable[PartitionStatus], draining: frozenset[str]
) -> list[tuple[Action, tuple[str, frozenset[str]]]]:
    changes = []
    for partition in sorted(partitions, key=lambda partition: partition.name):
        names = want.partition_accounts.get(partition.name)
        if names is None:
            continue
        # Queued jobs of who leaves still run out; what a person added by hand goes.
        names = names - NOBODY | ((draining | want.unmanaged.keys()) & partition.allow_accounts) or NOBODY
        if want.unmanaged and not partition.allow_accounts:
            continue  # open to everybody, as the site has it
        if names != partition.allow_accounts:
            detail = f"AllowAccounts={', '.join(sorted(names))}"
            changes.append((Action("change", "partition", partition.name, detail), (partition.name, names)))
    return changes


def leaving(want: Desired, have: AccountingState) -> tuple[Association, ...]:
    """Return the associations in accounts that Sluice made and no document wants any more."""
    wanted = {(item.account, item.user) for item in want.associations}
    made = {account.name for account in have.accounts if account.organization == ORGANIZATION}
    return tuple(
        item
        for item in have.associations
        if item.account in made - want.unmanaged.keys()
        and (item.account, item.user) not in wanted
        and not (item.user and item.account in want.unsure)
    )


def unneeded_qos(want: Desired, have: AccountingState) -> tuple[str, ...]:
    """Return the production QOS that Sluice made, no document wants and no association may use any more."""
    wanted = {qos.name for qos in want.qos}
    used = {name for item in have.associations for name in (*item.qos, item.default_qos)}
    return tuple(
        qos.name
        for qos in sorted(have.qos, key=lambda qos: qos.name)
        if qos.name.startswith(PRODUCTION_QOS_PREFIX)
        and qos.description.startswith(QOS_MARK)
        and qos.name not in wanted | used
    )


def left_alone(want: Desired, have: AccountingState) -> Iterator[Action]:
    """Yield what differs from documents that do not manage their account."""
    for name, told in sorted(want.unmanaged.items()):
        if found := ", ".join(differences(told, have)):
            yield Action("leave", "association", name, found)


class _Leaving:
    """What leaves: associations to drain, and those to remove now."""

    def __init__(self, want: Desired, have: AccountingState, live: LiveJobs) -> None:
        wanted = {(item.account, item.user) for item in want.associations}
        gone = leaving(want, have)
        self.accounts = frozenset(item.account for item in gone if not item.user)
        self.drained: list[tuple[Action, Association]] = []
        self.reasons: dict[str, str] = {}
        removed: list[Association] = []
        for item in gone:
            jobs = _jobs(item, live) if item.user else self._still_there(item, have, live, wanted)
            if not jobs:
                removed.append(item)
                continue
            self.reasons[_name(item)] = f"draining: {jobs} jobs have not ended yet"
            closed = _closed(item)
            if closed != _comparable(item):
                # The user's default is another tenant now, if there is one; that association says so.
                default = closed.is_default and not any(user == item.user for _account, user in wanted)
                action = _action("drain", closed, f"{jobs} jobs have not ended yet")
                self.drained.append((action, replace(closed, is_default=default)))
        # Users before their account, children before their parent.
        depth = {item.account: item.parent for item in have.associations if not item.user}
        self.removed = tuple(sorted(removed, key=lambda item: (not item.user, -_depth(item.account, depth))))

    @staticmethod
    def _still_there(
        account: Association, have: AccountingState, live: LiveJobs, wanted: set[tuple[str, str]]
    ) -> int:
        """Count what keeps an account: jobs of its users, and of accounts below it."""
        below = {account.account}
        for _ in have.associations:
            more = {i.account for i in have.associations if not i.user and i.parent in below} - below
            if not more:
                break
            below |= more
        return sum(count for (name, _user), count in live.items() if name in below) + sum(
            1 for name, user in wanted if not user and name in below
        )


def _closed(association: Association) -> Association:
    """Return the association as it is, but taking no new jobs."""
    before = _comparable(association)
    return replace(before, max_submit_jobs=0) if before.user else replace(before, grp_submit_jobs=0)


def _depth(account: str, parents: Mapping[str, str]) -> int:
    steps = 0
    while account in parents and steps <= len(parents):
        account, steps = parents[account], steps + 1
    return steps


def _jobs(association: Association, live: LiveJobs) -> int:
    return live.get((association.account, association.user), 0)


def _name(association: Association) -> str:
    return f"{association.account}/{association.user}" if association.user else association.account


def _action(verb: Verb, association: Association, detail: str = "") -> Action:
    return Action(verb, "association", _name(association), detail)


Item = Qos | Account | Association


def _change(kind: Kind, name: str, want: Item, have: Item | None) -> Action:
    if have is None:
        return Action("create", kind, name)
    return Action("change", kind, name, ", ".join(_differences(want, have)))


def _differences(want: Item, have: Item) -> Iterator[str]:
    for item in fields(want):
        before, after = getattr(have, item.name), getattr(want, item.name)
        if before != after:
            yield f"{item.name} {_shown(before)} -> {_shown(after)}"


def _shown(value: object) -> str:
    if isinstance(value, Mapping):
        return tres_text(value) or "none"
    if isinstance(value, frozenset):
        return ",".join(sorted(value)) or "none"
    return "none" if value in (None, "") else str(value)
