"""The caller, as version 1 of the API shows them."""

from __future__ import annotations

from datetime import datetime

from pydantic import BaseModel, ConfigDict, Field

from bridge.policy.tenant import Role
from gateway.standing import Amount, Standing


class AmountView(BaseModel):
    """A limit, what is used of it now, and what is left."""

    limit: int | None = Field(description="null: none.")
    used: int
    left: int | None = Field(
        description="What a job could still have, by this limit and those above it; null: no limit."
    )


class ClassView(BaseModel):
    """A class that jobs may name; minutes."""

    name: str
    default_walltime_min: int
    max_walltime_min: int | None


class StandingView(BaseModel):
    """A tenant of the caller, and where they stand in it."""

    name: str
    role: Role
    default: bool = Field(description="Whether jobs that name no tenant are this one's.")
    classes: list[ClassView]
    default_class: str
    max_gpus_per_job: int | None
    budget: str | None = Field(description="Of a calendar month, e.g. `1000 GPU-hours`; null: none.")
    guarantees: dict[str, int] = Field(description="Guaranteed GPUs by flavor.")
    gpus: dict[str, AmountView] = Field(description="By flavor, all jobs of the tenant.")
    others: dict[str, AmountView] = Field(description="cpus, memory_mib, nodes: all jobs of the tenant.")
    jobs: dict[str, AmountView] = Field(description="running; submitted (queued and running).")
    own: dict[str, AmountView] = Field(description="The same for the caller's own jobs in this tenant.")


class WhoAmI(BaseModel):
    """The caller."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "user": "ada",
                    "admin": False,
                    "credential": "key 1f2e3d4c5b6a",
                    "scopes": ["read", "submit"],
                    "default_tenant": "astro",
                    "tenants": [],
                    "as_of": "2026-11-30T12:00:00Z",
                    "missing": None,
                }
            ]
        }
    )

    user: str = Field(description="The Linux user that the caller's jobs run as.")
    admin: bool
    credential: str = Field(
        description="What was used: `key ID`, `token SUBJECT of ISSUER`, `slurm token`; never its secret."
    )
    scopes: list[str] = Field(description="What the credential may be used for.")
    default_tenant: str | None = Field(description="Of jobs that name none.")
    tenants: list[StandingView]
    as_of: datetime | None = Field(description="When slurmctld was asked what is used; null: it was not.")
    missing: str | None = Field(description="Why the amounts are missing; null when they are there.")


def standing_view(standing: Standing) -> StandingView:
    """Show one tenant."""
    return StandingView(
        name=standing.tenant,
        role=standing.role,
        default=standing.default,
        classes=[
            ClassView(name=rule.name, default_walltime_min=rule.default_min, max_walltime_min=rule.max_min)
            for rule in standing.classes
        ],
        default_class=standing.default_class,
        max_gpus_per_job=standing.max_gpus_per_job,
        budget=standing.budget or None,
        guarantees=dict(standing.guarantees),
        gpus={name: _amount(amount) for name, amount in standing.gpus.items()},
        others={name: _amount(amount) for name, amount in standing.others.items()},
        jobs={name: _amount(amount) for name, amount in standing.jobs.items()},
        own={name: _amount(amount) for name, amount in standing.own.items()},
    )


def _amount(amount: Amount) -> AmountView:
    return AmountView(limit=amount.limit, used=amount.used, left=amount.left)
