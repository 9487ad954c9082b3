"""Members by POSIX group: who is one, who leaves, and who doesn't when the directory is away."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path

import pytest

from bridge.errors import TenantError
from bridge.job import JobSpec
from bridge.tenants.directory import Getent, SiteUser
from bridge.tenants.flow import Tenants
from bridge.tenants.source import Folder, Text
from bridge.tenants.users import UserFiles
from tests.unit.tenants.site import MOMENT, Site


class FixedDirectory:
    """Groups and users in memory; `down` is a directory that doesn't answer."""

    def __init__(self, **groups: str) -> None:
        self.listed: dict[str, list[str]] = {name: members.split() for name, members in groups.items()}
        self.uids: dict[str, int] = {}
        self.down = False

    def groups(self, names: Collection[str]) -> Mapping[str, tuple[str, ...]]:
        return {} if self.down else {name: tuple(self.listed[name]) for name in names if name in self.listed}

    def users(self, names: Collection[str]) -> Mapping[str, SiteUser]:
        if self.down:
            return {}
        every = {name for members in self.listed.values() for name in members}
        uids = {name: 5000 + number for number, name in enumerate(sorted(every))} | self.uids
        return {name: SiteUser(name, uids[name], 5000) for name in names if uids.get(name)}


def grouped(name: str, *groups: str, more: str = "") -> Text:
    listed = ", ".join(groups)
    text = f"name: {name}\nflavors: {{h100: {{limit: 2}}}}\ngroups: [{listed}]\n{more}"
    return Text(f"{name}.yaml", text)


class GroupedSite(Site):
    def __init__(self, root: Path, directory: FixedDirectory) -> None:
        self.directory = directory
        super().__init__(root)

    def restarted(self) -> Tenants:
        return Tenants(
            slurm=self.slurm,
            folder=Folder(self.root / "tenants"),
            users=UserFiles(tenants_dir=self.root / "tenants", users_dir=self.root / "users"),
            policy=self.policy,
            directory=self.directory,
            clock=lambda: MOMENT,
        )

    def members(self, account: str) -> set[str]:
        return {user for name, user in self.slurm.associations if name == account and user}

    def said(self, name: str) -> str:
        return self.tenants.view.states[name].message


@pytest.fixture
def directory() -> FixedDirectory:
    return FixedDirectory(physics="ada bela", leads="ada", empty="")


@pytest.fixture
def site(tmp_path: Path, directory: FixedDirectory) -> GroupedSite:
    return GroupedSite(tmp_path, directory)


PHYSICS = "{group: physics}"
LEADS = "{group: leads, role: manager}"


def test_a_groups_members_are_members_with_its_role_and_get_no_local_uid(site: GroupedSite) -> None:
    site.apply(grouped("astro", PHYSICS, LEADS))
    assert site.members("astro") == {"ada", "bela"}
    (document,) = site.tenants.view.documents
    assert {m.user: m.role for m in document.tenant.members} == {"ada": "manager", "bela": "member"}
    assert (site.root / "users" / "passwd").read_text() == ""
    assert (site.root / "users" / "site-passwd").read_text().splitlines() == [
        "ada:x:5000:5000:::",
        "bela:x:5001:5000:::",
    ]
    assert "groups: [{group: physics}" in site.tenants.document("astro").text, "the document stays as written"


def test_who_is_listed_keeps_the_role_of_the_list(site: GroupedSite) -> None:
    site.directory.listed["leads"] = ["chen"]
    site.apply(grouped("astro", LEADS, more="members: [{user: bela}]\n"), grouped("merlin", PHYSICS))
    roles = {
        m.user: m.role
        for d in site.tenants.view.documents
        for m in d.tenant.members
        if d.file == "astro.yaml"
    }
    assert roles == {"bela": "member", "chen": "manager"}


def test_who_leaves_the_group_is_drained_and_no_running_job_ends(site: GroupedSite) -> None:
    site.apply(grouped("astro", PHYSICS))
    site.slurm.add_user("bela", 5001)
    job = site.slurm.submit(_job(), user="bela").job_id
    site.slurm.start(job)
    site.directory.listed["physics"].remove("bela")
    site.tenants.reconcile()
    assert site.slurm.associations["astro", "bela"].max_submit_jobs == 0
    assert site.slurm.job(job)[0].state.base == "RUNNING"
    assert "draining" in site.said("astro")
    site.slurm.finish(job)
    site.tenants.reconcile()
    assert site.members("astro") == {"ada"}
    assert site.said("astro") == "applied"


def test_who_joins_the_group_is_a_member_with_the_next_pass(site: GroupedSite) -> None:
    site.apply(grouped("astro", PHYSICS))
    site.directory.listed["physics"].append("chen")
    site.tenants.reconcile()
    assert "chen" in site.members("astro")


def test_nobody_leaves_because_the_directory_is_away(site: GroupedSite) -> None:
    site.apply(grouped("astro", PHYSICS))
    site.directory.down = True
    assert site.tenants.reconcile() == ()
    site.tenants = site.restarted()
    assert site.tenants.reconcile() == ()
    assert site.members("astro") == {"ada", "bela"}
    assert "last known members stay" in site.said("astro")
    site.directory.down = False
    site.tenants.reconcile()
    assert site.said("astro") == "applied"


@pytest.mark.parametrize("broken", ["", "[]", "{", '{"physics": 7}'])
def test_not_even_when_what_was_known_is_lost(site: GroupedSite, broken: str) -> None:
    site.apply(grouped("astro", PHYSICS))
    (site.root / "tenants" / ".groups.json").write_text(broken)
    site.directory.down = True
    site.tenants.reconcile()
    assert site.members("astro") == {"ada", "bela"}


def test_a_group_that_answers_empty_is_empty(site: GroupedSite) -> None:
    site.apply(grouped("astro", PHYSICS))
    site.directory.listed["physics"] = []
    site.tenants.reconcile()
    assert site.members("astro") == set()


def test_a_group_taken_out_of_the_document_takes_its_members_along(site: GroupedSite) -> None:
    site.apply(grouped("astro", PHYSICS, LEADS))
    site.directory.down = True
    site.apply(grouped("astro", LEADS))
    assert site.members("astro") == {"ada"}


def test_a_group_that_is_not_there_is_refused_when_it_is_written(site: GroupedSite) -> None:
    site.apply(grouped("merlin", PHYSICS))
    with pytest.raises(TenantError, match=r"groups\[0\].group: group phisics is not known"):
        site.apply(grouped("astro", "{group: phisics}"))
    assert site.members("astro") == set()
    del site.directory.listed["physics"]
    site.apply(grouped("other", LEADS))  # another's group is no reason to refuse this one


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("root", "no name"),
        ("www-data", "no name"),
        ("jane.doe", "no name"),
        ("Ada", "no name"),
        ("a;b", "no name"),
    ],
)
def test_names_that_can_be_no_members_are_left_out_and_said(site: GroupedSite, name: str, words: str) -> None:
    site.directory.listed["physics"].append(name)
    site.apply(grouped("astro", PHYSICS))
    assert site.members("astro") == {"ada", "bela"}
    assert words in site.said("astro")
    assert name in site.said("astro")


def test_somebody_else_of_a_local_users_name_does_not_become_that_user(site: GroupedSite) -> None:
    site.apply(Text("merlin.yaml", "name: merlin\nmembers: [{user: ada}]\nflavors: {h100: {limit: 1}}\n"))
    site.apply(grouped("astro", PHYSICS))
    assert site.members("astro") == {"bela"}
    assert "another user" in site.said("astro")


def test_listed_members_of_the_site_get_no_uid_and_must_be_there(site: GroupedSite) -> None:
    text = "name: astro\nidentity: nss\nmembers: [{user: ada}]\nflavors: {h100: {limit: 1}}\n"
    site.apply(Text("astro.yaml", text))
    assert site.members("astro") == {"ada"}
    assert (site.root / "users" / "passwd").read_text() == ""
    with pytest.raises(TenantError, match=r"members\[0\].user: user zoe is not known here"):
        site.apply(Text("merlin.yaml", text.replace("astro", "merlin").replace("ada", "zoe")))
    site.directory.down = True
    site.tenants.reconcile()
    assert site.members("astro") == {"ada"}


def test_this_hosts_system_groups_and_users_are_nobodys() -> None:
    assert Getent().groups({"root", "no-such-group"}) == {}
    assert Getent().users({"root", "nobody-at-all"}) == {}


def test_a_directory_that_hangs_costs_one_time_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = tmp_path / "calls"
    hanging = tmp_path / "getent"
    hanging.write_text(f"#!/bin/sh\necho called >> {calls}\nexec sleep 60\n")
    hanging.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    assert Getent(timeout_s=0.3).groups({f"group{number}" for number in range(2000)}) == {}
    assert calls.read_text().count("called") == 1


def _job() -> JobSpec:
    return JobSpec(script=b"#!/bin/sh\n", work_dir="/tmp", environment={"PATH": "/bin"})
