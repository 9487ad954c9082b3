"""AgentClient: the port over the slurm-agent's socket.

In: the port's calls. Out: its dataclasses; errors arrive as the classes that the agent raised. Each call
has a deadline a little above the agent's own, so that the agent's sentence comes before ours. A read that
gets no answer is `Unavailable`, never `OutcomeUnknown`: nothing was to be changed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from bridge.errors import OutcomeUnknown, Unavailable
from bridge.job import AccountingRow, JobSpec, JobStatus
from bridge.slurm.codec import decode, encode
from bridge.slurm.job_change import JobChange
from bridge.slurm.port import (
    Account,
    AccountingState,
    Association,
    AssociationUse,
    Cluster,
    CommandAnswer,
    Forecast,
    NodeStatus,
    PartHealth,
    PartitionStatus,
    Qos,
    Reservation,
    Submitted,
)
from bridge.wellknown import AGENT_SOCKET
from bridge.wire import Client

PART: Final = "slurm-agent"
_CALL_S: Final = 25.0
_SUBMIT_S: Final = 35.0
_COMMAND_S: Final = 130.0
"""Waiting for a place and running, as long as the agent does."""
_ACCOUNTING_S: Final = 300.0
_STREAM_S: Final = 150.0


class AgentClient:
    """A `bridge.slurm.port.Slurm`; thread-safe."""

    def __init__(self, path: str = AGENT_SOCKET, *, wire: Client | None = None) -> None:
        self.wire = wire or Client(path, PART)

    def cluster(self) -> Cluster:
        """See the port."""
        return decode(Cluster, self._read("cluster"))

    def health(self) -> tuple[PartHealth, ...]:
        """See the port; an agent that is down is all parts down."""
        try:
            return tuple(decode(PartHealth, part) for part in self._read("health"))
        except Unavailable as error:
            parts = ("slurmctld", "slurmdbd", "slurmrestd", "native")
            return tuple(PartHealth(part=part, healthy=False, detail=error.message) for part in parts)

    def submit(self, spec: JobSpec, *, user: str) -> Submitted:
        """See the port."""
        answer = self.wire.call("submit", timeout_s=_SUBMIT_S, spec=encode(spec), user=user)
        return decode(Submitted, answer)

    def submit_het(self, specs: Sequence[JobSpec], *, user: str) -> Submitted:
        """See the port."""
        items = [encode(spec) for spec in specs]
        return decode(Submitted, self.wire.call("submit_het", timeout_s=_SUBMIT_S, specs=items, user=user))

    def forecast(self, spec: JobSpec, *, user: str) -> Forecast:
        """See the port."""
        return decode(Forecast, self._read("forecast", spec=encode(spec), user=user))

    def command(self, words: Sequence[str], *, user: str, variables: Mapping[str, str]) -> CommandAnswer:
        """See the port."""
        args = {"words": list(words), "user": user, "variables": dict(variables)}
        return decode(CommandAnswer, self.wire.call("command", timeout_s=_COMMAND_S, **args))

    def cancel(self, job_id: int, *, user: str, array_task_id: int | None = None) -> None:
        """See the port."""
        self.wire.call("cancel", timeout_s=_CALL_S, job_id=job_id, user=user, array_task_id=array_task_id)

    def hold(self, job_id: int, *, user: str | None = None, note: str | None = None) -> None:
        """See the port."""
        self.wire.call("hold", timeout_s=_CALL_S, job_id=job_id, user=user, note=note)

    def release(self, job_id: int, *, user: str | None = None, note: str | None = None) -> None:
        """See the port."""
        self.wire.call("release", timeout_s=_CALL_S, job_id=job_id, user=user, note=note)

    def requeue(self, job_id: int, *, user: str | None = None, hold: bool = False) -> None:
        """See the port."""
        self.wire.call("requeue", timeout_s=_CALL_S, job_id=job_id, user=user, hold=hold)

    def modify(self, job_id: int, change: JobChange, *, user: str | None = None) -> None:
        """See the port."""
        self.wire.call("modify", timeout_s=_CALL_S, job_id=job_id, change=encode(change), user=user)

    def jobs(self) -> Sequence[JobStatus]:
        """See the port."""
        return [decode(JobStatus, each) for each in self._items("jobs")]

    def job(self, job_id: int) -> Sequence[JobStatus]:
        """See the port."""
        return [decode(JobStatus, each) for each in self._items("job", job_id=job_id)]

    def nodes(self) -> Sequence[NodeStatus]:
        """See the port."""
        return [decode(NodeStatus, each) for each in self._items("nodes")]

    def partitions(self) -> Sequence[PartitionStatus]:
        """See the port."""
        return [decode(PartitionStatus, each) for each in self._items("partitions")]

    def reservations(self) -> Sequence[Reservation]:
        """See the port."""
        return [decode(Reservation, each) for each in self._items("reservations")]

    def accounting(self, *, start: datetime, end: datetime) -> Iterator[AccountingRow]:
        """See the port."""
        for each in self._items("accounting", start=start, end=end):
            yield decode(AccountingRow, each)

    def accounting_of(self, job_id: int) -> Sequence[AccountingRow]:
        """See the port."""
        return [decode(AccountingRow, each) for each in self._items("accounting_of", job_id=job_id)]

    def uses(self, accounts: Sequence[str], *, user: str) -> Sequence[AssociationUse]:
        """See the port."""
        return [
            decode(AssociationUse, each) for each in self._items("uses", accounts=list(accounts), user=user)
        ]

    def user_of_token(self, token: str) -> str:
        """See the port."""
        return str(self._read("user_of_token", token=token))

    def accounting_state(self) -> AccountingState:
        """See the port."""
        return decode(AccountingState, self._read("accounting_state", timeout_s=_ACCOUNTING_S))

    def put_accounts(self, accounts: Sequence[Account]) -> None:
        """See the port."""
        self._put("put_accounts", accounts)

    def put_associations(self, associations: Sequence[Association]) -> None:
        """See the port."""
        self._put("put_associations", associations)

    def put_qos(self, qos: Sequence[Qos]) -> None:
        """See the port."""
        self._put("put_qos", qos)

    def remove_qos(self, names: Sequence[str]) -> None:
        """See the port."""
        self.wire.call("remove_qos", timeout_s=_ACCOUNTING_S, names=list(names))

    def remove_association(self, *, account: str, user: str = "") -> None:
        """See the port."""
        self.wire.call("remove_association", timeout_s=_ACCOUNTING_S, account=account, user=user)

    def set_partition_accounts(self, partition: str, accounts: frozenset[str]) -> None:
        """See the port."""
        self.wire.call(
            "set_partition_accounts", timeout_s=_CALL_S, partition=partition, accounts=sorted(accounts)
        )

    def close(self) -> None:
        """Close idle connections."""
        self.wire.close()

    def _put(self, op: str, items: Sequence[object]) -> None:
        if items:
            self.wire.call(op, timeout_s=_ACCOUNTING_S, items=[encode(each) for each in items])

    def _read(self, op: str, *, timeout_s: float = _CALL_S, **args: object) -> Any:  # noqa: ANN401 - plain maps
        try:
            return self.wire.call(op, timeout_s=timeout_s, **args)
        except OutcomeUnknown as error:
            raise _unavailable(error) from error

    def _items(self, op: str, **args: object) -> Iterator[dict[str, Any]]:
        try:
            for batch in self.wire.stream(op, timeout_s=_STREAM_S, **args):
                yield from batch
        except OutcomeUnknown as error:
            raise _unavailable(error) from error


def _unavailable(error: OutcomeUnknown) -> Unavailable:
    return Unavailable(error.message, part=str(error.details.get("part", PART)))
