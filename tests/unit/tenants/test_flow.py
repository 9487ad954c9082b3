from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from bridge.errors import Conflict, NotFound, OutcomeUnknown, Outdated, TenantError, Unavailable
from bridge.job import JobSpec
from bridge.policy.tenant import Tenant
from bridge.slurm.port import Account, Association
from bridge.tenants.plan import Action
from bridge.tenants.source import Text
from tests.unit.tenants.site import Site, document, examples


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return Site(tmp_path)


def spec() -> JobSpec:
    return JobSpec(script=b"#!/bin/sh\n", work_dir="/tmp", environment={"PATH": "/bin"})


def test_the_examples_apply_and_applying_them_again_changes_nothing(site: Site) -> None:
    first = site.apply(*examples())
    assert {"create document astro", "create user ada", "create account astro", "create qos batch"} <= set(
        first
    )
    assert site.apply(*examples()) == []
    assert site.tenants.reconcile() == ()
    assert site.restarted().reconcile() == ()


def test_each_association_carries_the_documents_limits(site: Site) -> None:
    site.apply(*examples())
    account = site.slurm.associations["robotics", ""]
    assert account.grp_tres == {"gres/gpu": 8, "gres/gpu:a100": 0, "gres/gpu:h100": 8}
    assert account.shares == 20
    assert account.qos == {"production-robotics", "training", "development"}
    assert account.default_qos == "development"
    assert site.slurm.qos["production-robotics"].grp_tres == {
        "gres/gpu": 4,
        "gres/gpu:a100": 0,
        "gres/gpu:h100": 4,
    }
    assert site.slurm.partition_table["a100"].allow_accounts == {"astro", "genomics"}
    gita = [site.slurm.associations[name, "gita"].is_default for name in ("genomics", "robotics")]
    assert gita == [True, False]


def test_limits_of_the_tenant_and_of_each_user_stand_in_its_associations(site: Site) -> None:
    limits = (
        "{max_nodes: 2, max_cpus: 64, max_memory_mib: 9000, max_running_jobs: 9, max_nodes_per_user: 1,"
        " max_cpus_per_user: 8, max_memory_mib_per_user: 3000, max_running_jobs_per_user: 3}"
    )
    site.apply(document("astro", "ada", limits=limits))
    account, user = site.slurm.associations["astro", ""], site.slurm.associations["astro", "ada"]
    gpus = {"gres/gpu": 2, "gres/gpu:h100": 2, "gres/gpu:a100": 0}
    assert account.grp_tres == {**gpus, "node": 2, "cpu": 64, "mem": 9000}
    assert user.grp_tres == {"node": 1, "cpu": 8, "mem": 3000}
    assert (account.grp_jobs, account.max_jobs, user.max_jobs) == (9, 3, 3)
    site.apply(document("astro", "ada"))
    assert site.slurm.associations["astro", "ada"].grp_tres == {}


def test_production_preempts_the_rest_and_nothing_preempts_production(site: Site) -> None:
    site.apply(*examples())
    assert site.slurm.qos["production-astro"].preempt == {"training", "development", "batch"}
    preemptible = {name for qos in site.slurm.qos.values() for name in qos.preempt}
    assert not any(name.startswith("production") for name in preemptible)
    assert site.slurm.qos["training"].preempt_mode == "REQUEUE"


@pytest.mark.parametrize("call", ["put_qos", "put_accounts", "put_associations", "set_partition_accounts"])
def test_a_failure_in_the_middle_is_resumed_by_the_next_pass(site: Site, call: str) -> None:
    site.slurm.fail_next(call, Unavailable("slurmdbd does not answer", part="slurmdbd"))
    with pytest.raises(Unavailable):
        site.apply(*examples())
    assert not (site.root / "policy" / "table.lua").exists(), "no half tenant may submit"
    assert site.tenants.view.states["astro"].message == "slurmdbd does not answer"
    site.tenants.reconcile()
    assert site.tenants.view.states["astro"].applied
    assert site.apply(*examples()) == []


def test_a_write_without_an_answer_is_looked_at_again(site: Site) -> None:
    site.slurm.fail_next("put_associations", OutcomeUnknown("no answer"), after=True)
    with pytest.raises(OutcomeUnknown):
        site.apply(*examples())
    site.tenants.reconcile()
    assert site.tenants.reconcile() == ()


def test_nothing_is_applied_when_one_document_is_wrong(site: Site) -> None:
    with pytest.raises(TenantError) as caught:
        site.apply(document("good", "ada"), Text("bad.yaml", "name: bad\nweight: 0\ncolour: red\n"))
    assert caught.value.details["errors"] == [
        {"file": "bad.yaml", "path": "weight", "message": "weight is 0; give at least 1"},
        {
            "file": "bad.yaml",
            "path": "colour",
            "message": f"unknown key 'colour'; known keys here are {', '.join(Tenant.model_fields)}",
        },
    ]
    assert site.slurm.associations == {}
    assert not list((site.root / "tenants").glob("*")) if (site.root / "tenants").exists() else True


def test_two_documents_of_one_name_are_refused_by_file(site: Site) -> None:
    with pytest.raises(TenantError, match=r"b\.yaml: name: tenant astro is in a.yaml already"):
        site.apply(Text("a.yaml", document("astro", "ada").text), Text("b.yaml", document("astro").text))


def test_guarantees_above_the_healthy_pool_are_refused_but_old_promises_stay(site: Site) -> None:
    big = document("astro", "ada", flavors="{h100: {guarantee: 6, limit: 8}}")
    site.apply(big)
    with pytest.raises(TenantError, match=r"together are guaranteed 9 h100 GPUs \(astro 6, more 3\)"):
        site.apply(document("more", "bela", flavors="{h100: {guarantee: 3, limit: 3}}"))
    site.slurm.add_node("gpu2", state=frozenset({"DOWN"}))
    assert site.tenants.reconcile() == ()
    assert "create document other" in site.apply(document("other", "chen"))
    with pytest.raises(TenantError, match="4 healthy"):
        site.apply(document("other", "chen", flavors="{h100: {guarantee: 1, limit: 3}}"))


def test_an_unknown_flavor_names_those_that_there_are(site: Site) -> None:
    with pytest.raises(TenantError, match="the pool has no flavor b200; its flavors are a100, h100"):
        site.apply(document("astro", "ada", flavors="{b200: {limit: 1}}"))


def test_a_fault_against_the_pool_names_the_file_that_was_given(site: Site) -> None:
    with pytest.raises(TenantError, match=r"^mine\.yaml: flavors\.b200"):
        site.apply(Text("mine.yaml", document("astro", "ada", flavors="{b200: {limit: 1}}").text))


def test_drift_is_repaired(site: Site) -> None:
    site.apply(*examples())
    slurm = site.slurm
    slurm.set_partition_accounts("h100", frozenset({"root"}))
    lowered = slurm.associations["astro", ""]
    slurm.put_associations([Association(account="astro", parent="root", shares=1, qos=lowered.qos)])
    (site.root / "policy" / "table.lua").write_text("return {")
    done = [f"{action.verb} {action.kind} {action.name}" for action in site.tenants.reconcile()]
    assert done == ["change association astro", "change partition h100", "change table table.lua"]
    assert slurm.associations["astro", ""] == lowered


def test_what_sluice_did_not_make_is_left_alone(site: Site) -> None:
    site.slurm.add_tenant("physics", users=("paul",), qos=("normal",))
    before = dict(site.slurm.associations)
    site.apply(*examples())
    site.apply(prune=True)
    assert {key: value for key, value in site.slurm.associations.items() if key in before} == before


def test_a_foreign_account_of_a_tenants_name_is_a_conflict(site: Site) -> None:
    site.slurm.put_accounts([Account(name="astro", organization="physics")])
    with pytest.raises(Conflict, match="account astro that Sluice did not make"):
        site.apply(document("astro", "ada"))


def test_a_removed_member_drains_before_the_association_goes(site: Site) -> None:
    site.apply(document("astro", "ada", "bela"))
    job = site.slurm.submit(spec(), user="bela").job_id
    site.slurm.start(job)
    assert "drain association astro/bela" in site.apply(document("astro", "ada"))
    assert site.slurm.associations["astro", "bela"].max_submit_jobs == 0
    assert "bela" in site.tenants.view.states["astro"].message
    assert "bela" not in (site.root / "policy" / "table.lua").read_text()
    assert site.tenants.reconcile() == ()
    site.slurm.finish(job)
    assert [action.name for action in site.tenants.reconcile()] == ["astro/bela"]
    assert ("astro", "bela") not in site.slurm.associations
    assert "bela:" in (site.root / "users" / "passwd").read_text(), "files keep their owner's name"


def test_a_removed_tenant_drains_with_its_partition_and_comes_back_whole(site: Site) -> None:
    site.apply(document("astro", "ada"), document("other", "bela"))
    job = site.slurm.submit(spec(), user="ada").job_id
    site.tenants.remove("astro", actor="test")
    assert site.slurm.associations["astro", ""].grp_submit_jobs == 0
    assert "astro" in site.slurm.partition_table["h100"].allow_accounts
    assert not site.tenants.view.states["astro"].applied
    site.apply(document("astro", "ada"))
    assert site.slurm.associations["astro", "ada"].max_submit_jobs == 1000
    site.tenants.remove("astro", actor="test")
    site.slurm.start(job)
    site.slurm.finish(job)
    site.tenants.reconcile()
    assert not [key for key in site.slurm.associations if key[0] == "astro"]
    assert site.slurm.partition_table["h100"].allow_accounts == {"other"}
    with pytest.raises(NotFound):
        site.tenants.remove("astro", actor="test")


def said(actions: tuple[Action, ...]) -> list[str]:
    return [f"{action.verb} {action.kind} {action.name}" for action in actions]


def test_validate_shows_the_plan_and_does_nothing(site: Site) -> None:
    preview = site.tenants.validate(examples())
    assert site.slurm.associations == {}
    assert not (site.root / "tenants").exists()
    assert not any(action.drift for action in preview.actions if action.kind == "document")
    assert [edit.before for edit in preview.edits] == [None] * 3
    assert said(preview.actions) == site.apply(*examples()), "what is shown is what is done"


def test_the_plan_of_a_removal_is_what_is_done(site: Site) -> None:
    site.apply(document("astro", "ada"), document("other", "bela"))
    shown = said(site.tenants.validate_removal("astro").actions)
    done = said(site.tenants.remove("astro", actor="test"))
    assert sorted(shown) == sorted(done)
    with pytest.raises(NotFound):
        site.tenants.validate_removal("astro")


def test_a_plan_tells_drift_from_what_the_document_changes(site: Site) -> None:
    site.apply(document("astro", "ada"), document("other", "bela"))
    site.slurm.put_associations([Association(account="other", parent="root", shares=7)])
    assert said(site.tenants.validate([]).actions) == ["change association other"]
    preview = site.tenants.validate([document("astro", "ada", weight="5")])
    drift = {action.name: action.drift for action in preview.actions if action.kind == "association"}
    assert drift == {"astro": False, "other": True}
    detail = next(action.detail for action in preview.actions if action.name == "other")
    assert "shares 7 -> 1" in detail
    assert site.slurm.associations["other", ""].shares == 7


def test_a_change_is_refused_when_the_documents_are_others_by_now(site: Site) -> None:
    seen = site.tenants.validate([document("astro", "ada")]).revision
    site.apply(document("other", "bela"))
    with pytest.raises(Outdated, match="look at the plan again"):
        site.tenants.apply([document("astro", "ada")], actor="test", revision=seen)
    assert ("astro", "ada") not in site.slurm.associations


def test_a_change_that_broke_off_may_be_sent_again_for_the_same_revision(site: Site) -> None:
    seen = site.tenants.validate([]).revision
    site.slurm.fail_next("put_accounts", Unavailable("slurmdbd does not answer", part="slurmdbd"))
    with pytest.raises(Unavailable):
        site.tenants.apply([document("astro", "ada")], actor="test", revision=seen)
    assert site.tenants.apply([document("astro", "ada")], actor="test", revision=seen)
    assert site.tenants.view.states["astro"].applied


def test_touching_the_script_always_moves_its_time_forward(site: Site) -> None:
    script = site.root / "policy" / "job_submit.lua"
    times = []
    for count in range(4):
        site.apply(document("astro", *[f"user{n}" for n in range(count)]))
        times.append(int(script.stat().st_mtime))
    assert sorted(set(times)) == times
    assert os.access(script, os.R_OK)


def test_the_view_knows_documents_while_slurm_is_down(site: Site) -> None:
    site.apply(*examples())
    again = site.restarted()
    site.slurm.down.add("slurmctld")
    with pytest.raises(Unavailable):
        again.reconcile()
    assert [sourced.tenant.name for sourced in again.view.documents] == ["astro", "genomics", "robotics"]
    assert not again.view.states["astro"].applied
    assert again.view.revision == site.tenants.view.revision


def test_an_empty_folder_is_fine_and_closes_the_partitions(site: Site) -> None:
    site.tenants.reconcile()
    assert site.slurm.partition_table["h100"].allow_accounts == {"root"}
    assert site.tenants.reconcile() == ()


def test_a_document_given_by_its_path_becomes_a_file_of_the_tenants_name(site: Site) -> None:
    site.apply(Text("some/where/else.yml", document("astro", "ada").text))
    assert [path.name for path in (site.root / "tenants").glob("*.yaml")] == ["astro.yaml"]


def test_another_tenants_file_is_never_overwritten(site: Site) -> None:
    (site.root / "tenants").mkdir()
    (site.root / "tenants" / "other.yaml").write_text(document("astro", "ada").text)
    site.apply(document("other", "bela"))
    assert sorted(site.tenants.view.states) == ["astro", "other"]


def test_a_document_that_was_broken_by_hand_is_mended_by_applying_a_good_one(site: Site) -> None:
    site.apply(document("astro", "ada"))
    (site.root / "tenants" / "astro.yaml").write_text("name: [")
    with pytest.raises(TenantError, match="not readable as YAML"):
        site.tenants.reconcile()
    assert ("astro", "ada") in site.slurm.associations
    site.apply(document("astro", "ada"))
    assert site.tenants.reconcile() == ()


def test_two_applies_at_once_come_one_after_the_other_and_the_later_sees_the_earlier(site: Site) -> None:
    site.apply(document("astro", "ada"))
    held, go_on = threading.Event(), threading.Event()
    put = site.slurm.put_associations

    def slow(associations: Sequence[Association]) -> None:
        held.set()
        assert go_on.wait(30)
        put(associations)

    site.slurm.put_associations = slow  # type: ignore[method-assign]
    seen = site.tenants.validate([]).revision
    with ThreadPoolExecutor() as pool:
        first = pool.submit(site.tenants.apply, [document("bio", "bela")], actor="first")
        assert held.wait(30)
        second = pool.submit(site.tenants.apply, [document("chem", "chen")], actor="second")
        stale = pool.submit(site.tenants.apply, [document("dyn", "dina")], actor="third", revision=seen)
        assert not second.done(), "it waits for the first"
        go_on.set()
        assert first.result()
        assert "astro" in str(second.result()), "the partition's accounts are those of all"
        with pytest.raises(Outdated):
            stale.result()
    assert site.slurm.partition_table["h100"].allow_accounts == {"astro", "bio", "chem"}
    assert site.tenants.reconcile() == ()
