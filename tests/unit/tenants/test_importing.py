"""What a site has is imported so that nothing changes: an empty plan, and no job refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from bridge.errors import TenantError
from bridge.policy.table import table_of
from bridge.slurm.port import PartitionStatus
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


def test_a_partition_without_gpus_is_a_flavor_and_its_accounts_change_nothing(tmp_path: Path) -> None:
    site = Site(tmp_path)
    site.slurm.add_node("cpu1", gpus={}, partitions=("plain",))
    site.slurm.partition_table["plain"] = PartitionStatus(name="plain", up=True, nodes="cpu1")
    site.slurm.add_tenant("physics", users=("paul",))
    found = imported(site.slurm.accounting_state(), site.pool())
    site.apply(*found.documents)
    assert site.tenants.validate([]).actions == ()
    table = table_of([sourced.tenant for sourced in parse_all(found.documents)], site.pool())
    assert table.tenants["physics"].limit["plain"] == 32
    assert site.slurm.partition_table["plain"].allow_accounts == frozenset()


def test_a_grant_of_nodes_without_gpus_limits_cpus_and_opens_their_partition(tmp_path: Path) -> None:
    site = Site(tmp_path)
    site.slurm.add_node("cpu1", gpus={}, partitions=("plain",))
    site.slurm.partition_table["plain"] = PartitionStatus(name="plain", up=True, nodes="cpu1")
    site.apply(document("astro", "ada", flavors="{h100: {limit: 2}, plain: {limit: 16}}"))
    assert site.slurm.partition_table["plain"].allow_accounts == {"astro"}
    # 16 CPUs there, and 4 with each of 2 GPUs.
    limits = site.slurm.associations["astro", ""].grp_tres
    assert limits == {"gres/gpu": 2, "gres/gpu:h100": 2, "gres/gpu:a100": 0, "cpu": 24}
    with pytest.raises(TenantError, match="flavor plain has no GPUs, and only GPUs are guaranteed"):
        site.apply(document("astro", "ada", flavors="{plain: {limit: 16, guarantee: 1}}"))
    assert site.apply(document("astro", "ada", flavors="{plain: {limit: 16}}", limits="{max_cpus: 8}"))
    assert site.slurm.associations["astro", ""].grp_tres["cpu"] == 8


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
