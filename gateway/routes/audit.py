"""``/v1/audit``: who wrote what."""

from __future__ import annotations

from functools import partial
from typing import Annotated

from fastapi import APIRouter, Query, Request

from gateway.auth import Caller
from gateway.compose import Parts
from gateway.schemas.v1.audit import AuditPage, entry_view
from gateway.schemas.v1.problem import problems
from gateway.store import audit
from gateway.store.audit import Reader

router = APIRouter(prefix="/v1/audit", tags=["audit"])


@router.get("", responses=problems(401, 403, 422, 503))
async def list_entries(
    request: Request,
    caller: Caller,
    *,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
    before: Annotated[
        int | None, Query(ge=1, le=2**62, description="`next_before` of the page before.")
    ] = None,
) -> AuditPage:
    """List writes, newest first: the caller's own, for a manager the tenant's, for an administrator all."""
    parts: Parts = request.app.state.parts
    managed = frozenset(name for name, role in caller.tenants.items() if role == "manager")
    # A credential that is limited to tenants doesn't show what its user did elsewhere.
    own = caller.user if caller.grant.tenants is None else ""
    reader = Reader(user=own, tenants=managed, everything=caller.admin)
    found = await parts.store.read(partial(audit.page, reader=reader, limit=limit + 1, before=before))
    return AuditPage(
        items=[entry_view(entry) for entry in found[:limit]],
        next_before=found[limit - 1].id if len(found) > limit else None,
    )
