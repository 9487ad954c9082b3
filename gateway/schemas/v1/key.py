"""API keys, as version 1 of the API shows them."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field

from gateway.store.keys import ApiKey


class MakeKey(BaseModel):
    """The key that is asked for."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [{"label": "nightly CI", "scopes": ["read", "submit", "tenant=astro"]}]
        },
    )

    label: Annotated[str, Field(max_length=200)] = ""
    scopes: Annotated[
        list[str],
        Field(
            max_length=100,
            description="Some of read, submit, keys, admin; tenant=NAME limits it. Default: read, submit.",
        ),
    ] = []
    expires_at: Annotated[AwareDatetime | None, Field(description="With a zone; null: never.")] = None
    user: Annotated[
        str | None, Field(description="For an administrator: whose key; default: the caller's own.")
    ] = None


class KeyView(BaseModel):
    """A key without its secret."""

    id: str
    user: str
    label: str
    scopes: list[str]
    valid: bool
    created_at: datetime
    expires_at: datetime | None
    revoked_at: datetime | None
    last_used_at: datetime | None = Field(description="To the hour.")


class NewKey(KeyView):
    """A key that was just made."""

    key: str = Field(description="The key itself. It is shown this once.")


class KeyList(BaseModel):
    """The keys that the caller may see, oldest first."""

    items: list[KeyView]


def key_view(key: ApiKey, now: datetime) -> KeyView:
    """Show a key."""
    return KeyView(
        id=key.id,
        user=key.user,
        label=key.label,
        scopes=list(key.scopes),
        valid=key.valid(now),
        created_at=key.created_at,
        expires_at=key.expires_at,
        revoked_at=key.revoked_at,
        last_used_at=key.last_used_at,
    )
