"""``/v1/whoami``: who the caller is, what they may, and what is left of it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import anyio.to_thread
from fastapi import APIRouter, Request

from bridge.errors import SluiceError
from bridge.slurm.port import AssociationUse
from gateway.auth import Caller
from gateway.compose import Parts
from gateway.schemas.v1.problem import problems
from gateway.schemas.v1.whoami import WhoAmI, standing_view
from gateway.standing import accounts_to_ask, standings

router = APIRouter(prefix="/v1/whoami", tags=["whoami"])


@router.get("", summary="Who am I", responses=problems(401, 403, 503))
async def whoami(request: Request, caller: Caller) -> WhoAmI:
    """Show the caller: Linux user, tenants and roles, classes, limits, and what slurmctld counts now."""
    parts: Parts = request.app.state.parts
    snapshot = parts.directory.now
    documents = snapshot.documents.tenants
    uses: Sequence[AssociationUse] = ()
    missing = None
    asked_at = parts.clock()
    try:
        ask = partial(parts.slurm.uses, accounts_to_ask(caller.tenants, documents), user=caller.user)
        uses = await anyio.to_thread.run_sync(ask)
    except SluiceError as error:
        missing = error.message  # who one is can be said without what is used
    found = standings(caller.user, caller.tenants, documents, snapshot.table, uses)
    return WhoAmI(
        user=caller.user,
        admin=caller.admin,
        credential=caller.actor,
        scopes=list(caller.grant.words()),
        default_tenant=next((each.tenant for each in found if each.default), None),
        tenants=[standing_view(each) for each in found],
        as_of=None if missing else asked_at,
        missing=missing,
    )
