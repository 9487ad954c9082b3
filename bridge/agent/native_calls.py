"""Reads and writes by the native way: pool calls with their deadlines, listings kept while idle.

In: the port's words. Out: the codec's plain maps as the children made them (the wire sends them on
unread). What doesn't belong here: which way a job takes (`desk`).
"""

from __future__ import annotations

import threading
import time
from typing import Any, Final

from bridge.agent.native import NativePool
from bridge.agent.native_job import attributes, judged
from bridge.errors import SluiceError, SlurmRefused
from bridge.job import JobSpec
from bridge.slurm.codec import decode
from bridge.slurm.port import Forecast, Submitted

Plain = dict[str, Any]

BELIEVED_S: Final = 10.0
"""How long slurmctld's "nothing changed" is believed."""


class NativeCalls:
    """The native way, one method an operation; thread-safe."""

    def __init__(self, pool: NativePool, *, read_s: float, write_s: float) -> None:
        self.pool = pool
        self._read_s = read_s
        self._write_s = write_s
        self._listing: tuple[int, list[Plain]] = (0, [])
        self._whole_at = float("-inf")
        self._lock = threading.Lock()

    def submit(self, spec: JobSpec, *, uid: int, gid: int) -> Submitted:
        """Submit as `uid`."""
        wanted = attributes(spec, uid=uid, gid=gid)
        job_id, said = self.pool.call("submit", wanted, deadline_s=self._write_s, write=True)
        return Submitted(job_id=int(job_id), messages=tuple(said))

    def jobs(self) -> list[Plain]:
        """List all jobs; slurmctld isn't asked for records again when it says that nothing changed.

        It is not believed for long: a task that is cancelled while it waits leaves its array's record
        without a new time of change (seen on 26.05.5).
        """
        at, known = self._listing
        begun = time.monotonic()
        if begun - self._whole_at > BELIEVED_S:
            at = 0
        answer, _ = self.pool.call("jobs", {"since": at}, deadline_s=self._read_s, write=False)
        if answer["records"] is None:
            return known
        with self._lock:
            self._whole_at = max(self._whole_at, begun)
            if answer["at"] >= self._listing[0]:
                self._listing = (answer["at"], answer["records"])
        return list(answer["records"])

    def doubt(self) -> None:
        """Let the next listing be a whole one: something was changed on behalf of a user."""
        self._whole_at = float("-inf")

    def job(self, job_id: int) -> list[Plain]:
        """List the records of one job."""
        return list(self._read("job", job_id=job_id))

    def nodes(self) -> list[Plain]:
        """List all nodes."""
        return list(self._read("nodes"))

    def partitions(self) -> list[Plain]:
        """List all partitions."""
        return list(self._read("partitions"))

    def uses(self, accounts: list[str], user: str) -> list[Plain]:
        """List limits and use of accounts, and of one user in them."""
        return list(self._read("uses", accounts=accounts, user=user))

    def set_partition_accounts(self, partition: str, accounts: list[str]) -> None:
        """Set AllowAccounts."""
        wanted = {"partition": partition, "accounts": accounts}
        self.pool.call("set_partition_accounts", wanted, deadline_s=self._write_s, write=True)

    def refusal(self, spec: JobSpec, *, uid: int, gid: int, errno: int, deadline_s: float) -> str:
        """Return what slurmctld and job_submit.lua say against a job, empty when they don't say it again.

        slurmrestd loses the sentence of job_submit.lua; slurmctld judges the same job once more, by
        libslurm, where it is heard. Nothing is submitted.
        """
        try:
            self.pool.call("judge", judged(spec, uid=uid, gid=gid), deadline_s=deadline_s, write=False)
        except SlurmRefused as error:
            return error.message if error.errno == errno else ""
        except SluiceError:
            return ""
        return ""

    def forecast(self, spec: JobSpec, *, uid: int, gid: int) -> Forecast:
        """Return when and where a job would start; raises `SlurmRefused` with what is against it."""
        wanted = judged(spec, uid=uid, gid=gid)
        answer, _ = self.pool.call("judge", wanted, deadline_s=self._read_s, write=False)
        return decode(Forecast, answer)

    def ping(self, deadline_s: float) -> None:
        """Ask slurmctld for a sign of life."""
        self.pool.call("ping", {}, deadline_s=deadline_s, write=False)

    def _read(self, op: str, **args: object) -> Any:  # noqa: ANN401 - plain maps of the codec
        answer, _ = self.pool.call(op, args, deadline_s=self._read_s, write=False)
        return answer
