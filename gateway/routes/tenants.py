"""``/v1/tenants``: the caller's tenants."""

from __future__ import annotations

from fastapi import APIRouter, Request

from gateway.auth import Caller
from gateway.compose import Parts
from gateway.schemas.v1.problem import problems
from gateway.schemas.v1.tenant import TenantList, tenant_view

router = APIRouter(prefix="/v1/tenants", tags=["tenants"])


@router.get("", responses=problems(401, 503))
async def list_tenants(request: Request, caller: Caller) -> TenantList:
    """List the caller's tenants with their members, GPUs, classes and limits; all for an administrator."""
    parts: Parts = request.app.state.parts
    snapshot = parts.directory.now
    if snapshot.taken_at is None and parts.directory.failure is not None:
        raise parts.directory.failure
    return TenantList(
        items=[
            tenant_view(tenant, snapshot)
            for tenant in sorted(snapshot.documents.tenants, key=lambda tenant: tenant.name)
            if caller.admin or tenant.name in caller.tenants
        ],
        as_of=snapshot.taken_at,
    )
