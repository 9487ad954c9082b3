"""The whole round trip without Slurm: AgentClient, wire, table of operations, and a desk over the fake."""

from __future__ import annotations

import os
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, cast

import pytest

from bridge.agent.carriage import Way
from bridge.agent.desk import Desk
from bridge.agent.serve import BATCH, handlers
from bridge.agent.tokens import Tokens
from bridge.errors import NotFound, OutcomeUnknown, Unavailable
from bridge.job import JobSpec
from bridge.slurm.client import AgentClient
from bridge.slurm.codec import encode
from bridge.slurm.fake import FakeSlurm
from bridge.slurm.port import Account, Association, Qos
from bridge.wire import Server

SPEC = JobSpec(script=b"#!/bin/sh\n", work_dir="/home/a", environment={"A": "1"}, array="0-1")


class DeskOverFake:
    """What `Desk` answers, from the fake."""

    def __init__(self, slurm: FakeSlurm) -> None:
        self.slurm = slurm
        self.ways: list[Way | None] = []

    def submit(self, spec: JobSpec, *, user: str, way: Way | None = None) -> object:
        self.ways.append(way)
        return self.slurm.submit(spec, user=user)

    @property
    def control(self) -> FakeSlurm:
        return self.slurm

    def jobs(self) -> list[dict[str, Any]]:
        return [encode(each) for each in self.slurm.jobs()]

    def job(self, job_id: int) -> list[dict[str, Any]]:
        return [encode(each) for each in self.slurm.job(job_id)]

    def nodes(self) -> list[dict[str, Any]]:
        return [encode(each) for each in self.slurm.nodes()]

    def partitions(self) -> list[dict[str, Any]]:
        return [encode(each) for each in self.slurm.partitions()]

    def __getattr__(self, name: str) -> Any:
        return getattr(self.slurm, name)


@pytest.fixture
def slurm() -> FakeSlurm:
    slurm = FakeSlurm()
    slurm.add_tenant("team", users=("ann",))
    return slurm


@pytest.fixture
def client(slurm: FakeSlurm, tmp_path: Path) -> Iterator[AgentClient]:
    desk = cast(Desk, DeskOverFake(slurm))
    server = Server(str(tmp_path / "agent.sock"), handlers(desk, Tokens(b"k" * 32)), frozenset({os.getuid()}))
    server.start()
    client = AgentClient(str(tmp_path / "agent.sock"))
    yield client
    client.close()
    server.shutdown()


def test_jobs_and_rows_arrive_as_they_left(client: AgentClient, slurm: FakeSlurm) -> None:
    job = client.submit(SPEC, user="ann").job_id
    slurm.start(job)
    slurm.finish(job, exit=7)
    assert list(client.jobs()) == list(slurm.jobs())
    assert list(client.job(job)) == list(slurm.job(job))
    now = datetime.now(UTC)
    window = {"start": now - timedelta(hours=1), "end": now + timedelta(hours=1)}
    assert list(client.accounting(**window)) == list(slurm.accounting(**window))
    assert list(client.accounting_of(job)) == list(slurm.accounting_of(job))


def test_the_cluster_its_nodes_and_its_health(client: AgentClient, slurm: FakeSlurm) -> None:
    assert client.cluster() == slurm.cluster()
    assert client.health() == slurm.health()
    assert list(client.nodes()) == list(slurm.nodes())
    assert list(client.partitions()) == list(slurm.partitions())


def test_accounting_is_written_and_read(client: AgentClient, slurm: FakeSlurm) -> None:
    client.put_accounts([Account(name="new")])
    client.put_qos([Qos(name="q", preempt=frozenset({"batch"}))])
    client.put_associations([Association(account="new", user="ann", grp_tres={"gres/gpu": 2})])
    client.set_partition_accounts("h100", frozenset({"new"}))
    assert client.accounting_state() == slurm.accounting_state()
    assert slurm.partition_table["h100"].allow_accounts == {"new"}
    client.remove_association(account="new", user="ann")
    assert ("new", "ann") not in slurm.associations


def test_errors_arrive_as_their_class(client: AgentClient, slurm: FakeSlurm) -> None:
    with pytest.raises(NotFound):
        client.job(99)
    with pytest.raises(NotFound):
        client.cancel(99, user="ann")
    slurm.fail_next("submit", OutcomeUnknown("no answer"), after=True)
    with pytest.raises(OutcomeUnknown):
        client.submit(SPEC, user="ann")
    slurm.down.add("slurmctld")
    with pytest.raises(Unavailable) as away:
        client.jobs()
    assert away.value.details["part"] == "slurmctld"


def test_a_long_listing_comes_in_bounded_frames(client: AgentClient, slurm: FakeSlurm) -> None:
    for _ in range(BATCH + 1):
        slurm.submit(SPEC, user="ann")
    assert [len(batch) for batch in client.wire.stream("jobs")] == [BATCH, 1]
    assert len(client.jobs()) == BATCH + 1


def test_an_agent_that_is_away_is_all_parts_away(tmp_path: Path) -> None:
    health = AgentClient(str(tmp_path / "none.sock")).health()
    assert [part.part for part in health] == ["slurmctld", "slurmdbd", "slurmrestd", "native"]
    assert not any(part.healthy for part in health)
    assert all("slurm-agent" in part.detail for part in health)


def test_a_way_can_be_asked_for(client: AgentClient, slurm: FakeSlurm) -> None:
    client.wire.call("submit", spec=encode(SPEC), user="ann", way="rest")
    assert len(slurm.jobs()) == 1
