"""``/v1/tenants``: the caller's tenants; their documents, for administrators."""

from __future__ import annotations

import json
from typing import Annotated, Any, Final

import anyio.to_thread
import yaml
from fastapi import APIRouter, Header, Query, Request, Response

from bridge.errors import InputError, NotFound
from bridge.tenants.source import MAX_BYTES, Text, parse_all
from gateway.auth import Caller, Principal
from gateway.compose import Parts
from gateway.documents import ANY, Expected
from gateway.routes.recording import record
from gateway.schemas.v1.problem import problems
from gateway.schemas.v1.tenant import (
    HistoryEntry,
    PlanStep,
    TenantChange,
    TenantDocument,
    TenantHistory,
    TenantList,
    state_view,
    tenant_view,
)

router = APIRouter(prefix="/v1/tenants", tags=["tenants"])

YAML_TYPES: Final = ("application/yaml", "application/x-yaml", "text/yaml")
IfMatch = Annotated[
    str | None, Header(description="The revision (ETag) that the change was made for, or * for any.")
]
IfNoneMatch = Annotated[str | None, Header(description="* alone: only when there is no such tenant yet.")]
DryRun = Annotated[bool, Query(description="Only say what would be done.")]

_BODY: Final[dict[str, Any]] = {
    "requestBody": {
        "required": True,
        "description": "The document; its schema is at /v1/schemas/tenant. YAML is kept as it is written.",
        "content": {name: {"schema": {"type": "object"}} for name in ("application/json", *YAML_TYPES)},
    }
}


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


@router.get("/{name}", responses=problems(401, 403, 404, 503))
async def get_tenant(request: Request, response: Response, name: str, caller: Caller) -> TenantDocument:
    """Give a tenant's document whole, with its revision."""
    caller.require_admin()
    parts: Parts = request.app.state.parts
    written = await anyio.to_thread.run_sync(parts.documents.get, name)
    response.headers["ETag"] = f'"{written.revision}"'
    return TenantDocument(
        document=written.tenant,
        revision=written.revision,
        state=state_view(name, parts.directory.now),
    )


@router.get("/{name}/history", responses=problems(401, 403, 404, 422, 503))
async def get_history(
    request: Request,
    name: str,
    caller: Caller,
    limit: Annotated[int, Query(ge=1, le=1000, description="Entries at most.")] = 100,
) -> TenantHistory:
    """List who changed a tenant's document, when, from what to what; also of a tenant that is gone."""
    caller.require_admin()
    parts: Parts = request.app.state.parts
    found = await anyio.to_thread.run_sync(lambda: parts.documents.history(name, limit=limit))
    return TenantHistory(name=name, items=[HistoryEntry.model_validate(each) for each in found])


@router.put(
    "/{name}",
    responses={
        201: {"description": "A new tenant", "model": TenantChange},
        **problems(401, 403, 409, 412, 422, 503),
    },
    openapi_extra=_BODY,
)
async def put_tenant(
    request: Request,
    response: Response,
    name: str,
    caller: Caller,
    *,
    dry_run: DryRun = False,
    if_match: IfMatch = None,
    if_none_match: IfNoneMatch = None,
) -> TenantChange:
    """Make or replace a tenant's document and carry it out; the answer has the plan."""
    caller.require_admin()
    parts: Parts = request.app.state.parts
    text = _text(name, request.headers.get("content-type", ""), await request.body())
    expected = _expected(if_match, if_none_match)
    before = await _present(parts, name)
    plan = await anyio.to_thread.run_sync(
        lambda: parts.documents.put(name, text, actor=_actor(caller), expected=expected, dry_run=dry_run)
    )
    made = any(step.kind == "document" and step.action == "create" for step in plan)
    response.status_code = 201 if made and not dry_run else 200
    if not dry_run and text != before:
        # The bridge's own log has it since before it was done.
        await record(parts, caller, "tenant.put", name, tenant=name, before=_told(before), after=_told(text))
    steps = [PlanStep.model_validate(step) for step in plan]
    return await _changed(parts, response, name, dry_run=dry_run, plan=steps)


@router.delete("/{name}", responses=problems(401, 403, 404, 412, 503))
async def delete_tenant(
    request: Request,
    response: Response,
    name: str,
    caller: Caller,
    *,
    dry_run: DryRun = False,
    if_match: IfMatch = None,
) -> TenantChange:
    """Remove a tenant: it takes no more jobs, and leaves Slurm when its last one has ended."""
    caller.require_admin()
    parts: Parts = request.app.state.parts
    expected = _expected(if_match, None)
    before = await _present(parts, name)
    plan = await anyio.to_thread.run_sync(
        lambda: parts.documents.remove(name, actor=_actor(caller), expected=expected, dry_run=dry_run)
    )
    if not dry_run:
        await record(parts, caller, "tenant.delete", name, tenant=name, before=_told(before))
    steps = [PlanStep.model_validate(step) for step in plan]
    return await _changed(parts, response, name, dry_run=dry_run, plan=steps)


async def _present(parts: Parts, name: str) -> str | None:
    try:
        return (await anyio.to_thread.run_sync(parts.documents.get, name)).text
    except NotFound:
        return None


def _told(text: str | None) -> dict[str, str] | None:
    return None if text is None else {"document": text}


async def _changed(
    parts: Parts, response: Response, name: str, *, dry_run: bool, plan: list[PlanStep]
) -> TenantChange:
    if not dry_run:
        await parts.directory.refresh()  # who reads after this answer sees the change
    try:
        written = await anyio.to_thread.run_sync(parts.documents.get, name)
    except NotFound:
        return TenantChange(name=name, dry_run=dry_run, revision=None, plan=plan)
    response.headers["ETag"] = f'"{written.revision}"'
    return TenantChange(name=name, dry_run=dry_run, revision=written.revision, plan=plan)


def _actor(caller: Principal) -> str:
    return f"http:{caller.user} ({caller.actor})"


def _expected(if_match: str | None, if_none_match: str | None) -> Expected | None:
    if if_none_match is not None:
        if if_none_match.strip() != ANY:
            raise InputError("If-None-Match takes * alone here; to change what is there send If-Match")
        return Expected(revision=None)
    if if_match is None:
        return None
    return Expected(revision=if_match.strip().removeprefix("W/").strip('"'))


def _text(name: str, content_type: str, body: bytes) -> str:
    """Return the document as YAML text; JSON is written anew, YAML stays as it is."""
    kind = content_type.partition(";")[0].strip().lower()
    if len(body) > MAX_BYTES:  # before it costs anything to read
        raise InputError(f"{len(body)} bytes are above the limit of {MAX_BYTES}; a document is one tenant's")
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError as error:
        raise InputError(f"the document is not UTF-8 (byte {error.start}); send it as UTF-8") from error
    if kind in ("", "application/json"):
        text = yaml.safe_dump(_json(text), sort_keys=False, allow_unicode=True)
    elif kind not in YAML_TYPES:
        raise InputError(f"a document is application/json or application/yaml, not {kind}")
    (sourced,) = parse_all([Text(f"{name}.yaml", text)])
    if sourced.tenant.name != name:
        raise InputError(
            f"the path names tenant {name}, the document {sourced.tenant.name}; make them the same"
        )
    return text


def _json(text: str) -> object:
    def once(pairs: list[tuple[str, object]]) -> dict[str, object]:
        found = dict(pairs)
        if len(found) != len(pairs):
            raise InputError("the document has a key twice; keep one")
        return found

    try:
        return json.loads(text, object_pairs_hook=once)
    except (ValueError, RecursionError) as error:
        raise InputError("the document is not readable as JSON; /v1/schemas/tenant has its form") from error
