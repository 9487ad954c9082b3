"""The tenants of one cluster: documents are checked, previewed, written to their source and carried out.

What flows in: documents (from a caller, or what lies in the folder), Slurm through its port. What flows out:
plans, the audit log, and a state a tenant. One change at a time: a later one sees what the earlier one made.
How a change reaches Slurm, users and table is `bridge.tenants.carry`'s.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime

import structlog

from bridge.errors import NotFound, SluiceError, TenantError
from bridge.policy.classes import with_times
from bridge.policy.documents import document_faults
from bridge.policy.pool import pool_of
from bridge.policy.site import NO_SITE, Site
from bridge.policy.table import table_of
from bridge.slurm.port import Slurm
from bridge.tenants.audit import AuditLog, Change, Entry
from bridge.tenants.carry import Carrier, Wanted
from bridge.tenants.changes import (
    Edit,
    check_expected,
    edits,
    merged,
    named_as_given,
    new_capacity_faults,
    revision,
    without,
)
from bridge.tenants.directory import NoDirectory, SiteDirectory
from bridge.tenants.membership import Membership
from bridge.tenants.moments import Moments
from bridge.tenants.plan import Action
from bridge.tenants.policy_files import PolicyFiles
from bridge.tenants.queue import Queue
from bridge.tenants.source import Source, Text, parse_all, refuse
from bridge.tenants.state import Outcome, View, states_of
from bridge.tenants.users import UserFiles, allocate

_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Preview:
    """What a change would do: the steps, the documents that it touches, the revision it was made from."""

    actions: tuple[Action, ...]
    edits: tuple[Edit, ...]
    revision: int


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
    site
        What the site settles beside the documents.
    directory
        The site's own users and groups; None where there are none.
    clock
        Aware UTC now; the time of the states.
    """

    def __init__(
        self,
        *,
        slurm: Slurm,
        folder: Source,
        users: UserFiles,
        policy: PolicyFiles,
        site: Site = NO_SITE,
        directory: SiteDirectory | None = None,
        clock: Callable[[], datetime] = _now,
    ) -> None:
        self._slurm = slurm
        self._folder = folder
        self._audit = AuditLog(folder.path)
        self._users = users
        self._membership = Membership(directory or NoDirectory(), folder.path)
        self._moments = Moments(slurm=slurm, folder=folder.path)
        queue = Queue(slurm=slurm, folder=policy.folder, clock=clock)
        times = with_times(site.class_times)
        self._carrier = Carrier(slurm=slurm, users=users, policy=policy, queue=queue, classes=times)
        self.site = site
        self._clock = clock
        self._one_at_a_time = threading.Lock()
        self._view = View()

    @property
    def view(self) -> View:
        """What was last known; never waits."""
        return self._view

    def validate(self, texts: Sequence[Text], *, prune: bool = False) -> Preview:
        """Return what applying these documents would do. Raises what `apply` would raise.

        Without documents (and without `prune`) it is what has drifted.
        """
        with self._one_at_a_time:
            before = self._folder.texts()
            after, changes = merged(before, texts, prune=prune)
            with named_as_given(before, texts):
                return self._preview(before, after, changes)

    def validate_removal(self, name: str) -> Preview:
        """Return what `remove` would do."""
        with self._one_at_a_time:
            before = self._folder.texts()
            after = self._without(before, name)
            return self._preview(before, after, (Action("remove", "document", name),))

    def apply(
        self,
        texts: Sequence[Text],
        *,
        actor: str,
        prune: bool = False,
        expected: Mapping[str, str | None] | None = None,
        revision: int | None = None,
    ) -> tuple[Action, ...]:
        """Write the documents and carry everything out; returns what was done.

        `expected` is what `bridge.tenants.changes.check_expected` takes; `revision` is that of all documents.

        Raises
        ------
        TenantError
            Something is wrong in a document; nothing was written.
        Outdated
            The documents aren't what the caller thinks; nothing was written.
        Unavailable
            Slurm doesn't answer. Before the documents are checked nothing was written; later, what is
            missing is done by the next pass.
        """
        with self._one_at_a_time:
            before = self._folder.texts()
            after, changes = merged(before, texts, prune=prune)
            if list(after) != list(before):  # else it was done already, perhaps by a try that broke off
                check_expected(before, expected or {}, revision)
            with named_as_given(before, texts):
                return self._change(before, after, changes, actor)

    def remove(
        self,
        name: str,
        *,
        actor: str,
        expected: Mapping[str, str | None] | None = None,
        revision: int | None = None,
    ) -> tuple[Action, ...]:
        """Remove one tenant's document: it drains, then leaves Slurm. `NotFound` for an unknown name."""
        with self._one_at_a_time:
            before = self._folder.texts()
            after = self._without(before, name)
            check_expected(before, expected or {}, revision)
            return self._change(before, after, (Action("remove", "document", name),), actor)

    def document(self, name: str) -> Text:
        """Return a tenant's document as it is written; `NotFound` for an unknown name."""
        texts = self._folder.texts()
        left = without(texts, name)
        for text in texts:
            if text not in left:
                return text
        raise _unknown(name)

    def history(self, name: str | None = None, *, limit: int = 100) -> tuple[Entry, ...]:
        """Return the changes of documents, newest first."""
        return self._audit.entries(name, limit=limit)

    def check(self, before: Sequence[Text], after: Sequence[Text]) -> None:
        """Raise what putting `after` in the place of `before` would raise; nothing is changed."""
        self._check(before, after)

    def budgets(self, exhausted: object) -> tuple[Action, ...]:
        """Take the ledger's word on used-up budgets, and bring it into force; `InputError` for none."""
        with self._one_at_a_time:
            self._moments.say(exhausted)
        return self.reconcile()

    def reconcile(self) -> tuple[Action, ...]:
        """Bring Slurm, users and table to what the folder says; returns what had drifted.

        A folder that somebody broke by hand changes nothing: what is in force stays.
        """
        with self._one_at_a_time:
            texts = self._folder.texts()
            return self._carry_out(self._check(texts, texts))

    # Steps ------------------------------------------------------------------------------------------

    @staticmethod
    def _without(before: Sequence[Text], name: str) -> tuple[Text, ...]:
        after = without(before, name)
        if after == before:
            raise _unknown(name)
        return after

    def _preview(self, before: Sequence[Text], after: Sequence[Text], changes: tuple[Action, ...]) -> Preview:
        wanted, have = self._check(before, after), self._slurm.accounting_state()
        planned = self._carrier.foreseen(wanted, have)
        drifted = frozenset(planned)
        if list(before) != list(after):
            try:
                drifted = frozenset(self._carrier.foreseen(self._check(before, before), have))
            except TenantError:  # somebody broke the folder by hand: what drifted isn't known
                drifted = frozenset()
        marked = (replace(action, drift=action in drifted) for action in planned)
        return Preview((*changes, *marked), edits(before, after), revision(before))

    def _change(
        self, before: Sequence[Text], after: Sequence[Text], changes: tuple[Action, ...], actor: str
    ) -> tuple[Action, ...]:
        wanted = self._check(before, after)
        edited = edits(before, after)
        self._audit.append([_entry(edit, actor, self._clock()) for edit in edited])
        self._folder.write({edit.file: edit.after for edit in edited if edit.after is not None})
        self._folder.remove(edit.file for edit in edited if edit.after is None)
        return (*changes, *self._carry_out(wanted))

    def _check(self, before: Sequence[Text], after: Sequence[Text]) -> Wanted:
        documents = parse_all(after)
        refuse(document_faults(documents))
        local = [item for item in documents if item.tenant.managed and item.tenant.identity == "local"]
        uids = allocate(self._users.known(), local)
        resolved = self._membership.resolved(documents, uids)
        written = {edit.file for edit in edits(before, after)}
        refuse([fault for fault in resolved.faults if fault.file in written])
        documents = resolved.documents
        try:
            nodes, partitions = self._slurm.nodes(), self._slurm.partitions()
            moment = self._moments.now(self._clock())
        except SluiceError as error:
            if list(before) == list(after):
                known = replace(self._view, revision=revision(after), documents=documents)
                self._show(known, Outcome(failed=error))
            raise
        pool = pool_of(nodes, partitions, self.site)
        refuse(new_capacity_faults(before, after, documents, pool))
        return Wanted(
            documents=documents,
            revision=revision(after),
            uids=uids,
            pool=pool,
            moment=moment,
            table=table_of([sourced.tenant for sourced in documents], pool, self.site, moment),
            notes=resolved.notes,
            site_users=resolved.site_users,
            unsure=resolved.unsure,
        )

    def _carry_out(self, wanted: Wanted) -> tuple[Action, ...]:
        view = View(wanted.revision, wanted.documents, pool=wanted.pool, moment=wanted.moment)
        try:
            actions, draining = self._carrier.carry_out(wanted)
        except SluiceError as error:
            self._show(view, Outcome(failed=error))
            raise
        self._show(view, Outcome(draining=draining, notes=wanted.notes))
        for action in actions:
            _log.info("tenants changed", **asdict(action))
        return actions

    def _show(self, view: View, outcome: Outcome) -> None:
        states = states_of(view.documents, outcome, old=self._view.states, now=self._clock())
        self._view = replace(view, states=states)


def _entry(edit: Edit, actor: str, at: datetime) -> Entry:
    change: Change = "create" if edit.before is None else "remove" if edit.after is None else "change"
    return Entry(at=at, actor=actor, change=change, tenant=edit.tenant, before=edit.before, after=edit.after)


def _unknown(name: str) -> NotFound:
    return NotFound(f"there is no tenant {name}", tenant=name)
