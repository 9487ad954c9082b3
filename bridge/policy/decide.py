"""Decides whether a tenant may run a job, and with which account, partition, QOS, time and GPU type.

Pure: `PolicyTable`, `Request` and the moment in, `Decision` or `Refusal` out. slurmctld's job_submit.lua
(``slurm-conf/job_submit``) is the enforcement point and the second copy of these rules; a property test
demands equal decisions, word for word. Here they serve previews, estimates and the API's error bodies.

Limits that are sums (GPUs of all jobs at once, running jobs) are Slurm's business; here a job is refused
only when it could never run.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Final

from bridge.policy.bounds import Placed, time_limit, whole_nodes, within_limits, within_share
from bridge.policy.classes import qos_name
from bridge.policy.gpus import least_gpus, read_gpus, typed
from bridge.policy.notes import budget_notes, maintenance_note
from bridge.policy.place import class_of, mode_of, placed, tenant_of
from bridge.policy.refused import Refused
from bridge.policy.request import TRES_FIELDS, Decision, Refusal, Request, Tolerated, Verdict
from bridge.policy.table import PolicyTable

ALWAYS: Final = datetime(1970, 1, 1, tzinfo=UTC)
"""A moment before every window: for tests and lists to which time means nothing."""


def decide(table: PolicyTable, request: Request, now: datetime = ALWAYS) -> Verdict:
    """Decide about one job, or one component of a het job; each array task counts as a job."""
    mode = mode_of(table, request)
    verdict: Decision | Refusal
    try:
        verdict = _decide(table, request, now)
    except Refused as refused:
        verdict = refused.refusal
    if mode == "enforce":
        return verdict
    return Tolerated(verdict if isinstance(verdict, Refusal) else None, spoken=mode == "warn")


_OF_GPUS: Final = (
    *TRES_FIELDS,
    "ntasks",
    "ntasks_per_node",
    "ntasks_per_socket",
    "ntasks_per_gpu",
    "sockets_per_node",
)
_OF_CPUS: Final = ("cpus_min", "cpus_per_task", "cpus_per_node", "cpus_per_gpu")
_OF_MEMORY: Final = ("memory_per_node_mib", "memory_per_cpu_mib", "memory_per_gpu")
_CHANGEABLE: Final = (
    *(
        "account",
        "partition",
        "qos",
        "time_limit_min",
        "nodes_min",
        "nodes_max",
        "exclusive",
        "private_nodes",
    ),
    *(*_OF_GPUS, *_OF_CPUS, *_OF_MEMORY),
)


def decide_change(
    table: PolicyTable, job: Request, change: Request, now: datetime = ALWAYS
) -> Verdict | None:
    """Decide about a user's change of a job; None when the change touches nothing that rules are about.

    `job` is the job as slurmctld has it, with its counts; `change` has only what the user wants otherwise.
    What is decided is the job as it would be. Its time limit is judged when the change names one, or an
    account or QOS for which another one is the longest; a budget when it names an account.
    """
    # 0 is something said; None and a False are not.
    values = {name: getattr(change, name) for name in _CHANGEABLE}
    wanted = {name: value for name, value in values.items() if value is not None and value is not False}
    if not wanted:
        return None
    settled = {
        "time_settled": not wanted.keys() & {"time_limit_min", "account", "qos"},
        "budget_settled": "account" not in wanted,
    }
    verdict = decide(table, replace(job, **{**settled, **_no_longer_counted(job, wanted), **wanted}), now)
    if isinstance(verdict, Decision) and (
        _asks_gpus(change.tres_per_task) or _asks_gpus(change.tres_per_socket)
    ):
        # slurmctld's record has neither tasks nor sockets, so that GPUs for each of them can't be counted.
        return Refused(
            "gpu.change",
            "a change can't ask for GPUs per task or socket, since the rules don't see how many of them the"
            " job has; ask for them in all or per node, or submit the job anew",
        ).refusal
    return verdict


def _no_longer_counted(job: Request, wanted: Mapping[str, object]) -> dict[str, None]:
    """Return the counts of slurmctld's that a change makes obsolete; what it says instead is counted anew."""
    gpus, cpus = (any(field in wanted for field in fields) for fields in (_OF_GPUS, _OF_CPUS))
    nodes = "nodes_min" in wanted or "nodes_max" in wanted
    lost: dict[str, None] = {}
    # GPUs for each task or socket don't depend on the nodes, and can't be counted again.
    if gpus or (nodes and not _asks_gpus(job.tres_per_task) and not _asks_gpus(job.tres_per_socket)):
        lost["gpus_counted"] = None
    if gpus or cpus or nodes:
        lost["cpus_counted"] = None
    if lost or any(field in wanted for field in _OF_MEMORY):
        lost["memory_counted_mib"] = None
    return lost


def _asks_gpus(text: str | None) -> bool:
    return text is not None and "gres/gpu" in text


def _decide(table: PolicyTable, request: Request, now: datetime) -> Decision:
    tenant = tenant_of(table, request)
    notes = [] if request.budget_settled else [*budget_notes(table, tenant, now)]
    gpus = read_gpus(request)
    partition, flavor = placed(table, request, tenant, gpus)
    job_class = class_of(table, request, tenant)
    count = least_gpus(request, gpus)
    job = Placed(tenant=tenant, job_class=job_class, partition=partition, flavor=flavor, gpus=count)
    within_limits(table, request, job)
    within_share(table, request, job)
    if request.private_nodes:
        raise Refused(
            "node.private",
            "--exclusive=user, mcs or topo keeps others from GPUs that nobody is charged for;"
            " write --exclusive, or leave it out",
        )
    if request.exclusive:
        whole_nodes(table, request, job)
    limit = time_limit(request, job)
    waits = maintenance_note(table, request, partition=partition, limit=limit, now=now)
    return Decision(
        account=tenant.name,
        partition=partition,
        qos=qos_name(job_class, tenant.name),
        job_class=job_class,
        flavor=flavor,
        gpus=count,
        time_limit_min=limit,
        notes=(*notes, *([waits] if waits else [])),
        **typed(request, gpus, table.flavor_type.get(flavor, "")),
    )
