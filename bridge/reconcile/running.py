"""A running job with pods on their nodes: watch for the end of either side.

Pure; a part of `plan`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from typing import Final

from bridge.job import BaseState
from bridge.reconcile.actions import Action, Drain, EndJob, Extend, FailNode, Say
from bridge.reconcile.outcome import Means, exits_hide_an_eviction, outcome_of
from bridge.reconcile.starting import place
from bridge.reconcile.stopping import evict, evictions, to_evict
from bridge.reconcile.view import JobView, PodView, View

NODE_PATIENCE: Final = timedelta(seconds=50)
"""How long a node may be silent before it is drained (Kubernetes' own node-monitor-grace-period)."""
GANG_PATIENCE: Final = timedelta(minutes=5)
"""How long a gang waits for its controller to replace a lost member."""
REFUSALS: Final = 3
"""Pods that a kubelet may refuse in ten minutes before its node is drained."""
LEASE_LEFT: Final = timedelta(hours=12)
"""A production job's lease is renewed when less than this is left."""

_GONE: Final = "said to be gone for good"


def running(view: View, job: JobView, *, absent_limit: timedelta) -> Iterator[Action]:
    """Yield what follows from the state of the pods and of their nodes."""
    yield from _nodes(view, absent_limit)
    if job.preempting:
        # Slurm ends it; completing it now would hide that it was preempted.
        yield from evictions(view, job)
        return
    if all(pod.released for pod in view.pods):
        yield from _end(view, job)
        return
    if job.state.base is BaseState.SUSPENDED:
        for pod in view.bound:
            yield Say(
                pod.uid, "JobSuspended", f"Slurm job {job.job_id} is suspended; the pod goes on running"
            )
        return
    if all(pod.wanted for pod in view.pods) and any(not pod.bound for pod in view.pods):
        yield from place(view, job)
    elif any(_lost(pod) for pod in view.pods):
        yield from _without_member(view)
    if view.job_class == "production" and job.time_left is not None and job.time_left < LEASE_LEFT:
        yield Extend(job.job_id)


def _nodes(view: View, absent_limit: timedelta) -> Iterator[Action]:
    for name in sorted({pod.node for pod in view.bound if not pod.released}):
        node = view.nodes.get(name)
        if node is not None and node.fenced:
            yield FailNode(name, _GONE)
        elif node is not None and node.unreachable_for >= NODE_PATIENCE:
            yield Drain(name, "its kubelet doesn't answer")
        elif any(_missing(pod, name) and pod.absent_for >= absent_limit for pod in view.bound):
            yield Drain(name, "a pod is gone and its devices may be in use")
    for node in view.nodes.values():
        if node.refusals >= REFUSALS:
            yield Drain(node.name, f"its kubelet refused {node.refusals} pods in ten minutes")


def _missing(pod: PodView, node: str) -> bool:
    return pod.node == node and not pod.present and not pod.released


def _end(view: View, job: JobView) -> Iterator[Action]:
    outcome = outcome_of(view.pods, job)
    for pod in exits_hide_an_eviction(view.pods):
        yield Say(
            pod.uid, "ExitHidesEviction", "the pod was ended and exited with 0: Kubernetes shows Succeeded"
        )
    if outcome.means is Means.NODE_DOWN:
        nodes = [view.nodes.get(pod.node) for pod in view.bound]
        if any(node is not None and node.fenced for node in nodes):
            yield from (FailNode(node.name, _GONE) for node in nodes if node is not None and node.fenced)
            return
        # The node is back, so that Slurm can't say NODE_FAIL; the comment does.
        yield EndJob(job.job_id, replace(outcome, state=BaseState.CANCELLED, means=Means.CANCEL))
    elif outcome.means is not Means.SLURM:
        yield EndJob(job.job_id, outcome)


def _lost(pod: PodView) -> bool:
    """Whether a gang's member ended without success."""
    return pod.deleting or (pod.released and pod.phase != "Succeeded") or not pod.present


def _without_member(view: View) -> Iterator[Action]:
    if len(view.pods) == 1 or view.gang_lost_for < GANG_PATIENCE:
        return
    for pod in view.bound:
        if to_evict(pod):
            yield evict(view, pod, "GangLost", "a member of its gang is gone", respect_budget=True)
