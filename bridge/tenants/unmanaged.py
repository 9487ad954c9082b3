"""Accounts that a document describes and does not manage: what differs in Slurm is shown, and left alone.

Pure. Of such an account only what a document can say is compared: parent, share, GPU limits, numbers of
jobs, longest time, members. QOS, and limits of single users, are the site's.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from bridge.slurm.port import AccountingState, Association
from bridge.tenants.accounts import Unmanaged

WEIGHTS: Final = range(1, 65534)
"""Shares that a document can say; Slurm has others (``parent``)."""


def differences(told: Unmanaged, have: AccountingState) -> Iterator[str]:
    """Yield what differs as ``field Slurm's -> document's``."""
    want = told.association
    present = {item.user: item for item in have.associations if item.account == want.account}
    account = present.get("")
    if account is None:
        yield "the account is not in Slurm"
        return
    yield from _limits(want, account)
    yield from _gpus(want.grp_tres, account.grp_tres, told.pool_gpus)
    for user in sorted(told.members - present.keys()):
        yield f"user {user} is not in Slurm's account"
    for user in sorted(present.keys() - told.members - {""}):
        yield f"user {user} is not in the document"


def _limits(want: Association, have: Association) -> Iterator[str]:
    for name in ("parent", "shares", "grp_jobs", "grp_submit_jobs", "max_submit_jobs", "max_wall_min"):
        before, after = getattr(have, name), getattr(want, name)
        if before != after and not (name == "shares" and before not in WEIGHTS):
            yield f"{name} {_shown(before)} -> {_shown(after)}"


def _gpus(want: Mapping[str, int], have: Mapping[str, int], pool: Mapping[str, int]) -> Iterator[str]:
    for tres, whole in sorted(pool.items()):
        before, after = min(have.get(tres, whole), whole), min(want.get(tres, 0), whole)
        if before != after:
            yield f"{tres} {_shown(have.get(tres))} -> {want.get(tres, 0)}"


def _shown(value: object) -> str:
    return "none" if value in (None, "") else str(value)
