"""What a site has is imported so that nothing changes: an empty plan, and no job refused."""

from __future__ import annotations

from pathlib import Path

from bridge.policy.table import table_of
from bridge.tenants.changes import merged
from bridge.tenants.importing import imported
from bridge.tenants.source import parse_all
from tests.unit.tenants.site import Site, document


def test_accounts_that_have_a_document_are_not_imported_again(tmp_path: Path) -> None:
    site = Site(tmp_path)
    site.apply(document("astro", "ada"))
    site.slurm.add_tenant("physics", users=("paul",))
    found = imported(site.slurm.accounting_state(), site.pool(), known=["astro"])
    assert [text.file for text in found.documents] == ["physics.yaml"]
    after, _actions = merged((), found.documents, prune=False)
    assert "managed: false\nrules: observe\n" in after[0].text
    assert after[0].text.startswith("# Imported from Slurm.")


def test_a_users_default_account_stays_the_default(tmp_path: Path) -> None:
    site = Site(tmp_path)
    site.slurm.add_tenant("zoology", users=("paul", "rita"))
    site.slurm.add_tenant("physics", users=("paul",))
    found = imported(site.slurm.accounting_state(), site.pool())
    table = table_of([sourced.tenant for sourced in parse_all(found.documents)], site.pool())
    assert (table.users["paul"].default, table.users["paul"].tenants) == ("zoology", ("physics", "zoology"))
    assert "default" not in "".join(text.text for text in found.documents if "rita" not in text.text)


def test_describing_a_second_account_of_a_member_does_not_move_the_members_default(tmp_path: Path) -> None:
    site = Site(tmp_path)
    site.apply(document("zoology", "paul"))
    site.slurm.add_tenant("physics", users=("paul",))
    found = imported(site.slurm.accounting_state(), site.pool(), known=["zoology"])
    passwd = (site.root / "users" / "passwd").read_text()
    site.apply(*found.documents)
    assert site.tenants.validate([]).actions == ()
    assert (site.root / "users" / "passwd").read_text() == passwd
    assert site.slurm.associations["zoology", "paul"].is_default
