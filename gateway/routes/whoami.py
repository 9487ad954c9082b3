"""``/v1/whoami``: who the key is."""

from __future__ import annotations

from fastapi import APIRouter

from gateway.auth import Caller
from gateway.schemas.v1.problem import problems
from gateway.schemas.v1.tenant import Membership, WhoAmI

router = APIRouter(prefix="/v1/whoami", tags=["whoami"])


@router.get("", summary="Who am I", responses=problems(401, 503))
async def whoami(caller: Caller) -> WhoAmI:
    """Show the caller: Linux user, tenants and roles."""
    return WhoAmI(
        user=caller.user,
        admin=caller.admin,
        tenants=[Membership(name=name, role=role) for name, role in sorted(caller.tenants.items())],
        credential=caller.actor,
        scopes=list(caller.grant.words()),
    )
