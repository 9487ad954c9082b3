"""Carries out what the documents ask: users -> QOS, accounts, associations, partitions -> table -> removals.

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
from bridge.policy.pool import Pool
from bridge.policy.table import PolicyTable
from bridge.policy.tenant import JobClass
from bridge.slurm.port import AccountingState, Slurm
from bridge.tenants.accounts import desired
from bridge.tenants.directory import SiteUser
from bridge.tenants.plan import Action, LiveJobs, Plan, leaving, plan
from bridge.tenants.policy_files import PolicyFiles
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
        classes: Mapping[JobClass, ClassRules] = CLASS_RULES,
    ) -> None:
        self._slurm = slurm
        self._users = users
        self._policy = policy
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
        if not steps.removals:
            return tuple(actions), {}
        # Only now, when the table lets no new job of theirs in, are the jobs of those who leave counted.
        steps = self._plan(wanted)
        self._put(steps)
        for gone in steps.removals:
            self._slurm.remove_association(account=gone.account, user=gone.user)
        closing = self._plan(wanted)
        self._open_partitions(closing)
        closed = [action for action in closing.actions if action.kind == "partition"]
        done = [action for action in steps.actions if action.verb != "leave"]
        return (*actions, *done, *closed), steps.draining

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
        actions = (*self._new_users(wanted), *steps.actions, *table)
        if not steps.removals:
            return actions
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
        return (*actions, *(action for action in closed if action not in actions))

    def _new_users(self, wanted: Wanted) -> list[Action]:
        new = wanted.uids.keys() - self._users.known().keys()
        return [Action("create", "user", user, f"uid {wanted.uids[user]}") for user in sorted(new)]

    def _plan(
        self, wanted: Wanted, *, live: LiveJobs | None = None, have: AccountingState | None = None
    ) -> Plan:
        tenants = [sourced.tenant for sourced in wanted.documents]
        want = replace(desired(tenants, wanted.pool, wanted.table, self._classes), unsure=wanted.unsure)
        have = have or self._slurm.accounting_state()
        if live is None:
            # All jobs are listed only when somebody leaves; most passes see nothing to do.
            live = self._live() if leaving(want, have) else {}
        return plan(want, have, self._slurm.partitions(), live)

    def _live(self) -> LiveJobs:
        live = Counter[tuple[str, str]]()
        for job in self._slurm.jobs():
            if not job.state.finished:
                live[job.account, job.user] += 1
        return live
