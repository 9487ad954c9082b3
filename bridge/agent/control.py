"""What changes jobs that Slurm has: cancel, hold, release, requeue, modify; and lists reservations.

In: the port's arguments. Out: nothing, or the port's dataclasses; slurmrestd alone acts as a user, so it is
the way of all of them (measured on 26.05.5: ``hold`` by SlurmUser is an administrator's hold, with
admin_comment in the same update, by the job's user a user's; updates of ``N_TASK`` are refused, of an array's
number they reach all tasks). What doesn't belong here: submission (`desk`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from bridge.agent.arguments import require_number
from bridge.agent.commands import Commands
from bridge.agent.rest import Rest
from bridge.agent.rest_job import number, unlimited
from bridge.errors import Unsupported
from bridge.job import UNLIMITED
from bridge.sbatch.nodes import hosts
from bridge.slurm.job_change import JobChange
from bridge.slurm.port import Reservation
from bridge.units import from_epoch, to_epoch

Body = dict[str, Any]

_REQUEUES: Final = "v0.0.45"
"""The first version of slurmrestd's paths that has ``job/N/requeue``."""
_TEXTS: Final = {
    "account": "account",
    "partition": "partition",
    "qos": "qos",
    "name": "name",
    "comment": "comment",
    "admin_comment": "admin_comment",
    "dependency": "dependency",
    "features": "constraints",
    "reservation": "reservation",
    "tres_per_job": "tres_per_job",
    "tres_per_node": "tres_per_node",
    "nodes_min": "minimum_nodes",
    "nodes_max": "maximum_nodes",
    "ntasks": "tasks",
    "nice": "nice",
}
"""Fields of `JobChange` that go as they are, by slurmrestd's names."""


class Control:
    """Changes jobs; thread-safe.

    Parameters
    ----------
    changed
        Called after each change: listings that were kept aren't true any more.
    """

    def __init__(self, rest: Rest, commands: Commands, *, changed: Callable[[], None]) -> None:
        self._rest = rest
        self._commands = commands
        self._changed = changed

    def cancel(self, job_id: int, *, user: str, array_task_id: int | None = None) -> None:
        """Cancel as the user, so that accounting shows who did."""
        require_number("job", job_id, first=1)
        if array_task_id is not None:
            require_number("array task", array_task_id, first=0)
        job = f"{job_id}" if array_task_id is None else f"{job_id}_{array_task_id}"
        self._rest.cancel(job, user=user)
        self._changed()

    def hold(self, job_id: int, *, user: str | None = None, note: str | None = None) -> None:
        """Hold as `user`, else as administrator with a note."""
        self._update(job_id, {"hold": True, **_noted(note)}, user)

    def release(self, job_id: int, *, user: str | None = None, note: str | None = None) -> None:
        """Release."""
        self._update(job_id, {"hold": False, **_noted(note)}, user)

    def modify(self, job_id: int, change: JobChange, *, user: str | None = None) -> None:
        """Change what `change` names."""
        self._update(job_id, change_body(change), user)

    def requeue(self, job_id: int, *, user: str | None = None, hold: bool = False) -> None:
        """Requeue."""
        require_number("job", job_id, first=1)
        if self._rest.version >= _REQUEUES:
            self._rest.change(f"job/{job_id}/requeue", query={"Hold": "true"} if hold else {}, user=user)
        elif user is None:
            self._commands.requeue(job_id, hold=hold)
        else:
            raise Unsupported(
                "this Slurm's slurmrestd can't requeue for a user; ask the administrator", field=""
            )
        self._changed()

    def reservations(self) -> Sequence[Reservation]:
        """List reservations."""
        found = self._rest.get("reservations/").get("reservations") or []
        read = [_reservation(each) for each in found]
        return [each for each in read if each is not None]

    def _update(self, job_id: int, body: Body, user: str | None) -> None:
        require_number("job", job_id, first=1)
        self._rest.post(f"job/{job_id}", body, user=user)
        self._changed()


def change_body(change: JobChange) -> Body:
    """Write a change as slurmrestd's job description."""
    body: Body = {key: value for name, key in _TEXTS.items() if (value := getattr(change, name)) is not None}
    if change.time_limit_min is not None:
        asked = change.time_limit_min
        body["time_limit"] = unlimited() if asked == UNLIMITED else number(int(asked))
    if change.priority is not None:
        body["priority"] = number(change.priority)
    if change.begin is not None:
        body["begin_time"] = number(to_epoch(change.begin) or 0)
    return body


def _noted(note: str | None) -> Body:
    return {} if note is None else {"admin_comment": note}


def _reservation(body: Mapping[str, Any]) -> Reservation | None:
    starts_at, ends_at = (from_epoch(int((body.get(key) or {}).get("number") or 0)) for key in _ENDS)
    if starts_at is None or ends_at is None:
        return None
    return Reservation(
        name=str(body["name"]),
        starts_at=starts_at,
        ends_at=ends_at,
        nodes=tuple(hosts(str(body.get("node_list") or ""))),
        flags=frozenset(body.get("flags") or ()),
    )


_ENDS: Final = ("start_time", "end_time")
