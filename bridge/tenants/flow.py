"""Applies tenant documents: source -> users -> accounts, associations, QOS, partitions -> table -> removals.

The only place of this package that does I/O. What flows in: documents (from a caller, or what lies in the
folder), Slurm through its port. What flows out: the plan as it was carried out, and a state a tenant. Every
step is repeatable: after a failure in the middle the next pass goes on where this one stopped, and a tenant
enters the table (and so can submit) only when everything before it is done. One apply at a time.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from typing import Final

import structlog

from bridge.errors import NotFound, SluiceError
from bridge.policy.lua import render
from bridge.policy.pool import Pool, Sourced, document_faults, pool_of
from bridge.policy.table import PolicyTable, table_of
from bridge.slurm.port import Slurm
from bridge.tenants.accounts import desired
from bridge.tenants.changes import merged, named_as_given, new_capacity_faults, revision, without
from bridge.tenants.plan import Action, LiveJobs, Plan, leaving, plan
from bridge.tenants.policy_files import PolicyFiles
from bridge.tenants.source import Folder, Text, parse_all, refuse
from bridge.tenants.users import UserFiles, allocate, full_names

_log = structlog.get_logger(__name__)
SETTLED: Final = "applied"


@dataclass(frozen=True, slots=True)
class TenantState:
    """Where a tenant stands: whether all of it is in force, one sentence, since when (UTC)."""

    applied: bool
    message: str
    at: datetime


@dataclass(frozen=True, slots=True)
class View:
    """What is known now, for whoever asks; replaced as a whole."""

    revision: int = 0
    documents: tuple[Sourced, ...] = ()
    states: Mapping[str, TenantState] = field(default_factory=dict)
    pool: Pool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Wanted:
    """Documents that passed every check, and what follows from them."""

    documents: tuple[Sourced, ...]
    revision: int
    uids: Mapping[str, int]
    pool: Pool
    table: PolicyTable


def _now() -> datetime:
    return datetime.now(UTC)


class Tenants:
    """The tenants of one cluster.

    Parameters
    ----------
    slurm
        The port.
    folder, users, policy
        Where documents, users and the rendered table are kept.
    clock
        Aware UTC now; the time of the states.
    """

    def __init__(
        self,
        *,
        slurm: Slurm,
        folder: Folder,
        users: UserFiles,
        policy: PolicyFiles,
        clock: Callable[[], datetime] = _now,
    ) -> None:
        self._slurm = slurm
        self._folder = folder
        self._users = users
        self._policy = policy
        self._clock = clock
        self._one_at_a_time = threading.Lock()
        self._view = View()

    @property
    def view(self) -> View:
        """What was last known; never waits."""
        return self._view

    def validate(self, texts: Sequence[Text], *, prune: bool = False) -> tuple[Action, ...]:
        """Return what applying these documents would do. Raises what `apply` would raise."""
        with self._one_at_a_time:
            before = self._folder.texts()
            after, changes = merged(before, texts, prune=prune)
            with named_as_given(before, texts):
                wanted = self._check(before, after)
            return (*changes, *self._plan(wanted).actions)

    def apply(self, texts: Sequence[Text], *, actor: str, prune: bool = False) -> tuple[Action, ...]:
        """Write the documents and carry everything out; returns what was done.

        Raises
        ------
        TenantError
            Something is wrong in a document; nothing was written.
        Unavailable
            Slurm doesn't answer. Before the documents are checked nothing was written; later, what is
            missing is done by the next pass.
        """
        with self._one_at_a_time:
            before = self._folder.texts()
            after, changes = merged(before, texts, prune=prune)
            with named_as_given(before, texts):
                return self._change(before, after, changes, actor)

    def remove(self, name: str, *, actor: str) -> tuple[Action, ...]:
        """Remove one tenant's document: it drains, then leaves Slurm. `NotFound` for an unknown name."""
        with self._one_at_a_time:
            before = self._folder.texts()
            after = without(before, name)
            if after == before:
                raise NotFound(f"there is no tenant {name}", tenant=name)
            return self._change(before, after, (Action("remove", "document", name),), actor)

    def reconcile(self) -> tuple[Action, ...]:
        """Bring Slurm, users and table to what the folder says; returns what had drifted.

        A folder that somebody broke by hand changes nothing: what is in force stays.
        """
        with self._one_at_a_time:
            texts = self._folder.texts()
            return self._carry_out(self._check(texts, texts))

    # Steps ------------------------------------------------------------------------------------------

    def _change(
        self, before: Sequence[Text], after: Sequence[Text], changes: tuple[Action, ...], actor: str
    ) -> tuple[Action, ...]:
        wanted = self._check(before, after)
        old, new = ({text.file: text.text for text in texts} for texts in (before, after))
        for file in sorted(old.keys() | new.keys()):
            if old.get(file) != new.get(file):
                _log.info("audit", actor=actor, file=file, before=old.get(file), after=new.get(file))
        self._folder.write({file: text for file, text in new.items() if old.get(file) != text})
        self._folder.remove(file for file in old if file not in new)
        return (*changes, *self._carry_out(wanted))

    def _check(self, before: Sequence[Text], after: Sequence[Text]) -> _Wanted:
        documents = parse_all(after)
        refuse(document_faults(documents))
        uids = allocate(self._users.known(), documents)
        try:
            nodes, partitions = self._slurm.nodes(), self._slurm.partitions()
        except SluiceError as error:
            if list(before) == list(after):
                self._show(documents, revision(after), self._view.pool, failed=error)
            raise
        pool = pool_of(nodes, partitions)
        refuse(new_capacity_faults(before, after, documents, pool))
        return _Wanted(
            documents=documents,
            revision=revision(after),
            uids=uids,
            pool=pool,
            table=table_of([sourced.tenant for sourced in documents], pool),
        )

    def _plan(self, wanted: _Wanted, *, live: LiveJobs | None = None) -> Plan:
        want = desired([sourced.tenant for sourced in wanted.documents], wanted.pool, wanted.table)
        have = self._slurm.accounting_state()
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

    def _carry_out(self, wanted: _Wanted) -> tuple[Action, ...]:
        try:
            actions, draining = self._steps(wanted)
        except SluiceError as error:
            self._show(wanted.documents, wanted.revision, wanted.pool, failed=error)
            raise
        self._show(wanted.documents, wanted.revision, wanted.pool, draining=draining)
        for action in actions:
            _log.info("tenants changed", **asdict(action))
        return actions

    def _steps(self, wanted: _Wanted) -> tuple[tuple[Action, ...], Mapping[str, str]]:
        actions: list[Action] = []
        new = wanted.uids.keys() - self._users.known().keys()
        if self._users.write(wanted.uids, full_names(wanted.documents)):
            actions += [Action("create", "user", user, f"uid {wanted.uids[user]}") for user in sorted(new)]
        steps = self._plan(wanted, live={})
        self._put(steps)
        actions += [action for action in steps.actions if action.verb in ("create", "change")]
        if self._policy.write(render(wanted.table)):
            actions.append(Action("change", "table", "table.lua"))
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
        return (*actions, *steps.actions, *closed), steps.draining

    def _put(self, steps: Plan) -> None:
        if steps.qos:
            self._slurm.put_qos(steps.qos)
        if steps.accounts:
            self._slurm.put_accounts(steps.accounts)
        if steps.associations:
            self._slurm.put_associations(steps.associations)
        self._open_partitions(steps)

    def _open_partitions(self, steps: Plan) -> None:
        for partition, accounts in steps.partition_accounts.items():
            self._slurm.set_partition_accounts(partition, accounts)

    def _show(
        self,
        documents: tuple[Sourced, ...],
        number: int,
        pool: Pool | None,
        *,
        draining: Mapping[str, str] | None = None,
        failed: SluiceError | None = None,
    ) -> None:
        now, old = self._clock(), self._view.states
        fresh: dict[str, TenantState] = {}
        for sourced in documents:
            name = sourced.tenant.name
            gone = [
                f"{who.partition('/')[2]} {why}"
                for who, why in (draining or {}).items()
                if who.startswith(f"{name}/")
            ]
            message = failed.message if failed else "; ".join(gone) or SETTLED
            fresh[name] = TenantState(failed is None, message, now)
        for who, why in (draining or {}).items():
            if "/" not in who:
                fresh.setdefault(who, TenantState(False, why, now))
        states = {name: _kept(old.get(name), state) for name, state in fresh.items()}
        self._view = View(number, documents, states, pool)


def _kept(old: TenantState | None, new: TenantState) -> TenantState:
    same = old is not None and (old.applied, old.message) == (new.applied, new.message)
    return old if old is not None and same else new
