"""``/v1/schemas``: what documents look like, for editors; open, since it says nothing about anybody."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Final

from fastapi import APIRouter
from fastapi.responses import JSONResponse
from pydantic import JsonValue

from bridge.policy.tenant_schema import tenant_schema

router = APIRouter(prefix="/v1/schemas", tags=["schemas"])

_CACHED: Final = {"Cache-Control": "public, max-age=3600"}


class SchemaResponse(JSONResponse):
    """A JSON Schema (RFC draft-bhutton-json-schema names the type)."""

    media_type = "application/schema+json"


@router.get("/tenant", response_class=SchemaResponse)
async def tenant() -> SchemaResponse:
    """Give the JSON Schema of a tenant document."""
    return SchemaResponse(dict(_schema()), headers=_CACHED)


@cache
def _schema() -> Mapping[str, JsonValue]:
    """Generate it once: that takes some 30 ms, and anybody may ask."""
    return tenant_schema()
