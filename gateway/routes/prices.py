"""``/v1/prices``: the price books. Everybody may read them; administrators change them."""

from __future__ import annotations

from typing import Annotated, Any, Final

from fastapi import APIRouter, Path, Query, Request, Response

from bridge.errors import InputError
from bridge.policy.tenant import TENANT_NAME
from gateway.auth import Caller
from gateway.compose import Parts
from gateway.price.book import PriceBook
from gateway.routes.recording import record
from gateway.schemas.v1.price import PriceBookHistory, PriceBooks, PriceBookView, book_view
from gateway.schemas.v1.problem import problems

router = APIRouter(prefix="/v1/prices", tags=["prices"])

BookPath = Annotated[str, Path(pattern=TENANT_NAME, description="The book's name.")]
_EXAMPLE: Final = {
    "name": "default",
    "currency": "EUR",
    "timezone": "Europe/Berlin",
    "per": "hour",
    "on_demand": [{"from": "2026-01-01", "gpu": "2.40", "cpu": "0.03", "memory_gib": "0.004"}],
    "reserved": [{"from": "2026-01-01", "flavor": "h100", "gpu": "1.50"}],
}


@router.get("", responses=problems(401, 503))
async def list_books(request: Request, caller: Caller) -> PriceBooks:
    """List the price books in force."""
    del caller
    return PriceBooks(items=[book_view(each) for each in (await _parts(request).prices.books()).values()])


@router.get("/{name}", responses=problems(401, 404, 422, 503))
async def get_book(request: Request, caller: Caller, name: BookPath) -> PriceBookView:
    """Show the newest version of a price book."""
    del caller
    return book_view((await _parts(request).prices.history(name))[0])


@router.get("/{name}/history", responses=problems(401, 404, 422, 503))
async def get_history(request: Request, caller: Caller, name: BookPath) -> PriceBookHistory:
    """Show every version of a price book, newest first."""
    del caller
    return PriceBookHistory(items=[book_view(each) for each in await _parts(request).prices.history(name)])


@router.put(
    "/{name}",
    responses={
        201: {"model": PriceBookView, "description": "A version more"},
        **problems(401, 403, 413, 422, 503),
    },
    openapi_extra={"requestBody": {"content": {"application/json": {"example": _EXAMPLE}}}},
)
async def put_book(
    request: Request,
    response: Response,
    caller: Caller,
    name: BookPath,
    book: PriceBook,
    *,
    dry_run: Annotated[bool, Query(description="Only say whether the book is good.")] = False,
) -> PriceBookView | None:
    """Put a price book in force; the versions before stay on record. 204 for a dry run."""
    caller.require_admin()
    if book.name != name:
        raise InputError(
            f"the book's name is {book.name!r} and the path says {name!r}; write one name", path=name
        )
    if dry_run:
        response.status_code = 204
        return None
    prices = _parts(request).prices
    before = (await prices.books()).get(name)
    changed = await prices.put(book, actor=caller.user)
    if changed:
        told = _told(before.book if before else None)
        await record(_parts(request), caller, "price.put", name, before=told, after=_told(book))
    response.status_code = 201 if changed else 200
    return book_view((await prices.history(name))[0])


@router.delete("/{name}", status_code=204, responses=problems(401, 403, 404, 409, 422, 503))
async def remove_book(request: Request, caller: Caller, name: BookPath) -> None:
    """Take a price book out of force; refused while a tenant's document names it."""
    caller.require_admin()
    prices = _parts(request).prices
    before = (await prices.books()).get(name)
    await prices.remove(name, actor=caller.user)
    told = _told(before.book if before else None)
    await record(_parts(request), caller, "price.delete", name, before=told)


def _told(book: PriceBook | None) -> dict[str, Any] | None:
    return None if book is None else book.model_dump(mode="json", by_alias=True)


def _parts(request: Request) -> Parts:
    parts: Parts = request.app.state.parts
    return parts
