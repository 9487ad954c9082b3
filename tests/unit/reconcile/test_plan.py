"""Plans: one view, what is due. Faults by name; many at once are in `tests/property/reconcile`."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from bridge.job import BaseState, ExitStatus, JobState
from bridge.reconcile.actions import (
    Allocate,
    Bind,
    Cancel,
    Close,
    Drain,
    EndJob,
    Evict,
    Extend,
    FailNode,
    LetGo,
    Part,
    Release,
    Say,
    Submit,
)
from bridge.reconcile.plan import plan
from bridge.reconcile.view import Cause, Evidence, JobView, NodeView, PodView, View
from tests.support.pods.cluster import Cluster, Pod

DEVICES = {
    name: tuple(("gpu.nvidia.com", name, f"gpu-{index}") for index in range(2)) for name in ("h1", "h2")
}
LONG = timedelta(hours=1)


def pod(uid: str = "p", **fields: Any) -> PodView:
    return PodView(uid=uid, name=uid, resource_version="7", **fields)


def bound(uid: str = "p", index: int = 0, **fields: Any) -> PodView:
    held = frozenset({DEVICES["h1"][index]})
    return pod(uid, **{"node": "h1", "job_id": 5, "claim": held, "phase": "Running", **fields})


def job(base: BaseState = BaseState.RUNNING, *flags: str, **fields: Any) -> JobView:
    nodes = {"h1": (0,)} if base is BaseState.RUNNING else {}
    return JobView(**{"job_id": 5, "state": JobState(base, frozenset(flags)), "nodes": nodes, **fields})


def view(*pods: PodView, jobs: tuple[JobView, ...] = (), **fields: Any) -> View:
    nodes = fields.pop("nodes", {})
    return View(
        key="k",
        pods=pods or (pod(),),
        jobs=jobs,
        devices=DEVICES,
        nodes={name: NodeView(**{"name": name, **nodes.get(name, {})}) for name in DEVICES},
        **fields,
    )


class TestStarting:
    def test_a_pod_without_a_job_is_submitted(self) -> None:
        assert plan(view()) == (Submit("k"),)

    @pytest.mark.parametrize(
        "fields", [{"slurm_fresh": False}, {"kube_fresh": False}, {"submittable": False}]
    )
    def test_nothing_follows_from_half_a_view(self, fields: dict[str, Any]) -> None:
        assert plan(view(**fields)) == ()

    def test_a_submitted_job_that_isnt_shown_is_not_finished(self) -> None:
        assert plan(view(known_job=5)) == ()
        assert plan(view(known_job=5, job_absent_for=LONG)) == (Submit("k"),)

    def test_a_pending_job_is_left_alone_until_its_pod_goes(self) -> None:
        assert plan(view(jobs=(job(BaseState.PENDING),))) == ()
        (action,) = plan(view(pod(deleting=True), jobs=(job(BaseState.PENDING),)))
        assert isinstance(action, Cancel)

    def test_claims_first_then_bindings(self) -> None:
        assert plan(view(jobs=(job(),))) == (Allocate("p", "h1", (DEVICES["h1"][0],), 5),)
        claimed = pod(claim=frozenset({DEVICES["h1"][0]}))
        assert plan(view(claimed, jobs=(job(),))) == (Bind("p", "h1", 5, "7"),)

    def test_no_member_is_bound_before_all_have_their_devices(self) -> None:
        members = (pod("a", claim=frozenset({DEVICES["h1"][1]})), pod("b"))
        both = job(nodes={"h1": (0, 1)})
        assert plan(view(*members, jobs=(both,))) == (Allocate("b", "h1", (DEVICES["h1"][0],), 5),)

    def test_a_claim_of_an_older_grant_is_taken_back_first(self) -> None:
        assert plan(view(pod(claim=frozenset({DEVICES["h2"][0]})), jobs=(job(),))) == (Release("p"),)

    def test_nothing_is_written_while_the_prolog_runs(self) -> None:
        assert plan(view(jobs=(job(nodes={}),))) == ()

    def test_a_grant_that_no_longer_fits_is_given_back(self) -> None:
        (action,) = plan(view(jobs=(job(),), nodes={"h1": {"objection": "have the taint x"}}))
        assert isinstance(action, Cancel)
        over = job(BaseState.CANCELLED, closed=True)
        again = view(jobs=(over,), nodes={"h1": {"objection": "have the taint x"}})
        assert plan(again) == (Submit("k", ("h1",)),)
        assert plan(replace(again, resubmitted=3)) == ()

    def test_a_node_without_its_driver_is_waited_for_then_drained(self) -> None:
        silent = view(jobs=(job(),), nodes={"h1": {"offers": False}})
        assert plan(silent) == ()
        assert [type(action) for action in plan(replace(silent, granted_for=LONG))] == [Drain, Cancel]

    def test_a_device_of_a_live_claim_is_never_written(self) -> None:
        taken = view(jobs=(job(),), held={DEVICES["h1"][0]: "other"})
        assert plan(taken) == ()
        assert [type(action) for action in plan(replace(taken, granted_for=LONG))] == [Drain, Cancel]

    def test_an_index_without_a_device_drains_its_node(self) -> None:
        odd = job(nodes={"h1": (7,)})
        assert [type(action) for action in plan(view(jobs=(odd,)))] == [Drain, Cancel]

    def test_who_cancelled_a_pending_job_is_not_asked_again(self) -> None:
        over = job(BaseState.CANCELLED, cancelled_by="bo", closed=True)
        (action,) = plan(view(pod(closed_jobs=frozenset({5})), jobs=(over,)))
        assert isinstance(action, Say)
        assert "by bo" in action.message

    def test_a_second_job_is_cancelled(self) -> None:
        two = (job(BaseState.PENDING), job(BaseState.PENDING, job_id=6))
        (action,) = plan(view(jobs=two))
        assert action == Cancel(6, "a second job of the same pods")
        kept = plan(view(bound(job_id=6), jobs=(job(), job(job_id=6))))
        assert kept[0] == Cancel(5, "a second job of the same pods")


class TestRunning:
    def test_nothing_is_due_while_all_is_well(self) -> None:
        assert plan(view(bound(), jobs=(job(),))) == ()

    def test_a_deleted_pod_keeps_its_job_until_its_end(self) -> None:
        going = bound(deleting=True, causes=frozenset({Cause.CANCELLED}), caused_by="bo")
        assert plan(view(going, jobs=(job(),))) == ()
        (action,) = plan(view(replace(going, phase="Failed"), jobs=(job(),)))
        assert isinstance(action, EndJob)
        assert action.outcome.state is BaseState.CANCELLED
        assert "by bo" in action.outcome.comment

    def test_absence_proves_nothing(self) -> None:
        gone = bound(present=False, absent_for=timedelta(seconds=5))
        assert plan(view(gone, jobs=(job(),))) == ()
        (action,) = plan(view(replace(gone, absent_for=LONG), jobs=(job(),)))
        assert isinstance(action, Drain)
        (action,) = plan(view(replace(gone, evidence=Evidence.FREE), jobs=(job(),)))
        assert isinstance(action, EndJob)

    def test_a_preempted_job_is_evicted_and_never_completed(self) -> None:
        preempted = job(preempting=True)
        (action,) = plan(view(bound(), jobs=(preempted,), grace_s=1800, grace_cap_s=60))
        assert isinstance(action, Evict)
        assert (action.reason, action.grace_s, action.respect_budget) == ("Preempted", 60, False)
        assert plan(view(bound(evicting=True), jobs=(preempted,))) == ()
        assert plan(view(bound(phase="Succeeded"), jobs=(preempted,))) == ()

    def test_a_silent_kubelet_drains_its_node_and_keeps_the_job(self) -> None:
        silent = {"h1": {"unreachable_for": timedelta(seconds=50)}}
        assert plan(view(bound(), jobs=(job(),), nodes=silent)) == (
            Drain("h1", "its kubelet doesn't answer"),
        )
        silent["h1"]["drained"] = True  # type: ignore[assignment]
        assert plan(view(bound(), jobs=(job(),), nodes=silent)) == ()

    def test_a_fenced_node_fails_in_slurm(self) -> None:
        (action,) = plan(view(bound(), jobs=(job(),), nodes={"h1": {"fenced": True}}))
        assert isinstance(action, FailNode)

    def test_a_kubelets_refusal_fails_the_job_and_three_drain_the_node(self) -> None:
        refused = bound(phase="Failed", reason="OutOfcpu", causes=frozenset({Cause.REFUSED}))
        (action,) = plan(view(refused, jobs=(job(),)))
        assert isinstance(action, EndJob)
        assert action.outcome.state is BaseState.FAILED
        assert isinstance(plan(view(refused, jobs=(job(),), nodes={"h1": {"refusals": 3}}))[0], Drain)

    def test_a_gang_ends_some_time_after_it_lost_a_member(self) -> None:
        members = (bound("a"), bound("b", 1, phase="Failed", exit_code=1))
        both = job(nodes={"h1": (0, 1)})
        assert plan(view(*members, jobs=(both,))) == ()
        (action,) = plan(view(*members, jobs=(both,), gang_lost_for=timedelta(minutes=5)))
        assert isinstance(action, Evict)
        assert action.pod_uid == "a"

    def test_a_member_that_succeeded_is_not_lost(self) -> None:
        members = (bound("a"), bound("b", 1, phase="Succeeded", exit_code=0))
        assert plan(view(*members, jobs=(job(nodes={"h1": (0, 1)}),), gang_lost_for=LONG)) == ()

    def test_a_production_lease_is_renewed(self) -> None:
        old = job(time_left=timedelta(hours=3))
        assert plan(view(bound(), jobs=(old,), job_class="production")) == (Extend(5),)
        assert plan(view(bound(), jobs=(old,))) == ()

    def test_a_gang_is_bound_to_its_end_after_a_crash(self) -> None:
        members = (bound("a"), pod("b", claim=frozenset({DEVICES["h1"][1]})))
        assert plan(view(*members, jobs=(job(nodes={"h1": (0, 1)}),))) == (Bind("b", "h1", 5, "7"),)

    def test_a_requeued_job_is_not_granted_again(self) -> None:
        (action,) = plan(view(bound(), jobs=(job(BaseState.PENDING),)))
        assert isinstance(action, Cancel)


class TestEnded:
    def test_what_slurm_ended_is_evicted_with_the_reason(self) -> None:
        over = job(BaseState.CANCELLED, "COMPLETING", cancelled_by="bo")
        (action,) = plan(view(bound(), jobs=(over,)))
        assert isinstance(action, Evict)
        assert action.message == "Slurm job 5 was cancelled by bo"

    def test_a_pod_is_let_go_when_its_job_is_over_and_closed(self) -> None:
        done = bound(phase="Succeeded", exit_code=0)
        assert plan(view(done, jobs=(job(BaseState.COMPLETED, "COMPLETING"),))) == (Close(5),)
        assert plan(view(done, jobs=(job(BaseState.COMPLETED, closed=True),))) == (LetGo("p"),)
        assert plan(view(replace(done, finalizer=False), jobs=(job(BaseState.COMPLETED, closed=True),))) == ()

    def test_nodes_are_held_while_a_pod_runs_under_the_job(self) -> None:
        held = view(bound(evicting=True), jobs=(job(BaseState.TIMEOUT, "COMPLETING"),))
        assert plan(held) == ()

    def test_a_pod_is_parted_from_an_ended_job_before_its_nodes_go(self) -> None:
        over = job(BaseState.NODE_FAIL, "COMPLETING")
        claimed = pod(claim=frozenset({DEVICES["h1"][0]}))
        assert plan(view(claimed, jobs=(over,))) == (Release("p"), Part("p", 5))
        assert plan(view(pod(closed_jobs=frozenset({5})), jobs=(over,))) == (Close(5),)

    def test_slurm_that_lost_a_running_pods_job_grants_nothing_there(self) -> None:
        (action,) = plan(view(bound(), known_job=5))
        assert isinstance(action, Drain)

    def test_a_pod_that_waited_is_submitted_again_after_its_node_failed(self) -> None:
        over = job(BaseState.NODE_FAIL, closed=True)
        assert plan(view(pod(closed_jobs=frozenset({5})), jobs=(over,))) == (Submit("k"),)


def test_a_binding_that_was_under_way_when_its_job_ended_is_refused() -> None:
    """Else its pod would start on GPUs that Slurm has given to the next job already."""
    cluster = Cluster(("h1",), plugin=True)
    waiting = cluster.pods["p"] = Pod("p", "k")
    first = cluster.jobs[cluster.submit("k", 1)]
    cluster.schedule(first)
    waiting.claim = waiting.once = ("h1", frozenset(cluster.devices("h1")[:1]))
    sent = plan(cluster.view("k", cluster.pod_views("k"), cluster.job_views("k")))
    assert [type(action) for action in sent] == [Bind]
    cluster.end(first, BaseState.CANCELLED, "bo")
    for action in plan(cluster.view("k", cluster.pod_views("k"), cluster.job_views("k"))):
        if isinstance(action, Part):
            waiting.closed_jobs |= {action.job_id}
            waiting.version += 1
        assert not isinstance(action, Close)
    assert Close(first.job_id) in plan(cluster.view("k", cluster.pod_views("k"), cluster.job_views("k")))
    binding = sent[0]
    assert isinstance(binding, Bind)
    assert not cluster.bind(binding.pod_uid, binding.node, binding.job_id, int(binding.resource_version))


def test_an_exit_with_zero_after_an_eviction_is_told() -> None:
    hidden = bound(phase="Succeeded", exit_code=0, causes=frozenset({Cause.CANCELLED}))
    said, ended = plan(view(hidden, jobs=(job(),)))
    assert isinstance(said, Say)
    assert isinstance(ended, EndJob)
    assert ended.outcome.state is BaseState.CANCELLED
    assert ExitStatus(0) != ended.outcome.exit
