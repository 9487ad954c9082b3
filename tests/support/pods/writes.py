"""How the actions of a plan arrive at the model of both sides."""

from __future__ import annotations

from collections.abc import Mapping

from bridge.job import BaseState
from bridge.reconcile.actions import (
    Action,
    Allocate,
    Bind,
    Cancel,
    Close,
    Drain,
    EndJob,
    Evict,
    LetGo,
    Part,
    Release,
    Submit,
)
from tests.support.pods.cluster import Cluster


def write(cluster: Cluster, action: Action, sizes: Mapping[str, int]) -> None:
    """Let one action arrive at the model, with its preconditions; `sizes` are GPUs by placement."""
    pod = cluster.pods.get(getattr(action, "pod_uid", ""))
    job = cluster.jobs.get(getattr(action, "job_id", 0))
    match action:
        case Submit(key=key):
            # Whoever submits looks for a live job with the key first.
            if not any(
                found.key == key and (found.live or found.completing) for found in cluster.jobs.values()
            ):
                cluster.submit(key, sizes[key])
        case Cancel() | EndJob() if job is not None:
            state = action.outcome.state if isinstance(action, EndJob) else BaseState.CANCELLED
            if not job.preempting:
                cluster.end(job, state)
        case Allocate() if pod is not None and pod.present and pod.claim is None:
            pod.claim = pod.once = (action.node, frozenset(action.devices))
        case Bind():
            cluster.bind(action.pod_uid, action.node, action.job_id, int(action.resource_version))
        case Release() if pod is not None and not pod.node:
            pod.claim = None
        case Part() if pod is not None and pod.present and not pod.node:
            pod.closed_jobs |= {action.job_id}
            pod.version += 1
        case Close() if job is not None:
            job.closed = True
        case Evict() if pod is not None and pod.present:
            pod.evicting = True
            cluster.delete(pod, None)
        case Drain():
            cluster.drained.add(action.node)
        case LetGo() if pod is not None:
            cluster.let_go(pod)
        case _:
            pass
