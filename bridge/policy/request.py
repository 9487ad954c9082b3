"""What is asked and what is decided: `Request` in, `Decision` or `Refusal` out.

Pure data, in Slurm's own words; it is what job_submit.lua sees of a job (of each het component alone).
None means that the user did not say.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

from bridge.job import JobSpec, Minutes
from bridge.policy.tenant import JobClass

TresField = Literal["tres_per_job", "tres_per_node", "tres_per_socket", "tres_per_task"]
TRES_FIELDS: Final[tuple[TresField, ...]] = (
    "tres_per_job",
    "tres_per_node",
    "tres_per_socket",
    "tres_per_task",
)
"""All the ways to ask for GPUs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One job as far as tenants' rules see it. TRES strings with their ``gres/`` prefix."""

    user: str
    account: str | None = None
    partition: str | None = None
    """One name or several with commas."""
    qos: str | None = None
    """A class, or the QOS of one (``production-astro``)."""
    time_limit_min: Minutes | None = None
    tres_per_job: str | None = None
    tres_per_node: str | None = None
    tres_per_socket: str | None = None
    tres_per_task: str | None = None
    nodes_min: int | None = None
    nodes_max: int | None = None
    ntasks: int | None = None
    ntasks_per_node: int | None = None
    ntasks_per_socket: int | None = None
    ntasks_per_gpu: int | None = None
    sockets_per_node: int | None = None
    cpus_min: int | None = None
    """CPUs of the whole job, as sbatch works them out."""
    cpus_per_task: int | None = None
    cpus_per_node: int | None = None
    """``--mincpus``."""
    cpus_per_gpu: str | None = None
    """``gres/gpu:4``."""
    memory_per_node_mib: int | None = None
    """0 is all of each node's."""
    memory_per_cpu_mib: int | None = None
    memory_per_gpu: str | None = None
    """``gres/gpu:8192``, in MiB."""
    gpus_counted: int | None = None
    cpus_counted: int | None = None
    memory_counted_mib: int | None = None
    """What slurmctld itself counted of a job that it has; of a new one nothing."""
    budget_settled: bool = False
    time_settled: bool = False
    """Of a change: budget and time limit aren't judged, it doesn't touch them."""
    exclusive: bool = False
    """Whole nodes (``--exclusive`` alone): Slurm then allocates every GPU of them, asked or not."""
    private_nodes: bool = False
    """``--exclusive=user``, ``mcs`` or ``topo``: nobody else beside it, and no GPU allocated for that."""

    def tres(self, field: TresField) -> str | None:
        """Return one of the four TRES strings."""
        text: str | None = getattr(self, field)
        return text


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """The job is taken, with these values filled in.

    `gpus` is the least that the job asks for (0 for a job without GPUs); the TRES strings are typed.
    """

    account: str
    partition: str
    qos: str
    job_class: JobClass
    flavor: str
    gpus: int
    time_limit_min: Minutes
    tres_per_job: str | None
    tres_per_node: str | None
    tres_per_socket: str | None
    tres_per_task: str | None
    notes: tuple[str, ...] = ()
    """Sentences for the user beside the acceptance."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """The job is refused by a rule (its stable name), with one sentence for the user."""

    rule: str
    sentence: str


@dataclass(frozen=True, slots=True)
class Tolerated:
    """The job goes on as it was asked: its tenant's rules don't enforce.

    `refusal` is what they would have said, None when they would have taken the job; with `spoken` the user
    is told.
    """

    refusal: Refusal | None
    spoken: bool


Verdict = Decision | Refusal | Tolerated


def request_of(spec: JobSpec, *, user: str) -> Request:
    """Return what the tenants' rules see of a job description."""
    return Request(
        user=user,
        account=spec.account,
        partition=spec.partition,
        qos=spec.qos,
        time_limit_min=spec.time_limit_min,
        tres_per_job=spec.tres_per_job,
        tres_per_node=spec.tres_per_node,
        tres_per_socket=spec.tres_per_socket,
        tres_per_task=spec.tres_per_task,
        nodes_min=spec.nodes_min,
        nodes_max=spec.nodes_max,
        ntasks=spec.ntasks,
        ntasks_per_node=spec.ntasks_per_node,
        ntasks_per_socket=spec.ntasks_per_socket,
        ntasks_per_gpu=spec.ntasks_per_tres,
        sockets_per_node=spec.sockets_per_node,
        cpus_min=spec.cpus_min,
        cpus_per_task=spec.cpus_per_task,
        cpus_per_node=spec.mincpus,
        cpus_per_gpu=spec.cpus_per_tres,
        memory_per_node_mib=spec.memory_per_node_mib,
        memory_per_cpu_mib=spec.memory_per_cpu_mib,
        memory_per_gpu=spec.memory_per_tres,
        exclusive=spec.exclusive == "exclusive",
        private_nodes=spec.exclusive in ("user", "mcs", "topo"),
    )
