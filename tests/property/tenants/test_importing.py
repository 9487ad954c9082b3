"""A grown site is imported so that nothing changes: an empty plan, and no job refused."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from bridge.policy.decide import decide
from bridge.policy.request import Request, Tolerated
from bridge.policy.table import table_of
from bridge.slurm.port import Account, Association
from bridge.tenants.importing import imported
from bridge.tenants.source import parse_all
from tests.support.effort import THOROUGH
from tests.unit.tenants.site import Site

ODD = ("Physics", "under_score", "default", "x" * 40)


def of_a_site(site: Site, seed: int, *, users: int) -> None:
    """Accounts, users and limits as sacctmgr leaves them after some years."""
    random, slurm = Random(seed), site.slurm
    names = ["root", *ODD, *(f"lab{number}" for number in range(30))]
    for place, name in enumerate(names):
        parent = "" if name == "root" else random.choice(names[:place])
        slurm.accounts[name] = Account(name=name, parent=parent, description=f"{name}: Äcc\tount")
        slurm.associations[name, ""] = Association(
            account=name,
            parent=parent,
            shares=random.choice([1, 1, 10, 0, 70000, 2147483647]),
            qos=frozenset({"normal"}),
            default_qos="normal",
            grp_tres=random.choice(
                [{}, {"cpu": 10, "mem": 500, "node": 0}, {"gres/gpu:h100": random.randrange(20)}]
            ),
            grp_jobs=random.choice([None, None, 0, 50]),
            grp_submit_jobs=random.choice([None, 0, 1000]),
            max_submit_jobs=random.choice([None, 100]),
            max_wall_min=random.choice([None, 1440]),
            max_jobs=random.choice([None, 3]),
        )
    for number in range(users):
        for account in random.sample(names[1:], random.choice([1, 1, 2])):
            user = random.choice([f"user{number}", f"user{number}", f"first.last{number}"])
            slurm.associations[account, user] = Association(
                account=account, user=user, max_submit_jobs=random.choice([None, 7]), shares=3
            )


@pytest.mark.parametrize("seed", range(8 if THOROUGH else 2))
def test_three_hundred_users_are_imported_with_an_empty_plan_and_no_refusal(
    tmp_path: Path, seed: int
) -> None:
    site = Site(tmp_path)
    of_a_site(site, seed, users=300)
    before = dict(site.slurm.associations), dict(site.slurm.partition_table), dict(site.slurm.qos)
    found = imported(site.slurm.accounting_state(), pool := site.pool())
    assert len(found.documents) == 30
    assert {note.split()[1] for note in found.notes if note.startswith("account")} == set(ODD)
    site.apply(*found.documents)
    assert site.tenants.validate([]).actions == ()
    assert site.tenants.reconcile() == ()
    after = dict(site.slurm.associations), dict(site.slurm.partition_table), dict(site.slurm.qos)
    assert after == before
    table = table_of([sourced.tenant for sourced in parse_all(found.documents)], pool)
    for account, user in site.slurm.associations:
        request = Request(user=user or "nobody", account=account, partition="gpu", qos="normal")
        assert isinstance(decide(table, request), Tolerated)
