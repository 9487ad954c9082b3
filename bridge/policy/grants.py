"""What a tenant may use: GPUs by flavor, classes, limits, a budget.

Pure pydantic, the parts of `bridge.policy.tenant.Tenant`. Each rule here is about one part alone; what the
parts mean together is the document's, what all documents mean together `bridge.policy.pool`'s.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, model_validator

JobClass = Literal["production", "training", "development", "batch"]
Count = Annotated[int, Field(strict=True, ge=1, le=1_000_000_000)]
"""A positive whole number in Slurm's 32 bits; never a text or a truth value that would be read as one."""
Money = Annotated[Decimal, Field(gt=0, max_digits=14, decimal_places=2)]
Currency = Annotated[str, StringConstraints(pattern=r"^[A-Z]{3}$")]
"""ISO 4217."""


class Document(BaseModel):
    """What all parts of a tenant document have in common: frozen, and no unknown key."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)


class FlavorGrant(Document):
    """GPUs of one flavor. All numbers are GPUs; ``guarantee <= limit``."""

    guarantee: Annotated[int, Field(strict=True, ge=0)] = 0
    """GPUs that production jobs can always have; at most `limit`."""
    limit: Count
    """GPUs of this flavor that all jobs together may use at once."""
    lendable: Annotated[bool, Field(strict=True)] = True
    """Whether unused guaranteed GPUs may be lent to others."""

    @model_validator(mode="after")
    def _within(self) -> Self:
        if self.guarantee > self.limit:
            raise ValueError(
                f"guarantee {self.guarantee} is above limit {self.limit}; lower one or raise the other"
            )
        return self


class Classes(Document):
    """Classes that the tenant may use; `default` is taken when a job names none."""

    allowed: Annotated[tuple[JobClass, ...], Field(min_length=1)] = (
        "training",
        "development",
        "batch",
    )
    default: JobClass = "training"

    @model_validator(mode="after")
    def _default_allowed(self) -> Self:
        if self.default not in self.allowed:
            raise ValueError(f"default {self.default!r} is not among allowed; add it or choose another")
        return self


class Limits(Document):
    """Limits beside GPUs; None means no limit of the tenant's own."""

    max_walltime_min: Count | None = None
    """Longest time limit of a job, in minutes."""
    default_walltime_min: Count | None = None
    """Time limit of a job that names none; without it, the class's own (`bridge.policy.classes`)."""
    max_running_jobs: Count | None = None
    """Jobs of the tenant that run at once."""
    max_running_jobs_per_user: Count | None = None
    """Jobs of one user in this tenant that run at once."""
    max_nodes: Count | None = None
    """Nodes that all jobs together may use at once."""
    max_nodes_per_user: Count | None = None
    """The same for one user."""
    max_cpus: Count | None = None
    """CPUs that all jobs together may use at once."""
    max_cpus_per_user: Count | None = None
    """The same for one user."""
    max_memory_mib: Count | None = None
    """Memory of all jobs together, in MiB."""
    max_memory_mib_per_user: Count | None = None
    """The same for one user."""
    max_submitted_jobs: Count | None = 5000
    """Jobs of the tenant that are queued or running."""
    max_submitted_jobs_per_user: Count | None = 1000
    """Jobs of one user in this tenant that are queued or running."""
    max_gpus_per_job: Count | None = None
    """GPUs in one job."""

    @model_validator(mode="after")
    def _default_within(self) -> Self:
        default, longest = self.default_walltime_min, self.max_walltime_min
        if default is not None and longest is not None and default > longest:
            raise ValueError(
                f"default_walltime_min {default} is above max_walltime_min {longest};"
                " lower one or raise the other"
            )
        return self


class Budget(Document):
    """What a tenant, and all below it, may use in a calendar month: GPU-hours or money, one of the two."""

    gpu_hours: Count | None = None
    """GPUs of all flavors x hours."""
    money: Money | None = None
    """By the tenant's price book."""
    currency: Currency | None = None
    """Of `money`, three letters."""
    when_exhausted: Literal["warn", "block"] = "warn"
    """warn: jobs go on, their owners are told. block: no new job; what runs goes on, what waits is held."""

    @model_validator(mode="after")
    def _one_kind(self) -> Self:
        if (self.gpu_hours is None) == (self.money is None):
            raise ValueError("a budget is either gpu_hours or money; give one of the two")
        if (self.money is None) != (self.currency is None):
            raise ValueError("money and currency go together; give both or neither")
        return self

    @property
    def text(self) -> str:
        """The amount as users read it: ``1000 GPU-hours``, ``2500.00 EUR``."""
        return f"{self.gpu_hours} GPU-hours" if self.money is None else f"{self.money:.2f} {self.currency}"
