"""An agent without libslurm (Slurm older than 25.11): slurmrestd alone tells the same."""

from __future__ import annotations

import dataclasses
import subprocess
import uuid
from collections.abc import Iterator

import pytest

from bridge.errors import NotFound, SluiceError
from bridge.job import BaseState
from bridge.slurm.client import AgentClient
from tests.contract.scenes import AGENT, RealScene
from tests.support.agent_relay import agent_socket
from tests.support.waiting import wait_for

pytestmark = pytest.mark.cluster


@pytest.fixture(scope="module")
def rest() -> Iterator[AgentClient]:
    """A second agent in the agent's container, told to go without libslurm."""
    socket = f"/tmp/{uuid.uuid4().hex}/agent.sock"
    settings = ["-e", "SLUICE_AGENT_NATIVE=false", "-e", f"SLUICE_AGENT_SOCKET={socket}"]
    command = ["docker", "exec", "-i", *settings, AGENT, "python", "-c", _UNTIL_STDIN_ENDS]
    with (
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL) as second,
        agent_socket(AGENT, agent=socket) as path,
    ):
        client = AgentClient(path)
        try:
            wait_for(lambda: _answers(client), "the second agent answers")
            yield client
        finally:
            client.close()
            if second.stdin is not None:
                second.stdin.close()
            second.wait(20)


_UNTIL_STDIN_ENDS = """
import subprocess, sys
agent = subprocess.Popen([sys.executable, "-m", "bridge.agent"], stdin=subprocess.DEVNULL)
sys.stdin.read()
agent.terminate()
agent.wait(10)
"""


def _answers(client: AgentClient) -> bool:
    try:
        return bool(client.cluster().name)
    except SluiceError:
        return False


def test_it_says_that_it_goes_without(rest: AgentClient) -> None:
    assert rest.cluster().adapters == ("rest", "commands")
    health = {part.part: part for part in rest.health()}
    assert all(part.healthy for part in health.values()), health
    assert "not in use" in health["native"].detail


def test_records_of_jobs_are_the_same(real: RealScene, rest: AgentClient) -> None:
    specs = [
        real.spec(ends_with=None, tres_per_node="gres/gpu:h100:1", comment="a", admin_comment="sluice:x:1"),
        real.spec(hold=True, array="0-3%2", dependency="singleton", name="waits"),
        real.spec(ends_with=7, stdout="/tmp/%j.out"),
    ]
    running, waiting, failed = (real.slurm.submit(spec, user=real.user).job_id for spec in specs)
    real.running(running)
    real.ended(failed)
    for job_id in (running, waiting, failed):
        (ours,) = real.slurm.job(job_id)
        (theirs,) = rest.job(job_id)
        # Priority ages from one call to the next.
        assert dataclasses.replace(theirs, priority=ours.priority) == ours
    assert {job.job_id for job in rest.jobs()} >= {running, waiting, failed}
    for job_id in (running, waiting):
        rest.cancel(job_id, user=real.user)


def test_it_submits_and_says_what_it_does_not_know(real: RealScene, rest: AgentClient) -> None:
    job_id = rest.submit(real.spec(hold=True), user=real.user).job_id
    (job,) = rest.job(job_id)
    assert (job.user, job.state.base) == (real.user, BaseState.PENDING)
    rest.cancel(job_id, user=real.user)
    with pytest.raises(NotFound):
        rest.job(60_000_000)


def test_nodes_and_partitions_are_the_same(real: RealScene, rest: AgentClient) -> None:
    ours = {
        node.name: (node.cpus, node.memory_mib, node.gpus, node.partitions) for node in real.slurm.nodes()
    }
    theirs = {node.name: (node.cpus, node.memory_mib, node.gpus, node.partitions) for node in rest.nodes()}
    assert theirs == ours
    with real.partition() as name:
        rest.set_partition_accounts(name, frozenset({real.account}))
        for client in (real.slurm, rest):
            partition = next(each for each in client.partitions() if each.name == name)
            assert (partition.allow_accounts, partition.up, partition.nodes) == (
                frozenset({real.account}),
                True,
                "gpu1",
            )
