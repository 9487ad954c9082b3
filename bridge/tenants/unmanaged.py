"""Accounts that a document describes and does not manage: what differs in Slurm is shown, and left alone.

Pure. Of such an account only what a document can say is compared: parent, share, GPU limits, numbers of
jobs, longest time, members. QOS, and limits of single users, are the site's.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from bridge.policy.tenant import may_be_member, may_be_tenant
from bridge.slurm.port import AccountingState, Association
from bridge.tenants.accounts import Unmanaged

ROOT: Final = "root"
WEIGHTS: Final = range(1, 65534)
"""Shares that a document can say; Slurm has others (``parent``)."""


def differences(told: Unmanaged, have: AccountingState) -> Iterator[str]:
    """Yield what differs as ``field Slurm's -> document's``; what no document can say is not compared."""
    want = told.association
    accounts = {item.account: item for item in have.associations if not item.user}
    account = accounts.get(want.account)
    if account is None:
        yield "the account is not in Slurm"
        return
    yield from _limits(want, account)
    for tres, whole in sorted(told.pool_gpus.items()):
        above = accounts.get(account.parent)
        most = whole if above is None else gpus_of(tres, whole, above, accounts)
        before, after = min(account.grp_tres.get(tres, most), most), min(want.grp_tres.get(tres, 0), most)
        if before != after:
            yield f"{tres} {_shown(account.grp_tres.get(tres))} -> {want.grp_tres.get(tres, 0)}"
    users = {item.user for item in have.associations if item.account == want.account and item.user}
    for user in sorted(told.members - users):
        yield f"user {user} is not in Slurm's account"
    for user in sorted(users - told.members):
        if may_be_member(user):
            yield f"user {user} is not in the document"


def gpus_of(tres: str, whole: int, account: Association, accounts: Mapping[str, Association]) -> int:
    """Return how many GPUs an account may use: its limit and those above it, at most the `whole` pool."""
    most, step, seen = whole, account, set[str]()
    while step.account not in seen:
        seen.add(step.account)
        most = min(most, step.grp_tres.get(tres, most))
        step = accounts.get(step.parent, step)
    return most


def _limits(want: Association, have: Association) -> Iterator[str]:
    if have.parent != want.parent and (have.parent == ROOT or may_be_tenant(have.parent)):
        yield f"parent {have.parent} -> {want.parent}"
    if have.shares != want.shares and have.shares in WEIGHTS:
        yield f"shares {have.shares} -> {want.shares}"
    for tres in ("node", "cpu", "mem"):
        before, after = have.grp_tres.get(tres), want.grp_tres.get(tres)
        if before not in (0, after):
            yield f"{tres} {_shown(before)} -> {_shown(after)}"
    for name in ("grp_jobs", "max_jobs", "grp_submit_jobs", "max_submit_jobs", "max_wall_min"):
        before, after = getattr(have, name), getattr(want, name)
        if before not in (0, after):
            yield f"{name} {_shown(before)} -> {_shown(after)}"


def _shown(value: object) -> str:
    return "none" if value in (None, "") else str(value)
