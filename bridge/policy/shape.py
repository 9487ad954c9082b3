"""How much a request asks at the very least: nodes, tasks, CPUs, memory.

Pure. Counting GPUs is `bridge.policy.gpus`'. The second copy of these rules is in ``slurm-conf/job_submit``.
A job may be given more; never less, so that what is judged here is a bound that can't be slipped under.
"""

from __future__ import annotations

import re
from typing import Final

from bridge.policy.request import Request

_LAST_NUMBER: Final = re.compile(r"([0-9]{1,9})\Z")


def ceil_div(number: int, by: int) -> int:
    """Divide, rounding up."""
    return -(-number // by)


def least_nodes(request: Request) -> int:
    """Count the nodes."""
    nodes = request.nodes_min or 1
    if request.ntasks and request.ntasks_per_node:
        nodes = max(nodes, ceil_div(request.ntasks, request.ntasks_per_node))
    return nodes


def least_tasks(request: Request) -> int:
    """Count the tasks; without a number of them, one a node or ``--ntasks-per-node``."""
    return request.ntasks or least_nodes(request) * (request.ntasks_per_node or 1)


def least_cpus(request: Request, gpus: int) -> int:
    """Count the CPUs of a job that asks `gpus` GPUs, over all ways to ask."""
    return max(
        request.cpus_min or 1,
        request.cpus_counted or 0,
        least_tasks(request) * (request.cpus_per_task or 1),
        least_nodes(request) * (request.cpus_per_node or 1),
        gpus * last_number(request.cpus_per_gpu),
    )


def least_memory_mib(request: Request, *, gpus: int, node_memory_mib: int) -> int:
    """Count the memory in MiB; ``--mem=0`` is all of each node's `node_memory_mib`."""
    per_node = request.memory_per_node_mib
    if per_node == 0:
        per_node = node_memory_mib
    return max(
        request.memory_counted_mib or 0,
        least_nodes(request) * (per_node or 0),
        least_cpus(request, gpus) * (request.memory_per_cpu_mib or 0),
        gpus * last_number(request.memory_per_gpu),
    )


def last_number(text: str | None) -> int:
    """Return the number that ``gres/gpu:4`` ends with, 0 for none (slurm.h: cpus_per_tres, mem_per_tres)."""
    found = _LAST_NUMBER.search(text or "")
    return int(found[1]) if found else 0
