"""One stage for both Slurms: what a contract test may ask for beside the port's own calls.

On the fake a job runs when it is told to; on the real cluster the test waits for what its script does.
So a job is described by what it does (`ends_with`, `waits`), and `ended`, `running` make it so.
"""

from __future__ import annotations

import os
import subprocess
import uuid
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Final, Protocol

from bridge.job import AccountingRow, BaseState, JobSpec, JobStatus
from bridge.slurm.client import AgentClient
from bridge.slurm.fake import FakeSlurm
from bridge.slurm.port import PartitionStatus, Reservation, Slurm
from tests.support.agent_relay import agent_socket
from tests.support.stack import STACK_NAME, Stack
from tests.support.waiting import wait_for

AGENT: Final = os.environ.get("SLUICE_TEST_AGENT", f"{STACK_NAME}-agent")
"""Container of the agent."""


_WHOLE_LINES: Final = ("Comment=", "AdminComment=", "Command=", "SubmitLine=")


class Scene(Protocol):
    """A Slurm with a tenant of two users and another tenant's user."""

    account: str
    user: str
    colleague: str
    stranger: str

    @property
    def slurm(self) -> Slurm:
        """The port."""
        ...

    def spec(self, *, ends_with: int | None = 0, **fields: object) -> JobSpec:
        """A small job of the tenant; `ends_with` None means that it waits for ever."""
        ...

    def running(self, job_id: int, *, array_task_id: int | None = None) -> JobStatus:
        """The record, once the job runs."""
        ...

    def ended(self, job_id: int) -> Sequence[AccountingRow]:
        """The rows, once accounting shows every run of the job as over."""
        ...

    def requeue(self, job_id: int) -> None:
        """What an administrator's requeue does."""
        ...

    def partition(self) -> AbstractContextManager[str]:
        """A partition that nobody else uses."""
        ...

    def maintenance(self) -> AbstractContextManager[str]:
        """A maintenance reservation of one node, a day ahead."""
        ...


def _script(ends_with: int | None) -> bytes:
    body = "sleep 600" if ends_with is None else f"exit {ends_with}"
    return f"#!/bin/sh\n{body}\n".encode()


@dataclass
class FakeScene:
    """The stage on `FakeSlurm`."""

    slurm: FakeSlurm
    account: str = "team"
    user: str = "ann"
    colleague: str = "ben"
    stranger: str = "zoe"

    def spec(self, *, ends_with: int | None = 0, **fields: object) -> JobSpec:
        plain = JobSpec(
            script=_script(ends_with), work_dir="/tmp", environment={"PATH": "/bin"}, account=self.account
        )
        return replace(plain, **fields)  # type: ignore[arg-type]

    def running(self, job_id: int, *, array_task_id: int | None = None) -> JobStatus:
        self.slurm.start(job_id, array_task_id=array_task_id)
        record = _task(self.slurm.job(job_id), array_task_id)
        assert record is not None
        return record

    def ended(self, job_id: int) -> Sequence[AccountingRow]:
        for job in self.slurm.job(job_id):
            if job.state.base is BaseState.PENDING:
                self.slurm.start(job_id)
        for record in self.slurm.records:
            if job_id in (record.job_id, record.array_job_id) and record.run.ended_at is None:
                code = int(record.spec.script.rsplit(maxsplit=1)[-1])
                self.slurm.finish(record.job_id, exit=code)
        return self.slurm.accounting_of(job_id)

    def requeue(self, job_id: int) -> None:
        self.slurm.requeue(job_id)

    @contextmanager
    def partition(self) -> Iterator[str]:
        self.slurm.partition_table["own"] = PartitionStatus(name="own", up=True, nodes="gpu1")
        yield "own"

    @contextmanager
    def maintenance(self) -> Iterator[str]:
        starts_at = datetime.now(UTC) + timedelta(days=1)
        reserved = Reservation(
            name="m",
            starts_at=starts_at,
            ends_at=starts_at + timedelta(hours=2),
            nodes=("gpu1",),
            flags=frozenset({"MAINT"}),
        )
        self.slurm.reservation_table.append(reserved)
        yield "m"


def fake_scene() -> FakeScene:
    """Set up the fake."""
    slurm = FakeSlurm()
    slurm.add_tenant("team", users=("ann", "ben"))
    slurm.add_tenant("others", users=("zoe",))
    return FakeScene(slurm)


@dataclass
class RealScene:
    """The stage on the test stack."""

    slurm: AgentClient
    stack: Stack
    account: str
    user: str
    colleague: str
    stranger: str

    def spec(self, *, ends_with: int | None = 0, **fields: object) -> JobSpec:
        plain = JobSpec(
            script=_script(ends_with),
            work_dir="/tmp",
            environment={"PATH": "/usr/bin:/bin", "HOME": f"/home/{self.user}"},
            account=self.account,
            memory_per_node_mib=64,
            time_limit_min=5,
            stdout="/dev/null",
        )
        return replace(plain, **fields)  # type: ignore[arg-type]

    def running(self, job_id: int, *, array_task_id: int | None = None) -> JobStatus:
        def seen() -> JobStatus | None:
            record = _task(self.slurm.job(job_id), array_task_id)
            return record if record and record.state.base is BaseState.RUNNING else None

        return wait_for(seen, f"job {job_id} runs")

    def ended(self, job_id: int) -> Sequence[AccountingRow]:
        def over() -> Sequence[AccountingRow] | None:
            rows = self.slurm.accounting_of(job_id)
            return rows if rows and all(row.ended_at for row in rows) else None

        return wait_for(over, f"accounting shows the end of job {job_id}")

    def requeue(self, job_id: int) -> None:
        self.scontrol("requeue", str(job_id))

        def waits_again() -> bool:
            (job,) = self.slurm.job(job_id)
            return job.restarts == 1 and "COMPLETING" not in job.state.flags

        wait_for(waits_again, f"the first run of job {job_id} is over")
        # slurmctld lets a requeued job wait for two minutes.
        self.scontrol("update", f"JobId={job_id}", "StartTime=now")

    @contextmanager
    def partition(self) -> Iterator[str]:
        name = f"p{uuid.uuid4().hex[:8]}"
        self.scontrol("create", f"PartitionName={name}", "Nodes=gpu1")
        try:
            yield name
        finally:
            self.scontrol("delete", f"PartitionName={name}")

    @contextmanager
    def maintenance(self) -> Iterator[str]:
        name = f"m{uuid.uuid4().hex[:8]}"
        times = ("StartTime=now+1days", "Duration=120")
        self.scontrol(
            "create",
            "reservation",
            f"ReservationName={name}",
            *times,
            "Nodes=gpu1",
            "Users=root",
            "Flags=MAINT",
        )
        try:
            yield name
        finally:
            self.scontrol("delete", f"ReservationName={name}")

    def scontrol(self, *words: str) -> str:
        """Run scontrol as SlurmUser."""
        return self.stack.exec("slurmctld", "scontrol", *words, user="slurm").stdout

    def shown(self, job_id: int) -> dict[str, str]:
        """``scontrol show job`` as name to value."""
        return dict(_pairs(self.scontrol("show", "job", str(job_id))))


@contextmanager
def two_tenants(stack: Stack) -> Iterator[tuple[str, str]]:
    """Make two tenants of our own; the first has users NAMEa and NAMEb, the second NAMEa."""
    names = [f"t{uuid.uuid4().hex[:8]}" for _ in range(2)]
    for name in names:
        document = {
            "name": name,
            "members": [{"user": f"{name}a"}, {"user": f"{name}b"}],
            "flavors": {"h100": {"limit": 8}, "a100": {"limit": 8}},
        }
        applied = stack.apply(document)
        assert applied.returncode == 0, applied.text
    try:
        yield names[0], names[1]
    finally:
        for name in names:
            stack.remove_tenant(name)


@contextmanager
def real_scene(stack: Stack, ours: str, theirs: str) -> Iterator[RealScene]:
    """Set up the cluster: two tenants, the agent through its relay."""
    with agent_socket(AGENT) as path:
        slurm = AgentClient(path)
        try:
            yield RealScene(slurm, stack, ours, f"{ours}a", f"{ours}b", f"{theirs}a")
        finally:
            slurm.close()


def kill_native_workers() -> int:
    """Kill -9 every native child of the agent; returns how many."""
    command = (
        "import os, signal, pathlib\n"
        "found = [int(p.parent.name) for p in pathlib.Path('/proc').glob('[0-9]*/cmdline')\n"
        "         if p.read_bytes().endswith(b'bridge.agent.native_child\\0')]\n"
        "[os.kill(pid, signal.SIGKILL) for pid in found]\n"
        "print(len(found))\n"
    )
    argv = ["docker", "exec", AGENT, "python", "-c", command]
    return int(subprocess.run(argv, capture_output=True, check=True).stdout)


def _task(records: Sequence[JobStatus], array_task_id: int | None) -> JobStatus | None:
    return next((job for job in records if array_task_id in (None, job.array_task_id)), None)


def _pairs(text: str) -> Iterator[tuple[str, str]]:
    """Read scontrol's lines; a value with spaces has its line for itself."""
    for line in map(str.strip, text.splitlines()):
        words = [line] if line.startswith(_WHOLE_LINES) else line.split()
        for word in words:
            name, sep, value = word.partition("=")
            if sep:
                yield name, value
