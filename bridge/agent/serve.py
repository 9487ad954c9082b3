"""The agent's socket: operations are the port's methods, dataclasses travel as `bridge.slurm.codec` maps.

In: wire requests. Out: wire answers; listings and accounting rows as streams of bounded frames. What
doesn't belong here: what the operations do (`bridge.agent.desk`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from typing import Any, Final

from bridge.agent.carriage import Way
from bridge.agent.desk import Desk
from bridge.agent.tokens import Tokens
from bridge.job import JobSpec
from bridge.slurm.codec import decode, encode
from bridge.slurm.job_change import JobChange
from bridge.slurm.port import Account, Association, Qos
from bridge.wire import Handler

Args = Mapping[str, Any]
BATCH: Final = 500
"""Records in one frame."""


def handlers(desk: Desk, tokens: Tokens) -> dict[str, Handler]:
    """Return the table of operations."""
    return {
        **_job_operations(desk),
        **_reading_operations(desk),
        **_accounting_operations(desk),
        "user_of_token": lambda args: tokens.user_of(args["token"]),
    }


def _job_operations(desk: Desk) -> dict[str, Handler]:
    def submit(args: Args) -> Any:  # noqa: ANN401 - what travels
        way = Way(args["way"]) if args.get("way") else None
        return encode(desk.submit(decode(JobSpec, args["spec"]), user=args["user"], way=way))

    def submit_het(args: Args) -> Any:  # noqa: ANN401 - what travels
        specs = [decode(JobSpec, each) for each in args["specs"]]
        return encode(desk.submit_het(specs, user=args["user"]))

    def forecast(args: Args) -> Any:  # noqa: ANN401 - what travels
        return encode(desk.forecast(decode(JobSpec, args["spec"]), user=args["user"]))

    def cancel(args: Args) -> None:
        desk.control.cancel(args["job_id"], user=args["user"], array_task_id=args.get("array_task_id"))

    def command(args: Args) -> Any:  # noqa: ANN401 - what travels
        return encode(desk.command(args["words"], user=args["user"], variables=args["variables"]))

    def modify(args: Args) -> None:
        desk.control.modify(args["job_id"], decode(JobChange, args["change"]), user=args.get("user"))

    def requeue(args: Args) -> None:
        desk.control.requeue(args["job_id"], user=args.get("user"), hold=bool(args.get("hold")))

    return {
        "submit": submit,
        "submit_het": submit_het,
        "forecast": forecast,
        "cancel": cancel,
        "command": command,
        "hold": lambda args: desk.control.hold(args["job_id"], user=args.get("user"), note=args.get("note")),
        "release": lambda args: desk.control.release(
            args["job_id"], user=args.get("user"), note=args.get("note")
        ),
        "requeue": requeue,
        "modify": modify,
    }


def _reading_operations(desk: Desk) -> dict[str, Handler]:
    def accounting(args: Args) -> Iterator[list[Any]]:
        rows = desk.accounting(start=args["start"], end=args["end"])
        return _frames(encode(row) for row in rows)

    return {
        "cluster": lambda _args: encode(desk.cluster()),
        "health": lambda _args: [encode(part) for part in desk.health()],
        "jobs": lambda _args: _frames(desk.jobs()),
        "job": lambda args: _frames(desk.job(args["job_id"])),
        "nodes": lambda _args: _frames(desk.nodes()),
        "partitions": lambda _args: _frames(desk.partitions()),
        "uses": lambda args: _frames(desk.uses(args["accounts"], user=args["user"])),
        "reservations": lambda _args: _frames(encode(each) for each in desk.control.reservations()),
        "accounting": accounting,
        "accounting_of": lambda args: _frames(encode(row) for row in desk.accounting_of(args["job_id"])),
    }


def _accounting_operations(desk: Desk) -> dict[str, Handler]:
    def many(cls: type, put: Callable[[list[Any]], None]) -> Handler:
        return lambda args: put([decode(cls, each) for each in args["items"]])

    def remove_association(args: Args) -> None:
        desk.remove_association(account=args["account"], user=args["user"])

    def set_partition_accounts(args: Args) -> None:
        desk.set_partition_accounts(args["partition"], frozenset(args["accounts"]))

    return {
        "accounting_state": lambda _args: encode(desk.accounting_state()),
        "put_accounts": many(Account, desk.put_accounts),
        "put_associations": many(Association, desk.put_associations),
        "put_qos": many(Qos, desk.put_qos),
        "remove_association": remove_association,
        "remove_qos": lambda args: desk.remove_qos(args["names"]),
        "set_partition_accounts": set_partition_accounts,
    }


def _frames(records: Any) -> Iterator[list[Any]]:  # noqa: ANN401 - any iterable of plain maps
    """Cut a listing into frames; bounded, however long it is."""
    remaining = iter(records)
    while batch := list(islice(remaining, BATCH)):
        yield batch
