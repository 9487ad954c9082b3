"""Carries out what the documents ask: users -> what is in Slurm -> table -> queue -> removals.

Does I/O, for `bridge.tenants.flow`, which holds the lock. Every step is repeatable: after a failure in the
middle the next pass goes on where this one stopped, and a tenant enters the table (and so can submit) only
when everything before it is done.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from bridge.policy.classes import CLASS_RULES, ClassRules
from bridge.policy.documents import Sourced
from bridge.policy.lua import render
from bridge.policy.moment import Moment
from bridge.policy.pool import Pool
from bridge.policy.table import PolicyTable
from bridge.policy.tenant import JobClass
from bridge.slurm.port import AccountingState, Slurm
from bridge.tenants.accounts import Desired, desired
from bridge.tenants.directory import SiteUser
from bridge.tenants.plan import Action, LiveJobs, Plan, leaving, plan, unneeded_qos
from bridge.tenants.policy_files import PolicyFiles
from bridge.tenants.queue import Queue
from bridge.tenants.users import UserFiles, full_names

TABLE: Final = "table.lua"
ASSOCIATIONS_AT_ONCE: Final = 5000
"""In one call of the port: a minute of slurmdbd, so that a call ends long before its deadline."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """Documents that passed every check, and what follows from them."""

    documents: tuple[Sourced, ...]
    revision: int
    uids: Mapping[str, int]
    pool: Pool
    moment: Moment
    table: PolicyTable
    notes: Mapping[str, str] = field(default_factory=dict)
    """Tenant to what is odd about its members by group."""
    site_users: Mapping[str, SiteUser] = field(default_factory=dict)
    """Members whom the site's own directory knows."""
    unsure: frozenset[str] = frozenset()
    """Tenants of whose members by group nothing is known: nobody leaves them now."""


class Carrier:
    """The hands: Slurm's port, the users' files, the policy's files; QOS are made of `classes`."""

    def __init__(
        self,
        *,
        slurm: Slurm,
        users: UserFiles,
        policy: PolicyFiles,
        queue: Queue,
        classes: Mapping[JobClass, ClassRules] = CLASS_RULES,
    ) -> None:
        self._slurm = slurm
        self._users = users
        self._policy = policy
        self._queue = queue
        self._classes = classes

    def carry_out(self, wanted: Wanted) -> tuple[tuple[Action, ...], Mapping[str, str]]:
        """Do everything that is missing; returns what was done, and who drains (account to the reason)."""
        actions: list[Action] = []
        new = self._new_users(wanted)
        self._users.write_site_users(wanted.site_users)
        if self._users.write(wanted.uids, full_names(wanted.documents)):
            actions += new
        self._users.settle()  # slurmctld looks a user up when it hears of the association, and not again
        steps = self._plan(wanted, live={})
        self._put(steps)
        actions += [action for action in steps.actions if action.verb in ("create", "change")]
        if self._policy.write(render(wanted.table)):
            actions.append(Action("change", "table", TABLE))
        actions += self._queue.settle(wanted.table)
        if not steps.removals:
            return (*actions, *self._drop_qos(wanted)), {}
        # Only now, when the table lets no new job of theirs in, are the jobs of those who leave counted.
        steps = self._plan(wanted)
        self._put(steps)
        for gone in steps.removals:
            self._slurm.remove_association(account=gone.account, user=gone.user)
        closing = self._plan(wanted)
        self._open_partitions(closing)
        closed = [action for action in closing.actions if action.kind == "partition"]
        done = [action for action in steps.actions if action.verb != "leave"]
        return (*actions, *done, *closed, *self._drop_qos(wanted)), steps.draining

    def _drop_qos(self, wanted: Wanted) -> tuple[Action, ...]:
        """Remove production QOS that no document, no association and no job needs any more."""
        gone = self._unneeded(self._desired(wanted), self._slurm.accounting_state())
        if gone:
            self._slurm.remove_qos(gone)
        return tuple(Action("remove", "qos", name) for name in gone)

    def _unneeded(self, want: Desired, have: AccountingState) -> tuple[str, ...]:
        left = unneeded_qos(want, have)
        live = {job.qos for job in self._slurm.jobs() if not job.state.finished} if left else set()
        return tuple(name for name in left if name not in live)

    def _put(self, steps: Plan) -> None:
        if steps.qos:
            self._slurm.put_qos(steps.qos)
        if steps.accounts:
            self._slurm.put_accounts(steps.accounts)
        for first in range(0, len(steps.associations), ASSOCIATIONS_AT_ONCE):
            self._slurm.put_associations(steps.associations[first : first + ASSOCIATIONS_AT_ONCE])
        self._open_partitions(steps)

    def _open_partitions(self, steps: Plan) -> None:
        for partition, accounts in steps.partition_accounts.items():
            self._slurm.set_partition_accounts(partition, accounts)

    def foreseen(self, wanted: Wanted, have: AccountingState) -> tuple[Action, ...]:
        """Say what `carry_out` would do, with slurmdbd as it is in `have`."""
        table = [] if self._policy.in_force(render(wanted.table)) else [Action("change", "table", TABLE)]
        steps = self._plan(wanted, have=have)
        waiting = self._queue.foreseen(wanted.table)
        actions = (*self._new_users(wanted), *steps.actions, *table, *waiting)
        want = self._desired(wanted)
        if not steps.removals:
            return (*actions, *(Action("remove", "qos", name) for name in self._unneeded(want, have)))
        # Partitions are closed only when those who leave are gone.
        left = tuple(item for item in have.associations if item not in steps.removals)
        accounts = {item.account for item in left}
        later = replace(
            have,
            associations=left,
            accounts=tuple(account for account in have.accounts if account.name in accounts),
        )
        closing = self._plan(wanted, have=later)
        closed = [action for action in closing.actions if action.kind == "partition"]
        gone = (Action("remove", "qos", name) for name in self._unneeded(want, later))
        return (*actions, *(action for action in closed if action not in actions), *gone)

    def _new_users(self, wanted: Wanted) -> list[Action]:
        new = wanted.uids.keys() - self._users.known().keys()
        return [Action("create", "user", user, f"uid {wanted.uids[user]}") for user in sorted(new)]

    def _plan(
        self, wanted: Wanted, *, live: LiveJobs | None = None, have: AccountingState | None = None
    ) -> Plan:
        want = self._desired(wanted)
        have = have or self._slurm.accounting_state()
        if live is None:
            # All jobs are listed only when somebody leaves; most passes see nothing to do.
            live = self._live() if leaving(want, have) else {}
        return plan(want, have, self._slurm.partitions(), live)

    def _desired(self, wanted: Wanted) -> Desired:
        tenants = [sourced.tenant for sourced in wanted.documents]
        want = desired(tenants, wanted.pool, wanted.table, self._classes)
        return replace(want, unsure=wanted.unsure)

    def _live(self) -> LiveJobs:
        live = Counter[tuple[str, str]]()
        for job in self._slurm.jobs():
            if not job.state.finished:
                live[job.account, job.user] += 1
        return live
