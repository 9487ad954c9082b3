"""One stage for both Slurms: what a contract test may ask for beside the port's own calls.

On the fake a job runs when it is told to; on the real cluster the test waits for what its script does.
So a job is described by what it does (`ends_with`, `waits`), and `ended`, `running` make it so.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Final, Protocol

from bridge.errors import NotFound
from bridge.job import AccountingRow, BaseState, JobSpec, JobStatus
from bridge.slurm.client import AgentClient
from bridge.slurm.fake import FakeSlurm
from bridge.slurm.port import Slurm
from tests.support.agent_relay import agent_socket
from tests.support.stack import STACK_NAME, OwnTenant, Stack
from tests.support.waiting import wait_for

AGENT: Final = os.environ.get("SLUICE_TEST_AGENT", f"{STACK_NAME}-agent")
"""Container of the agent."""


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
        return _task(self.slurm.job(job_id), array_task_id)

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
            return record if record.state.base is BaseState.RUNNING else None

        return wait_for(seen, f"job {job_id} runs")

    def ended(self, job_id: int) -> Sequence[AccountingRow]:
        def over() -> Sequence[AccountingRow] | None:
            rows = self.slurm.accounting_of(job_id)
            return rows if rows and all(row.ended_at for row in rows) else None

        return wait_for(over, f"accounting shows the end of job {job_id}")

    def requeue(self, job_id: int) -> None:
        self.scontrol("requeue", str(job_id))

    def scontrol(self, *words: str) -> str:
        """Run scontrol as SlurmUser."""
        return self.stack.exec("slurmctld", "scontrol", *words, user="slurm").stdout

    def shown(self, job_id: int) -> dict[str, str]:
        """``scontrol show job`` as name to value."""
        return dict(_pairs(self.scontrol("show", "job", str(job_id), "--oneliner")))


@contextmanager
def real_scene(stack: Stack, ours: OwnTenant, theirs: OwnTenant) -> Iterator[RealScene]:
    """Set up the cluster: two tenants, the agent through its relay."""
    with agent_socket(AGENT) as path:
        slurm = AgentClient(path)
        try:
            yield RealScene(slurm, stack, ours.name, ours.users[0], ours.users[1], theirs.user)
        finally:
            slurm.close()


def kill_a_native_worker(signal: str = "KILL") -> int:
    """Kill every native child of the agent; returns how many."""
    command = (
        "import os, signal, pathlib\n"
        "found = [int(p.parent.name) for p in pathlib.Path('/proc').glob('[0-9]*/cmdline')\n"
        "         if b'native_child' in p.read_bytes()]\n"
        f"[os.kill(pid, signal.SIG{signal}) for pid in found]\n"
        "print(len(found))\n"
    )
    argv = ["docker", "exec", AGENT, "python", "-c", command]
    return int(subprocess.run(argv, capture_output=True, check=True).stdout)


def _task(records: Sequence[JobStatus], array_task_id: int | None) -> JobStatus:
    for record in records:
        if array_task_id is None or record.array_task_id == array_task_id:
            return record
    raise NotFound(f"no record of task {array_task_id}")


def _pairs(text: str) -> Iterator[tuple[str, str]]:
    for word in text.split():
        name, sep, value = word.partition("=")
        if sep:
            yield name, value
