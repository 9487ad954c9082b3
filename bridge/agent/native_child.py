# SPDX-License-Identifier: GPL-2.0-or-later
"""The one process that loads pyslurm: a child of the slurm-agent, started as ``python -m`` this module.

pyslurm is GPL-2.0-or-later, never releases the GIL and can end its process (libslurm calls exit and
abort): so it lives here, alone, and the parent (`bridge.agent.native`) kills and replaces it at will.

In: requests as `bridge.wire` frames on the socket that is fd 0. Out: ``{"done": ...}`` or ``{"failed":
{"errno", "words"}}``, each with ``said``: the lines that libslurm wrote meanwhile (the sentences of
job_submit.lua come only there). fd 2 is a memory file that the parent made, fd 1 is nothing.

pyslurm reads some attributes with parsers of its own that change the value or look at the file system;
`_take_values_as_they_are` replaces those: everything that arrives here is already in Slurm's own form.
"""

from __future__ import annotations

import os
import re
import socket
from collections.abc import Callable, Mapping
from typing import Any, Final

os.environ["PYSLURM_DISABLE_AUTO_INIT"] = "1"

import pyslurm
from pyslurm.core.job import submission

from bridge.agent import libslurm, libslurm_uses
from bridge.errors import SluiceError
from bridge.slurm.codec import encode
from bridge.slurm.port import NodeStatus, PartitionStatus
from bridge.wire import ConnectionLost, error_frame, receive_frame, send_frame

STDERR: Final = 2
_PREFIX: Final = re.compile(r"^[\w./-]+: (?:error|fatal|info|debug\d?|warning): ")
_NODE_STATE_WORDS: Final = re.compile(r"[A-Z_]+")


class Script(bytes):
    """A script that pyslurm takes for its own first argument; bytes, so that it is sent as it came.

    pyslurm puts the script in front of the arguments unless the first of them equals it.
    """

    __slots__ = ()
    __hash__ = bytes.__hash__

    def __eq__(self, other: object) -> bool:
        return isinstance(other, str | Script)

    def __ne__(self, other: object) -> bool:
        return not isinstance(other, str | Script)


class Verbatim(str):
    """A text that pyslurm can't rewrite: it would cut ``gpu:`` out of a binding."""

    __slots__ = ()

    def replace(self, *_: object) -> Verbatim:
        """Return the text as it is."""
        return self

    def __contains__(self, _: object) -> bool:
        return False


class Description(pyslurm.JobSubmitDescription):  # type: ignore[misc] # pyslurm has no annotations
    """pyslurm's job description without its defaults: what isn't set is not sent."""

    def _set_defaults(self) -> None:
        """Set nothing; pyslurm would ask for one task on one CPU in its own working directory."""

    def _validate_options(self) -> None:
        """Refuse nothing; slurmctld does, with words that users know."""


def _take_values_as_they_are() -> None:
    submission._parse_nodes = tuple
    submission._validate_batch_script = lambda script, _arguments=None: bytes(script)
    submission.cstr.from_gres_dict = lambda text, _kind="": text
    # The agent has looked them up; a directory may have users whose primary group has no entry.
    submission.user_to_uid = _number
    submission.group_to_gid = _number
    # pyslurm sends NO_VAL where no profile is asked, which Slurm reads as all of them; 0 is "not set".
    submission.acctg_profile_list_to_int = lambda _types: 0


def _number(identity: int, **_options: object) -> int:
    return int(identity)


def submit(args: Mapping[str, Any]) -> int:
    """Submit with pyslurm's attributes `args`; returns the job's number."""
    attributes = dict(args)
    attributes["script"] = Script(attributes["script"])
    if "gpu_binding" in attributes:
        attributes["gpu_binding"] = Verbatim(attributes["gpu_binding"])
    return int(Description(**attributes).submit())


def jobs(args: Mapping[str, Any]) -> dict[str, Any]:
    """List all jobs; `records` is None when nothing changed after `since`."""
    at, records = libslurm.jobs(args["since"])
    return {"at": at, "records": None if records is None else [encode(record) for record in records]}


def job(args: Mapping[str, Any]) -> list[dict[str, Any]]:
    """List the records of one job."""
    return [encode(record) for record in libslurm.job(args["job_id"])]


def nodes(_args: Mapping[str, Any]) -> list[dict[str, Any]]:
    """List all nodes."""
    return [encode(_node(node)) for node in pyslurm.Nodes.load().values()]


def _node(node: Any) -> NodeStatus:  # noqa: ANN401 - pyslurm has no annotations
    gpus = _typed_gpus(node.configured_gres)
    return NodeStatus(
        name=node.name,
        state=frozenset(_NODE_STATE_WORDS.findall(node.state)),
        reason=node.reason or "",
        cpus=node.total_cpus,
        memory_mib=node.real_memory,
        gpus=gpus,
        gpus_used=dict.fromkeys(gpus, 0) | _typed_gpus(node.allocated_gres),
        partitions=tuple(node.partitions),
    )


def _typed_gpus(gres: Mapping[str, int]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for name, count in gres.items():
        gpu, _, kind = name.removeprefix("gres/").partition(":")
        if gpu == "gpu" and kind:
            counts[kind] = int(count)
    return counts


def partitions(_args: Mapping[str, Any]) -> list[dict[str, Any]]:
    """List all partitions."""
    return [
        encode(
            PartitionStatus(
                name=name,
                up=partition.state == "UP",
                nodes=partition.nodes or "",
                allow_accounts=frozenset(partition.allowed_accounts) - {"ALL"},
            )
        )
        for name, partition in pyslurm.Partitions.load().items()
    ]


def set_partition_accounts(args: Mapping[str, Any]) -> None:
    """Set AllowAccounts of one partition; slurmctld has no empty list, so root's account stands for it."""
    accounts = sorted(args["accounts"]) or ["root"]
    pyslurm.Partition(args["partition"]).modify(pyslurm.Partition(allowed_accounts=accounts))


def judge(args: Mapping[str, Any]) -> dict[str, Any]:
    """Have slurmctld judge a job without making it; returns when and where it would start."""
    return encode(libslurm.would_run(**args))


def uses(args: Mapping[str, Any]) -> list[dict[str, Any]]:
    """List limits and use of accounts, and of one user in them."""
    return [encode(use) for use in libslurm_uses.uses(args["accounts"], args["user"])]


def ping(_args: Mapping[str, Any]) -> None:
    """Ask slurmctld for a sign of life."""
    libslurm.ping()


CALLS: Final[Mapping[str, Callable[[Mapping[str, Any]], Any]]] = {
    "submit": submit,
    "jobs": jobs,
    "job": job,
    "nodes": nodes,
    "partitions": partitions,
    "set_partition_accounts": set_partition_accounts,
    "judge": judge,
    "uses": uses,
    "ping": ping,
}


def answer(request: Mapping[str, Any]) -> dict[str, Any]:
    """Do one call; refusals become a frame, a fault of ours ends the child with its traceback."""
    try:
        done = CALLS[request["op"]](request["args"])
    except (pyslurm.RPCError, libslurm.CallFailed) as error:
        words = error.words if isinstance(error, libslurm.CallFailed) else str(error.msg)
        return {"failed": {"errno": int(error.errno), "words": words}, "said": _said()}
    except SluiceError as error:
        # A value of Slurm's that this version doesn't know: it must reach whoever asked.
        return {**error_frame(error), "said": _said()}
    except (ValueError, OverflowError) as error:
        # pyslurm's own parsers, or a number that its field in C can't hold: before anything was sent.
        return {"failed": {"errno": -1, "words": str(error)}, "said": _said()}
    return {"done": done, "said": _said()}


def _said() -> list[str]:
    """Return what libslurm wrote since the last call, without its ``python3: error:``, and forget it."""
    size = os.lseek(STDERR, 0, os.SEEK_END)
    if not size:
        return []
    text = os.pread(STDERR, size, 0).decode(errors="replace")
    os.ftruncate(STDERR, 0)
    os.lseek(STDERR, 0, os.SEEK_SET)
    return [_PREFIX.sub("", line) for line in text.splitlines() if line.strip()]


def main() -> None:
    """Serve the parent until it closes the socket."""
    libslurm.init()
    # pyslurm copies SLURM_* of its own process into every job.
    for name in [name for name in os.environ if name.startswith("SLURM_")]:
        del os.environ[name]
    _take_values_as_they_are()
    with socket.socket(fileno=os.dup(0)) as parent:
        send_frame(parent, {"pyslurm": pyslurm.__version__, "said": _said()})
        try:
            while (request := receive_frame(parent)) is not None:
                send_frame(parent, answer(request))
        except ConnectionLost:
            return


if __name__ == "__main__":
    main()
