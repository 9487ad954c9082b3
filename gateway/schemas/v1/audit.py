"""The audit log, as version 1 of the API shows it."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from pydantic import BaseModel, Field

from gateway.store.audit import Entry


class AuditEntry(BaseModel):
    """One write."""

    id: int
    at: datetime
    user: str = Field(description="Who did it.")
    actor: str = Field(description="The credential: `key ID`, `token SUBJECT of ISSUER`, `command`.")
    action: str
    object: str = Field(description="Id of the job or key, name of the tenant.")
    tenant: str = Field(description="The tenant that it is about; empty for none or several.")
    before: dict[str, Any] | None = Field(description="null for what was made.")
    after: dict[str, Any] | None = Field(description="null for what was removed.")


class AuditPage(BaseModel):
    """Entries, newest first."""

    items: list[AuditEntry]
    next_before: int | None = Field(description="Send it as `before` for the next page; null at the end.")


def entry_view(entry: Entry) -> AuditEntry:
    """Show an entry."""
    return AuditEntry(
        id=entry.id or 0,
        at=entry.at,
        user=entry.user,
        actor=entry.actor,
        action=entry.action,
        object=entry.object,
        tenant=entry.tenant,
        before=None if entry.before is None else dict(entry.before),
        after=None if entry.after is None else dict(entry.after),
    )
