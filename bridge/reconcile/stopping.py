"""Pods that have to go: whom to evict, why, and how long they get.

Pure; a part of `plan`.
"""

from __future__ import annotations

from collections.abc import Iterator

from bridge.job import BaseState
from bridge.reconcile.actions import Action, Evict
from bridge.reconcile.view import JobView, PodView, View

_REASONS = {
    BaseState.CANCELLED: ("JobCancelled", "was cancelled"),
    BaseState.TIMEOUT: ("TimeLimit", "reached its time limit"),
    BaseState.DEADLINE: ("TimeLimit", "reached its deadline"),
    BaseState.PREEMPTED: ("Preempted", "was preempted"),
    BaseState.NODE_FAIL: ("NodeFailed", "lost its node"),
}


def evictions(view: View, job: JobView) -> Iterator[Action]:
    """Yield an eviction for each pod that still runs under a job that Slurm ends or has ended."""
    state = BaseState.PREEMPTED if job.preempting else job.state.base
    reason, words = _REASONS.get(state, ("JobEnded", f"ended as {state}"))
    by = f" by {job.cancelled_by}" if job.cancelled_by else ""
    for pod in view.bound:
        if to_evict(pod):
            yield evict(view, pod, reason, f"Slurm job {job.job_id} {words}{by}", respect_budget=False)


def evict(view: View, pod: PodView, reason: str, message: str, *, respect_budget: bool) -> Evict:
    """Return an eviction with the pod's own grace, capped by its class."""
    return Evict(pod.uid, reason, message, min(view.grace_s, view.grace_cap_s), respect_budget)


def to_evict(pod: PodView) -> bool:
    """Whether a pod runs and nobody has asked it to go yet."""
    return pod.present and not pod.terminal and not pod.deleting and not pod.evicting
