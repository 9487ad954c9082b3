"""What a site settles about its pool beside the tenants' documents: old names, shares of a node, spare nodes.

Pure pydantic; comes from the bridge's configuration (`bridge.config`), and the gateway gets it with the
documents, so that both make the same table of them.
"""

from __future__ import annotations

from typing import Annotated, Final, Literal

from pydantic import BaseModel, ConfigDict, Field

from bridge.policy.grants import Count, JobClass


class Aliases(BaseModel):
    """A site's old names, which keep working: partitions mean flavors, QOS mean classes."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    partitions: dict[str, str] = {}
    """Partition to flavor. A partition of a flavor is never an alias."""
    qos: dict[str, JobClass] = {}
    """QOS to class. The name of a class is never an alias."""


class Share(BaseModel):
    """What may go with one GPU of a flavor, so that no job strands the GPUs beside its own."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    cpus_per_gpu: Count | None = None
    """None: the CPUs of the flavor's smallest node, divided by the GPUs on it."""
    memory_mib_per_gpu: Count | None = None
    """None: the memory of the flavor's smallest node, divided by the GPUs on it."""
    without_gpus: Literal["share", "refuse", "allow"] = "share"
    """Jobs that ask no GPU. share: on each node as much as goes with one GPU. refuse: none of them. allow:
    all of them, whatever they strand."""


Stoppable = Literal["training", "development", "batch"]
"""Classes whose jobs may be stopped for another one."""


class ClassTimes(BaseModel):
    """Times of one class in seconds; None is the class's own (`bridge.policy.classes`)."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    exempt_s: Annotated[int, Field(ge=0)] | None = None
    """A job runs at least so long before it is stopped for another one."""
    grace_s: Annotated[int, Field(ge=0)] | None = None
    """From the notice to the end of a job that is stopped for another one; Slurm's KillWait comes after."""


class Site(BaseModel):
    """All of it."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    aliases: Aliases = Aliases()
    shares: dict[str, Share] = {}
    """By flavor; one that isn't named has `Share`'s defaults."""
    class_times: dict[Stoppable, ClassTimes] = {}
    """By class; production is never stopped."""
    spare_nodes: Annotated[int, Field(ge=0)] | None = None
    """Healthy nodes of each flavor, the largest first, on which nothing is guaranteed: so many may fail.
    None: one, of a flavor with at least `SMALL_POOL` nodes."""


SMALL_POOL: Final = 3
"""With fewer nodes a spare one would be half of the pool or all of it."""

NO_SITE: Final = Site()
