"""What the slurm-agent does with each of the port's calls: picks the way, looks up the user.

In: the port's arguments. Out: the port's dataclasses, or the codec's plain maps where a listing comes
from a child and only passes through. This file reads as the list of what Slurm is asked for; how it is
asked is in `native_calls`, `rest`, `rest_accounting` and `commands`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from typing import Any, Final

import structlog

from bridge.agent import rest_job, rest_records
from bridge.agent.arguments import ids_of, require_number
from bridge.agent.carriage import Way, require_rest, ways
from bridge.agent.commands import Commands
from bridge.agent.control import Control
from bridge.agent.native_calls import NativeCalls
from bridge.agent.part_health import ask_all
from bridge.agent.privilege import as_ordinary
from bridge.agent.rest import Rest
from bridge.agent.rest_accounting import RestAccounting
from bridge.agent.user_commands import UserCommands
from bridge.errors import NotFound, SlurmRefused, Unavailable, Unsupported
from bridge.job import AccountingRow, JobSpec
from bridge.slurm.codec import encode
from bridge.slurm.errnos import QUEUED, Errno
from bridge.slurm.port import (
    Account,
    AccountingState,
    Association,
    Cluster,
    CommandAnswer,
    Forecast,
    PartHealth,
    Qos,
    Submitted,
)

Plain = dict[str, Any]
_AWAY: Final = frozenset({"DOWN", "DRAIN", "FAIL", "MAINT", "NOT_RESPONDING", "NO_RESPOND", "UNKNOWN"})
"""Words of a node's state that keep jobs from starting on it."""
_HELD: Final = "Job is in held state, pending scheduler release"
_log = structlog.get_logger(__name__)


class Desk:
    """One object behind the agent's socket; thread-safe.

    Parameters
    ----------
    native
        None where the image has no libslurm binding or the settings say so.
    health_s
        Longest wait for one part in `health`.
    """

    def __init__(
        self,
        *,
        rest: Rest,
        accounting: RestAccounting,
        commands: Commands,
        native: NativeCalls | None,
        health_s: float = 3.0,
    ) -> None:
        self._rest = rest
        self._accounting = accounting
        self._commands = commands
        self._native = native
        self._user_commands = UserCommands(rest.token_of)
        self._health_s = health_s
        self.control = Control(rest, commands, changed=self._doubt)
        """What changes jobs that Slurm has, and what is kept free of them."""
        self._asking = ThreadPoolExecutor(max_workers=8, thread_name_prefix="health")

    def cluster(self) -> Cluster:
        """Say which Slurm this is."""
        slurm = self._rest.get("ping/")["meta"]["slurm"]
        ways_now = [Way.NATIVE.value] if self._native else []
        return Cluster(
            name=slurm["cluster"],
            version=slurm["release"],
            adapters=(*ways_now, Way.REST.value, "commands"),
            rest_version=self._rest.version,
            gres_types=self._commands.gres_types(),
        )

    def health(self) -> tuple[PartHealth, ...]:
        """Ask all parts at once."""
        checks = {
            "slurmctld": self._check_slurmctld,
            "slurmdbd": lambda: self._rest.get("slurmdb/clusters/", deadline_s=self._health_s),
            "slurmrestd": lambda: self._rest.alive(self._health_s),
            "native": self._check_native,
        }
        return ask_all(self._asking, checks, self._health_s)

    def submit(self, spec: JobSpec, *, user: str, way: Way | None = None) -> Submitted:
        """Submit by the preferred way that carries the job, or by `way` (tests compare both)."""
        uid, gid = ids_of(user)
        spec = self._ordinary(spec)
        possible = [each for each in ways(spec) if self._native or each is not Way.NATIVE]
        if way is not None:
            possible = [each for each in possible if each is way]
        if not possible:
            raise Unsupported(
                "this agent has no way that carries the job; it runs without libslurm", field=""
            )
        for each in possible:
            try:
                return self._submit_by(each, spec, uid=uid, gid=gid)
            except Unavailable as error:
                # Only where nothing was sent: no worker was free or could start.
                if error.details.get("part") != "native" or each is possible[-1]:
                    raise
                _log.warning("native way is out, the job goes by slurmrestd", reason=error.message)
        raise AssertionError("the last way either returned or raised")

    def _ordinary(self, spec: JobSpec) -> JobSpec:
        return as_ordinary(spec, self._commands.root_only_partitions)

    def _submit_by(self, way: Way, spec: JobSpec, *, uid: int, gid: int) -> Submitted:
        if way is Way.NATIVE and self._native is not None:
            return self._native.submit(spec, uid=uid, gid=gid)
        try:
            return self._posted(rest_job.request(spec, uid=uid, gid=gid))
        except SlurmRefused as error:
            raise self._with_reason(error, [spec], uid=uid, gid=gid) from error

    def submit_het(self, specs: Sequence[JobSpec], *, user: str) -> Submitted:
        """Submit the components of one heterogeneous job; pyslurm has no such call."""
        uid, gid = ids_of(user)
        specs = [self._ordinary(spec) for spec in specs]
        require_rest(specs)
        try:
            return self._posted(rest_job.het_request(specs, uid=uid, gid=gid))
        except SlurmRefused as error:
            raise self._with_reason(error, specs, uid=uid, gid=gid) from error

    def _posted(self, body: Plain) -> Submitted:
        answer = self._rest.post("job/submit", body)
        if not answer.get("job_id"):
            raise SlurmRefused("slurmrestd took the job without a number", errno=0)
        said = [str(answer.get("job_submit_user_msg") or "")]
        said += [str(warning.get("description") or "") for warning in answer.get("warnings") or []]
        messages = tuple(line for text in said for line in text.splitlines() if line)
        return Submitted(job_id=int(answer["job_id"]), messages=messages)

    def _with_reason(
        self, error: SlurmRefused, specs: Sequence[JobSpec], *, uid: int, gid: int
    ) -> SlurmRefused:
        if self._native is None:
            return error
        wait_s = self._health_s
        for place, spec in enumerate(specs):
            words = self._native.refusal(spec, uid=uid, gid=gid, errno=error.errno, deadline_s=wait_s)
            if words:
                where = f"{place}: " if len(specs) > 1 else ""
                return SlurmRefused(where + words, errno=error.errno)
        return error

    def forecast(self, spec: JobSpec, *, user: str) -> Forecast:
        """Judge a job without making it."""
        uid, gid = ids_of(user)
        spec = self._ordinary(spec)
        if self._native is None:
            raise Unsupported("this agent runs without libslurm, so that it can't ask when a job would start")
        try:
            found = self._native.forecast(spec, uid=uid, gid=gid)
            # will-run gives a held job a moment all the same.
            return Forecast(waits=_HELD) if spec.hold else found
        except SlurmRefused as error:
            # will-run says 2014 of a job that no node could run, and of one whose nodes are down.
            unsure = error.errno == Errno.NODE_CONFIG_UNAVAILABLE and self._some_nodes_are_away()
            if error.errno not in QUEUED and not unsure:
                raise
            return Forecast(waits=error.message)

    def _some_nodes_are_away(self) -> bool:
        return any(_AWAY.intersection(node.get("state", ())) for node in self.nodes())

    def command(self, words: Sequence[str], *, user: str, variables: Mapping[str, str]) -> CommandAnswer:
        """Run one of Slurm's commands as the user."""
        ids_of(user)
        answer = self._user_commands.run(words, user=user, variables=variables)
        self._doubt()
        return answer

    def _doubt(self) -> None:
        if self._native:
            self._native.doubt()

    def jobs(self) -> list[Plain]:
        """List all jobs."""
        if self._native:
            return self._native.jobs()
        return [encode(rest_records.job_status(each)) for each in self._rest.get("jobs/").get("jobs") or []]

    def job(self, job_id: int) -> list[Plain]:
        """List the records of one job."""
        require_number("job", job_id, first=1)
        if self._native:
            return self._native.job(job_id)
        found = self._rest.get(f"job/{job_id}").get("jobs") or []
        if not found:
            raise NotFound(f"Slurm does not know job {job_id}")
        return [encode(rest_records.job_status(each)) for each in found]

    def nodes(self) -> list[Plain]:
        """List all nodes."""
        if self._native:
            return self._native.nodes()
        found = self._rest.get("nodes/").get("nodes") or []
        return [encode(rest_records.node_status(each)) for each in found]

    def partitions(self) -> list[Plain]:
        """List all partitions."""
        if self._native:
            return self._native.partitions()
        found = self._rest.get("partitions/").get("partitions") or []
        return [encode(rest_records.partition_status(each)) for each in found]

    def uses(self, accounts: Sequence[str], *, user: str) -> list[Plain]:
        """List limits and use of accounts, from slurmctld's memory."""
        if self._native is None:
            raise Unsupported("this agent runs without libslurm, so that it can't see what is used now")
        return self._native.uses(list(accounts), user) if accounts else []

    def accounting(self, *, start: datetime, end: datetime) -> Iterator[AccountingRow]:
        """Stream accounting rows."""
        return self._commands.accounting(start=start, end=end)

    def accounting_of(self, job_id: int) -> Sequence[AccountingRow]:
        """Return a job number's accounting rows."""
        require_number("job", job_id, first=1)
        return self._commands.accounting_of(job_id)

    def accounting_state(self) -> AccountingState:
        """Read accounts, associations and QOS."""
        return self._accounting.state()

    def put_accounts(self, accounts: Sequence[Account]) -> None:
        """Create or change accounts."""
        self._accounting.put_accounts(accounts)

    def put_associations(self, associations: Sequence[Association]) -> None:
        """Create or change associations."""
        self._accounting.put_associations(associations)

    def put_qos(self, qos: Sequence[Qos]) -> None:
        """Create or change QOS."""
        for name in self._accounting.put_qos(qos):
            self._commands.clear_preempt(name)

    def remove_qos(self, names: Sequence[str]) -> None:
        """Remove QOS."""
        self._accounting.remove_qos(names)

    def remove_association(self, *, account: str, user: str = "") -> None:
        """Remove an association."""
        self._accounting.remove(account=account, user=user)

    def set_partition_accounts(self, partition: str, accounts: frozenset[str]) -> None:
        """Set AllowAccounts."""
        if self._native:
            self._native.set_partition_accounts(partition, sorted(accounts))
        else:
            self._commands.set_partition_accounts(partition, sorted(accounts))

    def close(self) -> None:
        """End children and connections."""
        self._asking.shutdown(wait=False, cancel_futures=True)
        if self._native:
            self._native.pool.close()
        self._rest.close()

    def _check_slurmctld(self) -> None:
        if self._native:
            self._native.ping(self._health_s)
            return
        pings = self._rest.get("ping/", deadline_s=self._health_s).get("pings") or []
        if not any(ping.get("responding") for ping in pings):
            raise Unavailable("slurmctld does not respond to slurmrestd", part="slurmctld")

    def _check_native(self) -> str:
        if self._native is None:
            return "not in use: every job goes by slurmrestd"
        pool = self._native.pool
        return (
            f"pyslurm {pool.version}, {pool.restarts} workers replaced" if pool.version else "not started yet"
        )
