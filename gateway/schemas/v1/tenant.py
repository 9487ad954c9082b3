"""Tenants and the caller, as version 1 of the API shows them."""

from __future__ import annotations

from datetime import datetime

from pydantic import BaseModel, ConfigDict, Field

from bridge.policy.tenant import Classes, FlavorGrant, Limits, Role, Tenant
from gateway.directory import Snapshot


class MemberView(BaseModel):
    """A member; uid and OIDC subject are nobody's business here."""

    user: str
    role: Role


class TenantStateView(BaseModel):
    """Whether the document is in force in Slurm and for the users."""

    applied: bool
    message: str


class TenantView(BaseModel):
    """One tenant."""

    model_config = ConfigDict(frozen=True)

    name: str
    display_name: str
    parent: str | None
    weight: int = Field(description="Fair-share weight.")
    members: list[MemberView]
    flavors: dict[str, FlavorGrant]
    classes: Classes
    limits: Limits
    state: TenantStateView


class TenantList(BaseModel):
    """The caller's tenants, or all for an administrator."""

    items: list[TenantView]
    as_of: datetime | None = Field(description="When the documents were read; null before the first time.")


class PlanStep(BaseModel):
    """One step of what a change does."""

    model_config = ConfigDict(from_attributes=True)

    action: str = Field(description="create, change, drain, remove, leave, hold or release")
    kind: str = Field(description="document, user, account, association, qos, partition, table or job")
    name: str
    detail: str
    drift: bool = Field(description="To be done without this change as well: somebody changed Slurm by hand.")


class TenantDocument(BaseModel):
    """A tenant's document, whole, and where it stands."""

    document: Tenant
    revision: str = Field(description="Also the answer's ETag; send it back as If-Match.")
    state: TenantStateView


class TenantChange(BaseModel):
    """What a change did, or (dry_run) would do."""

    name: str
    dry_run: bool
    revision: str | None = Field(description="Of the document that is in force now; null when there is none.")
    plan: list[PlanStep]


class HistoryEntry(BaseModel):
    """One change of a tenant's document."""

    model_config = ConfigDict(from_attributes=True)

    at: datetime
    actor: str = Field(description="Who changed it, and by which door.")
    change: str = Field(description="create, change or remove")
    before: str | None = Field(description="The document as it was written; null when there was none.")
    after: str | None = Field(description="The document as it is written since; null when it was removed.")


class TenantHistory(BaseModel):
    """Who changed a tenant's document, newest first."""

    name: str
    items: list[HistoryEntry]


def tenant_view(tenant: Tenant, snapshot: Snapshot) -> TenantView:
    """Show one tenant of a snapshot."""
    return TenantView(
        name=tenant.name,
        display_name=tenant.display_name,
        parent=tenant.parent,
        weight=tenant.weight,
        members=[MemberView(user=member.user, role=member.role) for member in tenant.members],
        flavors=dict(tenant.flavors),
        classes=tenant.classes,
        limits=tenant.limits,
        state=state_view(tenant.name, snapshot),
    )


def state_view(name: str, snapshot: Snapshot) -> TenantStateView:
    """Show where a tenant stands."""
    state = snapshot.documents.states.get(name)
    return TenantStateView(
        applied=state.applied if state else False,
        message=state.message if state else "not applied yet",
    )
