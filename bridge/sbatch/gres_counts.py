"""The counts of one generic resource against each other and against tasks and nodes.

_test_gres_cnt() of src/interfaces/gres.c as a list of rules: each returns sbatch's sentence or nothing,
and may fill in a count of the job that follows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final


@dataclass(slots=True, kw_only=True)
class Counts:
    """Tasks, nodes and CPUs of the job; None = not said."""

    cpus_min: int
    cpus_per_task: int | None = None
    nodes_min: int | None = None
    nodes_max: int | None = None
    ntasks: int | None = None
    ntasks_per_node: int | None = None
    ntasks_per_socket: int | None = None
    ntasks_per_tres: int | None = None
    sockets_per_node: int | None = None


@dataclass(slots=True, kw_only=True)
class Requested:
    """What was asked of one resource (name and type); 0 = not asked."""

    name: str
    type: str | None
    per_job: int = 0
    per_node: int = 0
    per_socket: int = 0
    per_task: int = 0
    cpus_per_gres: int = 0
    memory_per_gres: int = 0
    ntasks_per_gres: int | None = None
    total: int = 0

    @property
    def asked(self) -> bool:
        """Whether a number of it was asked, not only CPUs or memory for each."""
        return bool(self.per_job or self.per_node or self.per_socket or self.per_task)


def _order(one: Requested, counts: Counts) -> str:
    n = one.name
    if one.per_job and max(one.per_node, one.per_task, one.per_socket) > one.per_job:
        return f"Failed to ensure --{n}s >= --gres={n}/--{n}s-per-node >= --{n}s-per-socket"
    if one.per_node and max(one.per_task, one.per_socket) > one.per_node:
        return f"Failed to ensure --{n}s >= --{n}s-per-task"
    if one.per_socket and counts.sockets_per_node is None:
        return f"--{n}s-per-socket option requires --sockets-per-node specification"
    if one.cpus_per_gres and counts.cpus_per_task is not None:
        return f"--cpus-per-{n} is mutually exclusive with --cpus-per-task"
    return ""


def _job_and_node(one: Requested, counts: Counts) -> str:
    n = one.name
    if not one.per_job or not one.per_node:
        return ""
    if one.per_job % one.per_node:
        return f"Failed to validate job spec, --{n}s is not multiple of --gres={n}/--{n}s-per-node"
    nodes = one.per_job // one.per_node
    unset = 0xFFFFFFFE
    most = counts.nodes_max if counts.nodes_max is not None else unset
    if (counts.nodes_min is not None and nodes < counts.nodes_min) or nodes > most:
        least = counts.nodes_min if counts.nodes_min is not None else unset
        return (
            f"Failed to validate job spec. Based on --{n} and --gres={n}/--{n}s-per-node required nodes"
            f" ({nodes}) doesn't fall between min_nodes ({least}) and max_nodes ({most}) boundaries."
        )
    counts.nodes_min = counts.nodes_max = nodes
    return ""


def _node_and_socket(one: Requested, counts: Counts) -> str:
    n = one.name
    if not one.per_node or not one.per_socket:
        return ""
    if one.per_node % one.per_socket:
        return f"Failed to validate job spec, --gres={n}/--{n}s-per-node not multiple of --{n}s-per-socket."
    sockets = one.per_node // one.per_socket
    if counts.sockets_per_node is None:
        counts.sockets_per_node = sockets
    elif counts.sockets_per_node != sockets:
        return (
            f"Failed to validate job spec. Based on --gres={n}/--{n}s-per-node and --{n}s-per-socket"
            " required number of sockets differ from --sockets-per-node."
        )
    return ""


def _tasks_per_gres(one: Requested, counts: Counts) -> str:
    if one.ntasks_per_gres and counts.ntasks is not None and counts.ntasks % one.ntasks_per_gres:
        return f"Failed to validate job spec, -n/--ntasks has to be a multiple of --ntasks-per-{one.name}."
    return ""


def _job_and_task(one: Requested, counts: Counts) -> str:
    n = one.name
    if not one.per_job or not one.per_task:
        return ""
    if one.per_job % one.per_task:
        return f"Failed to validate job spec, --{n}s not multiple of --{n}s-per-task"
    tasks = one.per_job // one.per_task
    if counts.ntasks is None:
        counts.ntasks = tasks
    elif counts.ntasks != tasks:
        return (
            f"Failed to validate job spec. Based on --{n}s and --{n}s-per-task number of requested"
            " tasks differ from -n/--ntasks."
        )
    return ""


def _task_alone(one: Requested, counts: Counts) -> str:
    """A request for each task needs tasks, or a total."""
    n = one.name
    if not one.per_task or one.per_job:
        return ""
    if counts.ntasks is not None:
        one.per_job = counts.ntasks * one.per_task
        return ""
    if n == "gpu":
        return (
            f"Failed to validate job spec. --{n}s-per-task or --tres-per-task used without either"
            f" --{n}s or -n/--ntasks is not allowed."
        )
    return "Failed to validate job spec. --tres-per-task used without -n/--ntasks is not allowed."


def _node_and_task(one: Requested, counts: Counts) -> str:
    n = one.name
    if not one.per_node or not one.per_task:
        return ""
    if one.per_node % one.per_task:
        return f"Failed to validate job spec, --gres={n}/--{n}s-per-node not multiple of --{n}s-per-task."
    tasks = one.per_node // one.per_task
    if not counts.ntasks_per_node:
        counts.ntasks_per_node = tasks
    elif counts.ntasks_per_node != tasks:
        return (
            f"Failed to validate job spec. Based on --gres={n}/--{n}s-per-node and --{n}s-per-task"
            " requested number of tasks per node differ from --ntasks-per-node."
        )
    return ""


def _socket_and_task(one: Requested, counts: Counts) -> str:
    n = one.name
    if not one.per_socket or not one.per_task:
        return ""
    if one.per_socket % one.per_task:
        return f"Failed to validate job spec, --{n}s-per-socket not multiple of --{n}s-per-task."
    tasks = one.per_socket // one.per_task
    if not counts.ntasks_per_socket:
        counts.ntasks_per_socket = tasks
    elif counts.ntasks_per_socket != tasks:
        return (
            f"Failed to validate job spec. Based on --{n}s-per-socket and --{n}s-per-task requested number"
            " of tasks per sockets differ from --ntasks-per-socket."
        )
    return ""


def _cpus(one: Requested, counts: Counts) -> str:
    n = one.name
    if not one.cpus_per_gres or not one.per_task:
        return ""
    cpus = one.cpus_per_gres * one.per_task
    if not counts.cpus_per_task:
        counts.cpus_per_task = cpus
    elif counts.cpus_per_task != cpus:
        return (
            f"Failed to validate job spec. Based on --cpus-per-{n} and --{n}s-per-task requested number of"
            " cpus differ from -c/--cpus-per-task."
        )
    return ""


def _nodes(one: Requested, counts: Counts) -> str:
    if not one.per_job:
        return ""
    if counts.nodes_min is not None and one.per_job < counts.nodes_min:
        return f"Failed to validate job spec, --{one.name}s < -N"
    if counts.nodes_max is not None and one.per_job < counts.nodes_max:
        counts.nodes_max = one.per_job
    return ""


_RULES: Final[tuple[Callable[[Requested, Counts], str], ...]] = (
    *(_order, _job_and_node, _node_and_socket, _tasks_per_gres, _job_and_task, _task_alone),
    *(_node_and_task, _socket_and_task, _cpus, _nodes),
)


def check(one: Requested, counts: Counts) -> str:
    """Return sbatch's sentence about one resource, empty when it agrees; fill in `counts`."""
    return next(filter(None, (rule(one, counts) for rule in _RULES)), "")
