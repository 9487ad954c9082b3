"""Reads what a site has in slurmdbd already and writes it as tenant documents that change nothing.

Pure. What flows in: accounts and associations, the pool. What flows out: one document an account, with
``managed: false`` and ``rules: observe``, and notes on what a document can't say. The plan of these documents
is empty: `bridge.tenants.unmanaged` compares what is written here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import yaml
from pydantic import ValidationError

from bridge.policy.faults import faults
from bridge.policy.pool import Pool
from bridge.policy.tenant import MAX_DISPLAY, Tenant, may_be_member
from bridge.slurm.port import Account, AccountingState, Association
from bridge.tenants.source import Text
from bridge.tenants.unmanaged import WEIGHTS, gpus_of

ROOT: Final = "root"
HEADER: Final = """\
# Imported from Slurm. Nothing of this account is changed, and its jobs are only observed, until
# `managed` and `rules` say otherwise.
"""


@dataclass(frozen=True, slots=True)
class Imported:
    """The documents, and what was left out, each in one sentence."""

    documents: tuple[Text, ...]
    notes: tuple[str, ...]


def imported(have: AccountingState, pool: Pool, *, known: Iterable[str] = ()) -> Imported:
    """Describe the accounts of slurmdbd; those in `known` have a document already."""
    accounts = {item.account: item for item in have.associations if not item.user}
    about = {account.name: account for account in have.accounts}
    left_out = {ROOT, *known}
    defaults = _defaults(have)
    notes: list[str] = []
    found: dict[str, Tenant] = {}
    for name in _parents_first(accounts):
        if name in left_out:
            continue
        users = sorted(item.user for item in have.associations if item.account == name and item.user)
        values = _values(accounts[name], about.get(name), pool, accounts)
        values["members"] = [
            {"user": user, "default": (name, user) in defaults} for user in users if may_be_member(user)
        ]
        values["parent"] = accounts[name].parent if accounts[name].parent in found else None
        try:
            found[name] = Tenant.model_validate(values)
        except ValidationError as error:
            notes.append(f"account {name} is left out: {faults(error)[0].message}")
            continue
        notes.extend(
            f"user {user} of account {name} is left out: a member can't have this name"
            for user in users
            if not may_be_member(user)
        )
    return Imported(tuple(_text(tenant) for tenant in found.values()), tuple(notes))


def _defaults(have: AccountingState) -> frozenset[tuple[str, str]]:
    """Return (account, user) of each user's default account, for users of several."""
    several = Counter(item.user for item in have.associations)
    return frozenset(
        (item.account, item.user)
        for item in have.associations
        if item.user and item.is_default and several[item.user] > 1
    )


def _parents_first(accounts: Mapping[str, Association]) -> list[str]:
    def depth(name: str) -> int:
        steps = 0
        while name in accounts and steps <= len(accounts):
            name, steps = accounts[name].parent, steps + 1
        return steps

    return sorted(accounts, key=lambda name: (depth(name), name))


def _values(
    account: Association, about: Account | None, pool: Pool, accounts: Mapping[str, Association]
) -> dict[str, Any]:
    described = about.description if about else ""
    flavors = {
        name: {
            # Slurm limits CPUs of an account, not of one partition: the account's own limit stands below.
            "limit": flavor.configured
            if flavor.kind == "cpu"
            else gpus_of(f"gres/gpu:{flavor.gres_type}", flavor.configured, account, accounts)
        }
        for name, flavor in pool.flavors.items()
    }
    return {
        "name": account.account,
        "display_name": "".join(c for c in described if c.isprintable())[:MAX_DISPLAY],
        "weight": account.shares if account.shares in WEIGHTS else 1,
        "flavors": {name: grant for name, grant in flavors.items() if grant["limit"] > 0},
        # What is 0 in Slurm no document can say: it is left out here, and not compared later.
        "limits": {
            "max_walltime_min": account.max_wall_min or None,
            "max_running_jobs": account.grp_jobs or None,
            "max_running_jobs_per_user": account.max_jobs or None,
            "max_nodes": account.grp_tres.get("node") or None,
            "max_cpus": account.grp_tres.get("cpu") or None,
            "max_memory_mib": account.grp_tres.get("mem") or None,
            "max_submitted_jobs": account.grp_submit_jobs or None,
            "max_submitted_jobs_per_user": account.max_submit_jobs or None,
        },
        "managed": False,
        "rules": "observe",
    }


def _text(tenant: Tenant) -> Text:
    values = tenant.model_dump(mode="json", exclude_defaults=True)
    return Text(f"{tenant.name}.yaml", HEADER + yaml.safe_dump(values, sort_keys=False, allow_unicode=True))
