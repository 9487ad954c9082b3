"""How a placement ended, in Slurm's words, and by which means Slurm is told.

Pure. State follows the cause, never phase or exit code alone: who ended it first wins. A container that exits
0 on SIGTERM makes its pod Succeeded though it was evicted, and past its deadline a pod is Failed with exit
code 0 (both measured).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Final

from bridge.job import BaseState, ExitStatus
from bridge.reconcile.view import Cause, JobView, PodView

OUT_OF_MEMORY_STATUS: Final = 253
"""Wait status by which slurm_complete_job records OUT_OF_MEMORY (measured)."""
_FIRST_SIGNAL: Final = 129
_LAST_SIGNAL: Final = 128 + 64
_LARGEST_EXIT: Final = 255


class Means(Enum):
    """How Slurm comes to record an end."""

    COMPLETE = "slurm_complete_job with a wait status"
    LIMIT = "the job's time limit set to now"
    CANCEL = "cancelled, with who did it in the comment"
    NODE_DOWN = "the fenced node set DOWN"
    SLURM = "Slurm ended it by itself"


@dataclass(frozen=True, slots=True)
class Outcome:
    """An end: state, exit status where there is one, means, and a comment for people."""

    state: BaseState
    means: Means
    exit: ExitStatus | None = None
    comment: str = ""

    @property
    def wait_status(self) -> int | None:
        """What slurm_complete_job takes; None when the means is another."""
        if self.means is not Means.COMPLETE:
            return None
        if self.state is BaseState.OUT_OF_MEMORY:
            return OUT_OF_MEMORY_STATUS
        status = self.exit or ExitStatus(0)
        return status.signal or status.code << 8


ORDER: Final = (
    Cause.PREEMPTED,
    Cause.TIME_LIMIT,
    Cause.CANCELLED,
    Cause.NODE_FAILED,
    Cause.OUT_OF_MEMORY,
    Cause.REFUSED,
)
"""The first of these that holds says how it ended; none: the exit status does."""


def exit_status(code: int) -> ExitStatus:
    """Return what a container's exit code means: above 128 the signal that ended it."""
    if _FIRST_SIGNAL <= code <= _LAST_SIGNAL:
        return ExitStatus(0, code - 128)
    return ExitStatus(max(0, min(code, _LARGEST_EXIT)))


def outcome_of(pods: Sequence[PodView], job: JobView | None) -> Outcome:
    """Return how a placement ended: the first cause in `ORDER` over all members, else their exit status.

    Parameters
    ----------
    pods
        All members; each is released (`PodView.released`).
    job
        Their job; what Slurm says it did counts as a cause.
    """
    causes = {cause for pod in pods for cause in pod.causes} | _by_slurm(job)
    if not causes and any(not pod.present and not pod.terminal for pod in pods):
        causes.add(Cause.CANCELLED)  # gone before its end was seen: somebody deleted it by force
    cause = next((cause for cause in ORDER if cause in causes), None)
    by = next((pod.caused_by for pod in pods if pod.caused_by), "") or (job.cancelled_by if job else "")
    match cause:
        case Cause.PREEMPTED:
            return Outcome(BaseState.PREEMPTED, Means.SLURM, comment="preempted")
        case Cause.TIME_LIMIT:
            return Outcome(BaseState.TIMEOUT, Means.LIMIT, comment="the pod's time was over")
        case Cause.CANCELLED:
            who = f" by {by}" if by else ""
            return Outcome(BaseState.CANCELLED, Means.CANCEL, comment=f"the pod was deleted{who}")
        case Cause.NODE_FAILED:
            return Outcome(BaseState.NODE_FAIL, Means.NODE_DOWN, comment="the pod's node failed")
        case Cause.OUT_OF_MEMORY:
            return Outcome(
                BaseState.OUT_OF_MEMORY, Means.COMPLETE, ExitStatus(0, 9), "OOMKilled: above its memory limit"
            )
        case _:
            return _by_exit(pods, refused=cause is Cause.REFUSED)


def _by_slurm(job: JobView | None) -> set[Cause]:
    if job is None:
        return set()
    if job.preempting or job.state.base is BaseState.PREEMPTED:
        return {Cause.PREEMPTED}
    found = {
        BaseState.TIMEOUT: Cause.TIME_LIMIT,
        BaseState.CANCELLED: Cause.CANCELLED,
        BaseState.NODE_FAIL: Cause.NODE_FAILED,
    }.get(job.state.base)
    return {found} if found else set()


def _by_exit(pods: Iterable[PodView], *, refused: bool) -> Outcome:
    held = tuple(pods)
    if refused:
        reason = next((pod.reason for pod in held if Cause.REFUSED in pod.causes), "")
        return Outcome(
            BaseState.FAILED, Means.COMPLETE, ExitStatus(1), f"the kubelet refused the pod: {reason}"
        )
    for pod in held:
        # A Failed pod without a container that failed never ran one: it isn't a success.
        code = pod.exit_code or (1 if pod.phase == "Failed" else 0)
        if code:
            return Outcome(BaseState.FAILED, Means.COMPLETE, exit_status(code), pod.reason)
    return Outcome(BaseState.COMPLETED, Means.COMPLETE, ExitStatus(0))


def exits_hide_an_eviction(pods: Iterable[PodView]) -> tuple[PodView, ...]:
    """Return pods that were ended by somebody and yet Succeeded; their owners are warned."""
    ended = {Cause.PREEMPTED, Cause.TIME_LIMIT, Cause.CANCELLED}
    return tuple(pod for pod in pods if pod.phase == "Succeeded" and pod.causes & ended)
