"""Reads the GPUs of a request: which type is asked, how many at least, and the same request typed.

Pure. The second copy of these rules is in ``slurm-conf/job_submit``; a property test holds the two
together. Slurm's own reading is loose (src/common/slurm_protocol_defs.c, slurm_get_next_tres: it looks for
"gres" anywhere in the text), so whatever mentions gres and isn't plainly written is refused here: else it
would slip past the limits, which are on typed GPUs.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from bridge.policy.refused import Refused, shown
from bridge.policy.request import TRES_FIELDS, Request, TresField
from bridge.policy.shape import ceil_div, least_nodes, least_tasks

SHARED_GRES: Final = frozenset({"shard", "mps"})
"""Gres that are parts of GPUs (slurm's gres/shard and gres/mps)."""

_GRES: Final = "gres/"
_NAME: Final = re.compile(r"[^:=]*")
_COUNT: Final = re.compile(r"[:=]([0-9]{1,6})")
_TYPE: Final = re.compile(r":([A-Za-z0-9._-]+)")
_TYPE_COUNT: Final = re.compile(r":([A-Za-z0-9._-]+)[:=]([0-9]{1,6})")


@dataclass(frozen=True, slots=True)
class GpuItem:
    """``gpu`` in one TRES string: its type if it has one, its count, whether the count is written."""

    gres_type: str | None
    count: int
    written: str = ""
    """The count of an entry without a type as written, with its sign (``:2``); empty for an implicit 1."""


@dataclass(frozen=True, slots=True)
class GpuRequest:
    """All GPUs that a request names; `gres_type` is None when none of them has a type."""

    items: Mapping[TresField, GpuItem]
    gres_type: str | None
    derived: int
    """GPUs that Slurm would derive from the tasks (``--ntasks-per-gpu`` without a GPU request)."""

    @property
    def wanted(self) -> bool:
        """Whether the job asks for GPUs at all."""
        return bool(self.items) or self.derived > 0


def read_gpus(request: Request) -> GpuRequest:
    """Read the four TRES strings; raises `Refused` for what can't be read or contradicts itself."""
    found: dict[TresField, list[GpuItem]] = {}
    for field in TRES_FIELDS:
        text = request.tres(field)
        items = [item for part in (text or "").split(",") if (item := _read_item(part)) is not None]
        if items:
            found[field] = items
    types = sorted({item.gres_type for items in found.values() for item in items if item.gres_type})
    if len(types) > 1:
        raise Refused(
            "gpu.several-types",
            f"the job asks for GPUs of several types ({', '.join(types)}); ask for one type,"
            " or make each type a component of its own with hetjob",
        )
    for items in found.values():
        if len(items) > 1:
            raise Refused("gpu.twice", "the job asks for GPUs twice in one option; write one entry")
    return GpuRequest(
        items={field: items[0] for field, items in found.items()},
        gres_type=types[0] if types else None,
        derived=0 if found else _derived(request),
    )


def _read_item(part: str) -> GpuItem | None:
    if "gres" not in part:
        return None
    rest = part.removeprefix(_GRES)
    if "gres" in rest:
        raise _unreadable(part)
    name = _NAME.match(rest)[0]  # type: ignore[index]  # the pattern matches the empty text too
    if name in SHARED_GRES:
        raise Refused(
            "gpu.shared", f"parts of GPUs ({name}) are not given out here; ask for whole ones with --gpus"
        )
    if name != "gpu":
        return None
    tail = rest[len("gpu") :]
    if not tail:
        return GpuItem(None, 1)
    if match := _COUNT.fullmatch(tail):
        return GpuItem(None, int(match[1]), tail)
    if match := _TYPE.fullmatch(tail):
        return GpuItem(match[1], 1)
    if match := _TYPE_COUNT.fullmatch(tail):
        return GpuItem(match[1], int(match[2]))
    raise _unreadable(part)


def _unreadable(part: str) -> Refused:
    return Refused(
        "gpu.syntax", f"the GPU request {shown(part)} can't be read; write it as --gpus=TYPE:NUMBER"
    )


def _derived(request: Request) -> int:
    """Count the GPUs that slurmctld makes of tasks and ``--ntasks-per-gpu``, always without a type.

    src/interfaces/gres.c, gres_job_state_validate: ntasks / ntasks_per_tres; ntasks of a fixed number of
    nodes is nodes x ntasks_per_tres. A remainder is refused by Slurm itself.
    """
    per_gpu = request.ntasks_per_gpu or 0
    if per_gpu == 0:
        return 0
    ntasks = request.ntasks
    if ntasks is None and request.nodes_min is not None and request.nodes_min == request.nodes_max:
        ntasks = request.nodes_min * per_gpu
    if ntasks is None or ntasks % per_gpu:
        return 0
    return ntasks // per_gpu


def least_gpus(request: Request, gpus: GpuRequest) -> int:
    """Count the GPUs that the job needs at the very least, over all ways to ask."""
    nodes = least_nodes(request)
    factors: Mapping[TresField, int] = {
        "tres_per_job": 1,
        "tres_per_node": nodes,
        "tres_per_socket": _sockets(request, nodes),
        "tres_per_task": least_tasks(request),
    }
    counts = [gpus.items[field].count * factors[field] for field in TRES_FIELDS if field in gpus.items]
    return max([gpus.derived, request.gpus_counted or 0, *counts])


def _sockets(request: Request, nodes: int) -> int:
    if request.sockets_per_node:
        return nodes * request.sockets_per_node
    if request.ntasks and request.ntasks_per_socket:
        return max(nodes, ceil_div(request.ntasks, request.ntasks_per_socket))
    return nodes


def typed(request: Request, gpus: GpuRequest, gres_type: str) -> dict[TresField, str | None]:
    """Return the four TRES strings with each GPU entry typed; what is typed already stays as written."""
    strings: dict[TresField, str | None] = {}
    for field in TRES_FIELDS:
        text = request.tres(field)
        item = gpus.items.get(field)
        if text is not None and item is not None and item.gres_type is None:
            untyped = f"gres/gpu{item.written}"
            parts = [
                f"gres/gpu:{gres_type}{item.written}" if part == untyped else part for part in text.split(",")
            ]
            text = ",".join(parts)
        strings[field] = text
    if gpus.derived:
        entry = f"gres/gpu:{gres_type}:{gpus.derived}"
        asked = strings["tres_per_job"]
        strings["tres_per_job"] = f"{asked},{entry}" if asked else entry
    return strings
