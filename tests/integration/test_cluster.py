"""`sluice up` and `sluice down` on a stack of this file's own: twice, killed in the middle, beside others.

Its homes and the gateway's store are small disks, which are filled. The tests build on each other's stack
and run in order, in one worker.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import docker
import httpx
import pytest
from docker.models.containers import Container

from bridge import wellknown
from bridge.cluster import flow
from bridge.cluster.reporter import Silent
from bridge.cluster.stack import Stack, choose_port
from tests.support import stack as stacks
from tests.support.waiting import wait_for

pytestmark = [
    pytest.mark.cluster,
    pytest.mark.xdist_group("local-cluster"),
    pytest.mark.timeout(900),
]

CHECKOUT = Path(__file__).resolve().parents[2]
STARTS = ("mariadb", "slurmdbd", "slurmctld")
"""The first parts that start; when they are there most are still missing."""


@pytest.fixture(scope="module")
def engine() -> Iterator[docker.DockerClient]:
    client = docker.from_env()
    yield client
    client.close()


SMALL_DISKS = {"home": "size=8m,mode=0755", "gateway": "size=48m,mode=0700,uid=7700,gid=7700"}
"""Volumes that are file systems in memory, and so have an end; with what the stack would give them."""


@pytest.fixture(scope="module")
def name(engine: docker.DockerClient) -> Iterator[str]:
    """A stack of this run's own, taken down whatever happened."""
    stack = f"sluice-own-{uuid.uuid4().hex[:6]}"
    for volume, options in SMALL_DISKS.items():
        engine.volumes.create(
            f"{stack}-{volume}",
            driver="local",
            driver_opts={"type": "tmpfs", "device": "tmpfs", "o": options},
            labels={wellknown.LABEL_STACK: stack},
        )
    yield stack
    sluice("down", "--stack", stack)


def sluice(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command(*arguments), cwd=CHECKOUT, capture_output=True, text=True, check=False, timeout=800
    )


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-P", "-m", "gateway.cli.main", *arguments]


def up(stack: str) -> dict[str, object]:
    ran = sluice("up", "--stack", stack, "--no-demo", "--json")
    assert ran.returncode == 0, ran.stderr
    answer: dict[str, object] = json.loads(ran.stdout)
    return answer


def parts(engine: docker.DockerClient, stack: str) -> dict[str, Container]:
    label = f"{wellknown.LABEL_STACK}={stack}"
    # The shell of a step (a volume filled, a version asked) may end while they are listed.
    found = engine.containers.list(all=True, ignore_removed=True, filters={"label": label})
    return {container.labels[wellknown.LABEL_PART]: container for container in found}


def lives(containers: Mapping[str, Container]) -> dict[str, tuple[str | None, str]]:
    """Identity and start of each part."""
    return {name: (c.id, str(c.attrs["State"]["StartedAt"])) for name, c in containers.items()}


def left(engine: docker.DockerClient, stack: str) -> list[str | None]:
    label: dict[str, str | list[str] | bool] = {"label": f"{wellknown.LABEL_STACK}={stack}"}
    return [
        *(
            container.name
            for container in engine.containers.list(all=True, ignore_removed=True, filters=label)
        ),
        *(network.name for network in engine.networks.list(filters=label)),
        *(volume.name for volume in engine.volumes.list(filters=label)),
    ]


@pytest.fixture(scope="module")
def some_image(engine: docker.DockerClient) -> str:
    """Any image that is on this machine already."""
    tags = [tag for image in engine.images.list("sluice-base") for tag in image.tags]
    assert tags, "no base image yet: the test stack is brought up first"
    return tags[0]


def test_a_foreign_container_with_our_name_stops_up_before_it_makes_anything(
    engine: docker.DockerClient, some_image: str
) -> None:
    stack = f"sluice-own-{uuid.uuid4().hex[:6]}"
    foreign = engine.containers.create(some_image, ["sleep", "60"], name=f"{stack}-slurmctld")
    try:
        ran = sluice("up", "--stack", stack, "--no-demo")
        assert ran.returncode == 1
        assert f"container {stack}-slurmctld that Sluice did not make" in ran.stderr
        assert "Traceback" not in ran.stderr
        assert left(engine, stack) == []
        foreign.reload()
    finally:
        foreign.remove(force=True)


def test_up_goes_on_after_a_kill_in_the_middle(engine: docker.DockerClient, name: str) -> None:
    first = subprocess.Popen(
        command("up", "--stack", name, "--no-demo"),
        cwd=CHECKOUT,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        wait_for(lambda: set(STARTS) <= set(parts(engine, name)), "the first parts exist", deadline_s=600)
    finally:
        os.killpg(first.pid, signal.SIGKILL)
        first.wait()
    assert "gateway" not in parts(engine, name), "the kill came too late to be in the middle"
    answer = up(name)
    assert answer["changed"] is True
    running = {part: container.status for part, container in parts(engine, name).items()}
    assert running.pop("prepare") == "exited"
    assert set(running.values()) == {"running"}
    assert {"gateway", "agent", "bridge", "files", "login", "gpu1", "gpu2"} <= set(running)


def test_a_second_up_changes_nothing(engine: docker.DockerClient, name: str) -> None:
    before = lives(parts(engine, name))
    answer = up(name)
    assert answer["changed"] is False
    assert answer["keys_made_for"] == []
    assert lives(parts(engine, name)) == before


@contextmanager
def filled(stack: stacks.Stack, part: str, folder: str, *, user: str = "root") -> Iterator[None]:
    """Leave no byte on the disk of a folder."""
    stack.exec(part, "sh", "-c", f"cat /dev/zero > {folder}/filler", user=user, check=False)
    try:
        yield
    finally:
        stack.exec(part, "rm", f"{folder}/filler", user=user)


@pytest.fixture
def own(name: str) -> stacks.Stack:
    """The stack as other tests use theirs."""
    return stacks.Stack(name, str(up(name)["url"]))


def test_a_job_whose_home_is_full_ends_and_its_log_says_why(own: stacks.Stack) -> None:
    with own.client("ada") as ada:
        before = ada.ended(ada.submit("#!/bin/sh\necho before\n", "--mem=64M", "--time=2")["id"])
        with filled(own, "login", "/home"):
            script = "#!/bin/sh\necho begun\nhead -c 100000 /dev/zero\n"
            written = ada.ended(ada.submit(script, "--mem=64M", "--time=2")["id"])
            answer = ada.http.get(f"/v1/jobs/{written['id']}/stdout")
            assert (written["state"], written["exit_code"]) == ("FAILED", 1)
            words = answer.headers.get("X-Sluice-Warning") or answer.json()["detail"]
            assert "the disk of this output is full" in words
            assert ada.http.get(f"/v1/jobs/{before['id']}/stdout").text == "before\n"
            # A home that was never made can't be made now; the job ends all the same, and no node with it.
            with own.client("chen") as chen:
                homeless = chen.ended(chen.submit("#!/bin/sh\npwd\n", "--mem=64M", "--time=2")["id"])
                assert chen.http.get(f"/v1/jobs/{homeless['id']}/stdout").status_code in (200, 404)
            nodes = own.exec("slurmctld", "sinfo", "-h", "-o", "%T").stdout
            assert "drain" not in nodes
            assert "down" not in nodes
        after = ada.ended(ada.submit("#!/bin/sh\necho after\n", "--mem=64M", "--time=2")["id"])
        answer = ada.http.get(f"/v1/jobs/{after['id']}/stdout")
        assert (answer.text, answer.headers.get("X-Sluice-Warning")) == ("after\n", None)


def test_a_gateway_whose_store_is_full_says_so_and_goes_on_when_there_is_room(own: stacks.Stack) -> None:
    with own.client("ada") as ada:
        held = ("--hold", "--mem=64M", "--time=2")
        kept = ada.submit("#!/bin/sh\ntrue\n", *held)
        with filled(own, "gateway", wellknown.GATEWAY_STATE_DIR, user="sluice"):
            ready = wait_for(
                lambda: (found := ada.http.get("/readyz")).status_code == 503 and found, "it is not ready"
            )
            assert isinstance(ready, httpx.Response)
            store = next(part for part in ready.json()["parts"] if part["part"] == "store")
            assert not store["healthy"]
            assert "full" in store["detail"]
            assert ada.job(kept["id"])["job_id"] == kept["job_id"]
            answers = [ada.try_submit("#!/bin/sh\ntrue\n", *held) for _ in range(30)]
            assert {answer.status_code for answer in answers} <= {201, 503}
            taken = [answer.json()["job_id"] for answer in answers if answer.status_code == 201]
            assert all("Traceback" not in answer.text for answer in answers)
        wait_for(lambda: ada.http.get("/readyz").status_code == 200, "it is ready again")
        wait_for(
            lambda: all(ada.http.get(f"/v1/jobs/{job}").status_code == 200 for job in taken),
            "what was answered is kept",
        )


def test_up_replaces_only_what_was_removed_by_hand(engine: docker.DockerClient, name: str) -> None:
    before = lives(parts(engine, name))
    parts(engine, name)["login"].remove(force=True)
    up(name)
    after = lives(parts(engine, name))
    assert after.pop("login") != before.pop("login")
    assert after == before


def test_the_gateway_gets_another_port_when_somebody_takes_its_own_meanwhile(
    engine: docker.DockerClient, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    parts(engine, name)["gateway"].remove(force=True)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        choices = iter([port])
        monkeypatch.setattr(flow, "choose_port", lambda **asked: next(choices, None) or choose_port(**asked))
        came_up = flow.bring_up(Stack(name, CHECKOUT), Silent())
    assert came_up.port != port
    assert came_up.url in sluice("status", "--stack", name, "--json").stdout
    assert parts(engine, name)["gateway"].status == "running"


def test_status_names_the_part_at_the_root(engine: docker.DockerClient, name: str) -> None:
    parts(engine, name)["slurmctld"].stop(timeout=30)
    ran = sluice("status", "--stack", name, "--json")
    assert ran.returncode == 5
    answer = json.loads(ran.stdout)
    assert answer["healthy"] is False
    assert answer["problem"].startswith("Slurm is down: slurmctld is exited")
    up(name)
    assert sluice("status", "--stack", name).returncode == 0


def test_down_removes_exactly_what_up_made(engine: docker.DockerClient, name: str, some_image: str) -> None:
    foreign = engine.containers.run(some_image, ["sleep", "600"], name=f"{name}-notes", detach=True)
    volume = engine.volumes.create(f"{name}-notes")
    try:
        ran = sluice("down", "--stack", name)
        assert ran.returncode == 0, ran.stderr
        assert left(engine, name) == []
        foreign.reload()
        assert foreign.status == "running"
        volume.reload()
    finally:
        foreign.remove(force=True)
        volume.remove()
    again = sluice("down", "--stack", name)
    assert again.returncode == 0
    assert "there was nothing" in again.stdout
