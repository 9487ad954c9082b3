"""Open routes: alive, ready, metrics."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from fastapi import APIRouter, Request, Response
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest

from gateway.compose import Parts
from gateway.schemas.v1.health import Alive, PartView, Ready

router = APIRouter(tags=["health"])


@router.get("/healthz", summary="Alive")
async def healthz() -> Alive:
    """Say that the process answers."""
    return Alive()


@router.get(
    "/readyz", summary="Ready", responses={503: {"model": Ready, "description": "A needed part is down"}}
)
async def readyz(request: Request, response: Response) -> Ready:
    """Say whether requests can be served, and how each part is."""
    parts: Parts = request.app.state.parts
    found = await parts.readiness.parts()
    ready = all(part.healthy for part in found if part.needed)
    if not ready:
        response.status_code = 503
        response.headers["Retry-After"] = "5"
    return Ready(
        ready=ready,
        parts=[
            PartView(part=part.part, healthy=part.healthy, needed=part.needed, detail=part.detail)
            for part in found
        ],
    )


@router.get("/metrics", include_in_schema=False)
async def metrics(request: Request) -> Response:
    """Give Prometheus what it asks."""
    parts: Parts = request.app.state.parts
    _measure(parts)
    return Response(generate_latest(parts.metrics.registry), media_type=CONTENT_TYPE_LATEST)


def _measure(parts: Parts) -> None:
    now, measured = parts.clock(), parts.metrics
    _age(measured.mirror_age.set, parts.tracker.listed_at, now)
    _age(measured.tenants_age.set, parts.directory.now.taken_at, now)
    _age(measured.accounting_age.set, parts.scan.completed_at, now)
    documents = parts.directory.now.documents
    measured.refusals.counts = documents.refusals
    measured.table_current.set(float("nan") if documents.policy is None else documents.policy.healthy)
    for state, count in parts.tracker.counts_by_state().items():
        measured.jobs.labels(state=state).set(count)


def _age(put: Callable[[float], None], at: datetime | None, now: datetime) -> None:
    put(float("inf") if at is None else max(0.0, (now - at).total_seconds()))
