"""What is to be otherwise about a job that Slurm has: `JobChange`.

Pure data, of the port (`bridge.slurm.port`). Names and units as in `bridge.job_spec`; None is "as it is".
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from bridge.job_spec import Minutes


@dataclass(frozen=True, slots=True, kw_only=True)
class JobChange:
    """A change of a job. An empty text takes a comment or a dependency away."""

    account: str | None = None
    partition: str | None = None
    qos: str | None = None
    time_limit_min: Minutes | None = None
    name: str | None = None
    comment: str | None = None
    admin_comment: str | None = None
    """Only without a user."""
    dependency: str | None = None
    features: str | None = None
    reservation: str | None = None
    begin: datetime | None = None
    nodes_min: int | None = None
    nodes_max: int | None = None
    ntasks: int | None = None
    tres_per_job: str | None = None
    tres_per_node: str | None = None
    nice: int | None = None
    priority: int | None = None
    """Only without a user, above 0; holding is `bridge.slurm.port.Slurm.hold`."""
