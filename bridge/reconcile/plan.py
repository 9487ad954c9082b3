"""What to do about a placement, from what both sides show of it.

Pure and level-triggered: no memory but the view; planning again after any crash gives what is left to do. The
rules, in words:

- one live job a placement; a job that isn't shown is not finished, and nothing follows from a listing that
  isn't whole;
- claims with the granted devices first, all of them, Bindings last, and only while the grant fits and no live
  claim has its devices;
- what Slurm ends is evicted, what ends by itself is told to Slurm; a job is ended by us only when every pod
  of it is released;
- a pod is let go when its job is over; a job's nodes are let go when no pod is or can be bound under it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from bridge.reconcile.actions import (
    Action,
    Cancel,
    Close,
    Drain,
    FailNode,
    LetGo,
    Part,
    Release,
    Say,
    Submit,
)
from bridge.reconcile.running import running
from bridge.reconcile.starting import starting
from bridge.reconcile.stopping import evictions
from bridge.reconcile.view import JobView, PodView, View


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How long a state may last before something is done about it."""

    absent: timedelta = timedelta(minutes=10)
    """A job or pod that isn't shown any more."""
    resubmissions: int = 3
    """Grants given back within a minute before it is left alone for a while."""


LIMITS: Final = Limits()


def plan(view: View, limits: Limits = LIMITS) -> tuple[Action, ...]:
    """Return the writes that are due, in order; none when the view isn't fresh."""
    if not (view.kube_fresh and view.slurm_fresh):
        return ()
    job = the_job(view)
    steps = (*_second_jobs(view, job), *_closings(view, job), *_steps(view, job, limits))
    return tuple(dict.fromkeys(action for action in steps if not _done(action, view)))


def _done(action: Action, view: View) -> bool:
    if isinstance(action, Drain | FailNode):
        node = view.nodes.get(action.node)
        return node is not None and (node.down or (node.drained and isinstance(action, Drain)))
    return False


def _steps(view: View, job: JobView | None, limits: Limits) -> Iterator[Action]:
    if job is None:
        yield from _without_job(view, limits)
    elif job.pending:
        yield from _pending(view, job)
    elif any(pod.job_id != job.job_id for pod in view.bound):
        yield Cancel(job.job_id, "its pods run under another job")
    elif view.bound:
        yield from running(view, job, absent_limit=limits.absent)
    else:
        yield from starting(view, job)


def the_job(view: View) -> JobView | None:
    """Return the job that counts: the one that pods run under, else the oldest live one."""
    live = sorted((job for job in view.jobs if job.live), key=lambda job: job.job_id)
    named = {pod.job_id for pod in view.bound}
    return next((job for job in live if job.job_id in named), live[0] if live else None)


def _second_jobs(view: View, job: JobView | None) -> Iterator[Action]:
    for other in view.jobs:
        if other.live and job is not None and other.job_id != job.job_id:
            yield Cancel(other.job_id, "a second job of the same pods")


def _closings(view: View, job: JobView | None) -> Iterator[Action]:
    """Part pods from jobs that are over, then let those jobs' nodes go."""
    over = [found for found in view.jobs if not found.live and not found.closed]
    if job is None:
        for pod in view.pods:
            if pod.claim is not None and not pod.bound and pod.present:
                yield Release(pod.uid)
    for found in over:
        parting = [pod for pod in view.pods if _may_be_bound(pod) and found.job_id not in pod.closed_jobs]
        for pod in parting:
            yield Part(pod.uid, found.job_id)
        under = [pod for pod in view.bound if pod.job_id == found.job_id and not pod.released]
        if not parting and not under:
            yield Close(found.job_id)


def _may_be_bound(pod: PodView) -> bool:
    """Whether a Binding under way could still be taken: the API server refuses one of a pod that goes."""
    return pod.present and not pod.bound and not pod.deleting and not pod.terminal


def _without_job(view: View, limits: Limits) -> Iterator[Action]:
    if view.bound:
        yield from _job_gone(view)
        return
    for pod in view.pods:
        if pod.present and not pod.wanted and pod.finalizer and _all_over(view):
            yield LetGo(pod.uid)
    if not all(pod.wanted for pod in view.pods) or not view.pods:
        return
    cancelled = next((job for job in view.jobs if job.cancelled_by), None)
    if view.cancelled_before or cancelled is not None:
        by = f" by {cancelled.cancelled_by}" if cancelled else ""
        for pod in view.pods:
            yield Say(
                pod.uid, "JobCancelled", f"its Slurm job was cancelled{by}; delete the pod, or make it anew"
            )
        return
    if not view.submittable or not _all_over(view):
        return
    lost = view.known_job is not None and all(job.job_id != view.known_job for job in view.jobs)
    if (lost and view.job_absent_for < limits.absent) or view.resubmitted >= limits.resubmissions:
        return
    yield Submit(view.key, tuple(sorted(node.name for node in view.nodes.values() if node.objection)))


def _all_over(view: View) -> bool:
    """Whether no job with the key holds anything, and no pod has devices of one."""
    return all(job.finished and job.closed for job in view.jobs) and all(
        pod.claim is None or pod.released for pod in view.pods
    )


def _job_gone(view: View) -> Iterator[Action]:
    """Pods are bound and their job isn't live: it ended, or Slurm has lost it."""
    if not view.jobs:
        for node in sorted({pod.node for pod in view.bound if not pod.released}):
            yield Drain(node, "Slurm doesn't know the job of a pod that runs here")
    else:
        last = max(view.jobs, key=lambda job: job.job_id)
        yield from evictions(view, last)
    if all(found.closed for found in view.jobs):
        for pod in view.pods:
            if pod.present and not pod.wanted and pod.released and pod.finalizer:
                yield LetGo(pod.uid)


def _pending(view: View, job: JobView) -> Iterator[Action]:
    if view.bound:
        # Requeued behind our back: its pods still run, and it must not be granted again.
        yield Cancel(job.job_id, "requeued while its pod runs")
    elif not all(pod.wanted for pod in view.pods):
        yield Cancel(job.job_id, "its pod was deleted before it started")
