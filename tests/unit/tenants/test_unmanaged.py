"""Accounts that Sluice does not manage: described, compared, never written."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from pydantic import ValidationError

from bridge.policy.tenant import Tenant
from bridge.slurm.port import Association
from bridge.tenants.plan import Action
from bridge.tenants.source import Text
from tests.unit.tenants.site import Site, document


@pytest.fixture
def site(tmp_path: Path) -> Site:
    made = Site(tmp_path)
    made.slurm.add_tenant("physics", users=("paul",), qos=("normal",))
    return made


def physics(*members: str, **more: str) -> Text:
    limits = "{max_submitted_jobs: null, max_submitted_jobs_per_user: null}"
    return document(
        "physics",
        *members,
        managed="false",
        rules="observe",
        flavors="{h100: {limit: 8}, a100: {limit: 8}}",
        **{"limits": limits, **more},
    )


def shown(actions: tuple[Action, ...]) -> list[tuple[str, str, str]]:
    return [(action.verb, action.name, action.detail) for action in actions]


def writes(site: Site) -> list[str]:
    return [call for call in site.slurm.calls if call.startswith(("put_", "set_", "remove_"))]


def test_describing_an_account_writes_nothing_into_slurm(site: Site) -> None:
    before = dict(site.slurm.associations)
    assert site.apply(physics("paul")) == ["create document physics", "change table table.lua"]
    assert site.tenants.reconcile() == ()
    assert site.tenants.validate([]).actions == ()
    assert (dict(site.slurm.associations), writes(site)) == (before, [])
    assert site.tenants.view.states["physics"].applied
    assert "paul" not in (site.root / "users" / "passwd").read_text(), "the site's users are the site's"


def test_what_differs_is_shown_and_left_alone(site: Site) -> None:
    site.apply(physics("paul", "quinn"))
    account = site.slurm.associations["physics", ""]
    site.slurm.associations["physics", ""] = replace(
        account, shares=7, grp_tres={"gres/gpu:h100": 3}, grp_jobs=10
    )
    (found,) = site.tenants.validate([]).actions
    assert shown((found,)) == [
        (
            "leave",
            "physics",
            "shares 7 -> 1, grp_jobs 10 -> none, gres/gpu:h100 3 -> 8, user quinn is not in Slurm's account",
        )
    ]
    assert site.tenants.reconcile() == ()
    assert writes(site) == []


def test_an_account_that_is_not_there_is_said_and_not_made(site: Site) -> None:
    site.apply(replace(physics("paul"), text=physics("paul").text.replace("physics", "chemistry")))
    assert [a.detail for a in site.tenants.validate([]).actions] == ["the account is not in Slurm"]
    assert writes(site) == []


def test_a_managed_tenant_beside_it_takes_nothing_from_it(site: Site) -> None:
    site.slurm.set_partition_accounts("h100", frozenset({"physics"}))
    before = {key: value for key, value in site.slurm.associations.items() if key[0] == "physics"}
    site.apply(physics("paul"), document("astro", "ada"))
    after = {key: value for key, value in site.slurm.associations.items() if key[0] == "physics"}
    assert after == before
    assert site.slurm.partition_table["h100"].allow_accounts == {"physics", "astro"}
    assert site.slurm.partition_table["a100"].allow_accounts == frozenset(), "open to all, as before"
    assert site.tenants.reconcile() == ()


def test_an_account_is_handed_over_in_so_many_words(site: Site) -> None:
    site.apply(physics("paul"))
    site.slurm.calls.clear()
    text = physics("paul").text.replace("managed: false", "managed: true").replace("observe", "enforce")
    done = site.apply(Text("physics.yaml", text))
    assert {"change account physics", "change association physics", "create user paul"} <= set(done)
    assert site.slurm.associations["physics", "paul"].default_qos == "training"
    assert site.tenants.reconcile() == ()


def test_letting_go_of_an_account_leaves_it_as_it_is(site: Site) -> None:
    site.apply(document("astro", "ada"))
    before = dict(site.slurm.associations)
    let_go = document("astro", "ada", managed="false", rules="warn")
    assert "remove" not in " ".join(site.apply(let_go))
    assert dict(site.slurm.associations) == before
    site.slurm.put_associations([Association(account="astro", parent="root", shares=9)])
    site.tenants.reconcile()
    assert site.slurm.associations["astro", ""].shares == 9


def test_rules_enforce_needs_an_account_that_is_managed() -> None:
    with pytest.raises(ValidationError, match="rules enforce"):
        Tenant.model_validate({"name": "astro", "managed": False})
