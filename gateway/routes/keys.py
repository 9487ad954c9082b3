"""``/v1/keys``: make, list and revoke API keys."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Request, Response

from gateway.auth import Caller, KeyKeeper
from gateway.compose import Parts
from gateway.key_desk import Wish
from gateway.schemas.v1.key import KeyList, KeyView, MakeKey, NewKey, key_view
from gateway.schemas.v1.problem import problems

router = APIRouter(prefix="/v1/keys", tags=["keys"])


@router.post("", status_code=201, responses=problems(401, 403, 422, 503))
async def make_key(request: Request, response: Response, caller: KeyKeeper, wish: MakeKey) -> NewKey:
    """Make an API key; its text is in this answer and can't be had again.

    A key may not do more, nor last longer, than the credential that made it.
    """
    parts = _parts(request)
    key, text = await parts.key_desk.create(
        caller,
        Wish(user=wish.user, label=wish.label, scopes=tuple(wish.scopes), expires_at=wish.expires_at),
    )
    response.headers["Location"] = f"/v1/keys/{key.id}"
    response.headers["Cache-Control"] = "no-store"
    return NewKey(**key_view(key, parts.clock()).model_dump(), key=text)


@router.get("", responses=problems(401, 403, 503))
async def list_keys(
    request: Request,
    caller: Caller,
    *,
    user: Annotated[str | None, Query(description="Only this user's.")] = None,
) -> KeyList:
    """List the caller's keys.

    A manager also sees those that are limited to tenants of theirs, an administrator all.
    """
    parts = _parts(request)
    found = await parts.key_desk.listing(caller, user=user)
    return KeyList(items=[key_view(key, parts.clock()) for key in found])


@router.get("/{key}", responses=problems(401, 403, 404, 503))
async def get_key(request: Request, caller: Caller, key: str) -> KeyView:
    """Show one key, by its id."""
    parts = _parts(request)
    return key_view(await parts.key_desk.get(caller, key), parts.clock())


@router.delete("/{key}", responses=problems(401, 403, 404, 503))
async def revoke_key(request: Request, caller: KeyKeeper, key: str) -> KeyView:
    """Revoke a key for ever."""
    parts = _parts(request)
    return key_view(await parts.key_desk.revoke(caller, key), parts.clock())


def _parts(request: Request) -> Parts:
    parts: Parts = request.app.state.parts
    return parts
