"""A job that is granted and pods that aren't bound: check the grant, write the claims, bind last.

Pure; a part of `plan`.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Final

from bridge.job import BaseState
from bridge.reconcile.actions import Action, Allocate, Bind, Cancel, Drain, Release
from bridge.reconcile.grants import GrantFault, assign
from bridge.reconcile.view import JobView, View

OFFER_PATIENCE: Final = timedelta(minutes=2)
"""How long a granted node may offer no devices (its driver restarts) before the grant is given back."""


def starting(view: View, job: JobView) -> Iterator[Action]:
    """Yield what brings the pods of a granted job nearer to running, or gives the grant back."""
    if job.state.base is not BaseState.RUNNING or not job.nodes:
        return
    if not all(pod.wanted for pod in view.pods):
        yield Cancel(job.job_id, "its pod was deleted before it started")
        return
    unfit = next((view.nodes[name] for name in sorted(job.nodes) if _unfit(view, name)), None)
    if unfit is not None:
        why = "is gone" if unfit.fenced else str(unfit.objection)
        yield Cancel(job.job_id, f"node {unfit.name} no longer does: {why}")
        return
    silent = [name for name in sorted(job.nodes) if not _offers(view, name)]
    if silent:
        if view.granted_for >= OFFER_PATIENCE:
            yield Drain(silent[0], "the node offers no devices")
            yield Cancel(job.job_id, f"node {silent[0]} offers no devices")
        return
    yield from place(view, job)


def _unfit(view: View, name: str) -> bool:
    node = view.nodes.get(name)
    return node is not None and (node.fenced or node.objection is not None)


def _offers(view: View, name: str) -> bool:
    node = view.nodes.get(name)
    return node is None or node.offers


def place(view: View, job: JobView) -> Iterator[Action]:
    """Yield claims until every pod has its own, then Bindings."""
    granted = {key for name, indexes in job.nodes.items() for key in _keys(view, name, indexes)}
    stale = [pod for pod in view.pods if pod.claim and not pod.bound and not pod.claim <= granted]
    if stale:
        for pod in stale:
            yield Release(pod.uid)
        return
    found = assign(
        job.nodes,
        pods=view.pods,
        gpus_per_pod=view.gpus_per_pod,
        devices=view.devices,
        held=view.held,
    )
    if isinstance(found, GrantFault):
        yield from _give_back(found, view, job)
        return
    pods = {pod.uid: pod for pod in view.pods}
    missing = [part for part in found if pods[part.pod_uid].claim is None]
    for part in missing:
        yield Allocate(part.pod_uid, part.node, part.devices, job.job_id)
    if not missing:
        for part in found:
            pod = pods[part.pod_uid]
            if not pod.bound and pod.wanted:
                yield Bind(part.pod_uid, part.node, job.job_id, pod.resource_version)


def _keys(view: View, name: str, indexes: tuple[int, ...]) -> list[tuple[str, str, str]]:
    table = view.devices.get(name, ())
    return [table[index] for index in indexes if 0 <= index < len(table)]


def _give_back(fault: GrantFault, view: View, job: JobView) -> Iterator[Action]:
    if fault.kind == "taken" and view.granted_for < OFFER_PATIENCE:
        # Most often a claim that is about to be released; nothing is written meanwhile.
        return
    if fault.kind != "size":
        yield Drain(fault.node, fault.words)
    if not view.bound:
        yield Cancel(job.job_id, fault.words)
