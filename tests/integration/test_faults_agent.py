"""The agent while slurmctld is silent and its own children die. Stops slurmctld for everybody: run alone."""

from __future__ import annotations

import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from bridge.errors import OutcomeUnknown, SluiceError, Unavailable
from tests.contract.scenes import RealScene, kill_native_workers, real_scene, two_tenants
from tests.support.stack import Stack
from tests.support.waiting import wait_for

pytestmark = [pytest.mark.cluster, pytest.mark.xdist_group("faults"), pytest.mark.timeout(240)]

DEADLINE_S = 20
"""Above the agent's own deadline for a write (15 s)."""


@pytest.fixture(scope="module")
def real(stack: Stack) -> Iterator[RealScene]:
    """A stage with two tenants of its own."""
    with two_tenants(stack) as (ours, theirs), real_scene(stack, ours, theirs) as stage:
        yield stage


@contextmanager
def silent(scene: RealScene, part: str) -> Iterator[None]:
    """Freeze a part: its connections are accepted and never answered."""
    container = scene.stack.container(part)
    subprocess.run(["docker", "pause", container], check=True, capture_output=True)
    try:
        yield
    finally:
        subprocess.run(["docker", "unpause", container], check=True, capture_output=True)
        wait_for(lambda: all(part.healthy for part in scene.slurm.health()), "all parts answer again")


def jobs_with(scene: RealScene, comment: str) -> int:
    """How many jobs carry this admin_comment."""
    return sum(job.admin_comment == comment for job in scene.slurm.jobs())


def test_a_silent_slurmctld_is_told_within_the_deadline_and_forgotten_after(real: RealScene) -> None:
    comment = f"sluice:http:{real.account}"
    spec = real.spec(hold=True, admin_comment=comment)
    with silent(real, "slurmctld"):
        began = time.monotonic()
        health = {part.part: part for part in real.slurm.health()}
        assert time.monotonic() - began < 6
        assert not health["slurmctld"].healthy
        assert health["slurmctld"].detail
        assert health["slurmdbd"].healthy
        assert health["slurmrestd"].healthy

        began = time.monotonic()
        with pytest.raises(OutcomeUnknown):
            real.slurm.submit(spec, user=real.user)
        with pytest.raises(Unavailable):
            real.slurm.jobs()
        assert time.monotonic() - began < 2 * DEADLINE_S
    found = jobs_with(real, comment)
    assert found in (0, 1)  # nobody can know before looking: that is what OutcomeUnknown says
    job_id = real.slurm.submit(real.spec(hold=True), user=real.user).job_id
    real.slurm.cancel(job_id, user=real.user)


def test_a_stopped_slurmctld_is_unavailable_at_once_or_within_the_deadline(real: RealScene) -> None:
    container = real.stack.container("slurmctld")
    subprocess.run(["docker", "stop", "-t", "10", container], check=True, capture_output=True)
    try:
        began = time.monotonic()
        with pytest.raises(Unavailable):
            real.slurm.submit(real.spec(hold=True), user=real.user)
        with pytest.raises(Unavailable):
            real.slurm.job(1)
        assert time.monotonic() - began < 2 * DEADLINE_S
    finally:
        subprocess.run(["docker", "start", container], check=True, capture_output=True)
        wait_for(
            lambda: all(part.healthy for part in real.slurm.health()), "slurmctld is back", deadline_s=90
        )


def test_a_stopped_slurmdbd_is_unavailable_for_accounting_alone(real: RealScene) -> None:
    with silent(real, "slurmdbd"):
        health = {part.part: part.healthy for part in real.slurm.health()}
        assert not health["slurmdbd"]
        assert health["slurmctld"]
        job_id = real.slurm.submit(real.spec(hold=True), user=real.user).job_id
        real.slurm.cancel(job_id, user=real.user)


def test_a_worker_killed_in_the_middle_is_an_unknown_outcome_and_is_replaced(real: RealScene) -> None:
    outcome: list[SluiceError | int] = []

    def submit() -> None:
        try:
            outcome.append(real.slurm.submit(real.spec(hold=True), user=real.user).job_id)
        except SluiceError as error:
            outcome.append(error)

    real.slurm.jobs()  # the workers are warm
    with silent(real, "slurmctld"):
        caller = threading.Thread(target=submit)
        caller.start()
        wait_for(lambda: kill_native_workers() > 0 and not _alive(caller), "the call ended", deadline_s=10)
        caller.join()
    assert isinstance(outcome[0], OutcomeUnknown), outcome
    job_id = real.slurm.submit(real.spec(hold=True), user=real.user).job_id
    real.slurm.cancel(job_id, user=real.user)


def _alive(caller: threading.Thread) -> bool:
    caller.join(timeout=0.5)
    return caller.is_alive()
