"""The queue of the fake Slurm after a change of documents."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from bridge.errors import InputError, SlurmRefused
from bridge.job import JobSpec, JobStatus
from bridge.policy.table import PolicyTable
from bridge.slurm.port import Reservation
from bridge.tenants.queue import Queue
from tests.unit.tenants.site import MOMENT, Site, document


@pytest.fixture
def site(tmp_path: Path) -> Site:
    site = Site(tmp_path)
    site.apply(document("astro", "ada", flavors="{h100: {limit: 4}}", budget=BUDGET))
    return site


BUDGET = "{gpu_hours: 10, when_exhausted: block}"
SMALL = document("astro", "ada", flavors="{h100: {limit: 1}}", budget=BUDGET)
LARGE = document("astro", "ada", flavors="{h100: {limit: 4}}", budget=BUDGET)


def submit(site: Site, *, gpus: int = 2, **fields: Any) -> int:
    whole = {"script": b"#!/bin/sh\n", "work_dir": "/tmp", "environment": {"PATH": "/bin"}, **fields}
    spec = JobSpec(account="astro", partition="h100", tres_per_job=f"gres/gpu:h100:{gpus}", **whole)
    return site.slurm.submit(spec, user="ada").job_id


def job(site: Site, number: int) -> JobStatus:
    (found,) = site.slurm.job(number)
    return found


def test_a_smaller_limit_holds_what_waits_and_a_larger_one_lets_it_go(site: Site) -> None:
    large, small, theirs = submit(site), submit(site, gpus=1), submit(site, hold=True)
    preview = site.tenants.validate([SMALL])
    assert "hold job astro 1 waiting job (rule flavor.limit)" in [
        f"{step.verb} {step.kind} {step.name} {step.detail}" for step in preview.actions
    ]
    assert "hold job astro" in site.apply(SMALL)
    assert job(site, large).reason == "JobHeldAdmin"
    assert "may use 1 h100 GPUs at once" in job(site, large).admin_comment
    assert job(site, small).priority == 1
    assert job(site, theirs).reason == "JobHeldUser"
    assert site.tenants.reconcile() == ()
    assert "release job astro" in site.apply(LARGE)
    assert (job(site, large).reason, job(site, large).admin_comment) == ("Priority", "")
    assert job(site, theirs).reason == "JobHeldUser"


def test_what_was_held_by_its_user_or_running_is_met_when_it_waits_again(site: Site) -> None:
    held, running = submit(site, hold=True), submit(site)
    site.slurm.start(running)
    site.apply(SMALL)
    site.tenants.reconcile()
    site.slurm.release(held, user="ada")
    site.slurm.requeue(running)
    site.tenants.reconcile()
    assert [job(site, number).reason for number in (held, running)] == ["JobHeldAdmin"] * 2


def test_a_settled_queue_is_not_listed_again_also_not_by_a_new_bridge(site: Site) -> None:
    submit(site, gpus=1)
    site.tenants.reconcile()
    before = site.slurm.calls.count("jobs")
    site.tenants.reconcile()
    site.restarted().reconcile()
    assert site.slurm.calls.count("jobs") == before


def test_a_hold_that_slurm_refuses_is_tried_again(site: Site) -> None:
    number = submit(site)
    site.slurm.fail_next("hold", SlurmRefused("not now", errno=2020))
    site.apply(SMALL)
    assert job(site, number).priority == 1
    site.tenants.reconcile()
    assert job(site, number).priority == 0


def test_a_long_queue_is_held_over_several_passes(site: Site) -> None:
    numbers = [submit(site) for _ in range(3)]
    site.apply(SMALL)
    site.apply(LARGE)
    table = PolicyTable(tenants={}, users={}, strangers="observe")  # releases nothing: nothing is held now
    queue = Queue(slurm=site.slurm, folder=site.root / "policy", clock=lambda: MOMENT, patience_s=0)
    assert queue.settle(table) == ()
    site.apply(SMALL)
    assert {job(site, number).priority for number in numbers} == {0}
    for left in (2, 1, 0):
        assert [action.detail for action in queue.settle(table)] == ["1 waiting job"]
        assert sum(job(site, number).priority == 0 for number in numbers) == left


def test_the_ledgers_word_holds_and_releases(site: Site) -> None:
    number = submit(site)
    for _ in range(3):  # settled for the table that comes back in the end
        site.tenants.reconcile()
    word = {"astro": {"budget": "10 GPU-hours", "until": "2026-12-01T00:00:00Z"}}
    site.tenants.budgets(word)
    assert "(rule budget.exhausted)" in job(site, number).admin_comment
    assert site.tenants.view.moment.exhausted.keys() == {"astro"}
    with pytest.raises(InputError, match=r"budgets: exhausted\.astro\.until"):
        site.tenants.budgets({"astro": {"budget": "x", "until": "soon"}})
    assert job(site, number).priority == 0, "a wrong word changes nothing"
    site.tenants.budgets({})
    assert job(site, number).priority == 1


def test_a_broken_word_of_the_ledger_stops_nobody(site: Site) -> None:
    (site.root / "tenants" / ".budgets.json").write_text("{")
    site.tenants.reconcile()
    assert site.tenants.view.moment.exhausted == {}


def test_only_maintenance_that_is_not_over_goes_into_the_table(site: Site) -> None:
    def reserved(name: str, ends_at: datetime, *flags: str) -> Reservation:
        return Reservation(
            name=name, starts_at=MOMENT, ends_at=ends_at, nodes=("gpu1",), flags=frozenset(flags)
        )

    later = MOMENT.replace(day=1, month=12)
    site.slurm.reservation_table = [
        reserved("cooling", later, "MAINT", "IGNORE_JOBS"),
        reserved("course", later),
        reserved("over", MOMENT, "MAINT"),
        reserved("floating", later, "MAINT", "TIME_FLOAT"),
    ]
    assert [str(action.kind) for action in site.tenants.reconcile()] == ["table"]
    assert 'name="cooling"' in (site.root / "policy" / "table.lua").read_text()
    assert [each.name for each in site.tenants.view.moment.maintenance] == ["cooling"]


def test_the_production_qos_of_a_tenant_that_is_gone_goes_when_its_last_job_has(site: Site) -> None:
    own = {"flavors": "{h100: {limit: 2, guarantee: 1}}", "classes": "{allowed: [production, training]}"}
    site.apply(document("lab", "bela", **own))
    spec = JobSpec(
        script=b"#!/bin/sh\n", work_dir="/tmp", environment={}, account="lab", qos="production-lab"
    )
    number = site.slurm.submit(spec, user="bela").job_id
    site.tenants.remove("lab", actor="test")
    assert "production-lab" in site.slurm.qos
    site.slurm.cancel(number, user="bela")
    assert "remove qos production-lab" in [f"{a.verb} {a.kind} {a.name}" for a in site.tenants.reconcile()]
    assert "production-lab" not in site.slurm.qos
