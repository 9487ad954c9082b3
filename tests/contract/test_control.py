"""Changes of jobs that Slurm has, and reservations, on every Slurm of ours."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from functools import partial

import pytest

from bridge.errors import NotFound
from bridge.job import BaseState, JobStatus
from bridge.slurm.errnos import Errno
from bridge.slurm.job_change import JobChange
from tests.contract.scenes import Scene
from tests.contract.test_port import errno_of
from tests.support.waiting import wait_for


def waiting(scene: Scene, **fields: object) -> int:
    """A job that would run, were it not held by its user."""
    return scene.slurm.submit(scene.spec(ends_with=None, hold=True, **fields), user=scene.user).job_id


def record(scene: Scene, job_id: int) -> JobStatus:
    (found,) = scene.slurm.job(job_id)
    return found


def test_an_administrators_hold_carries_a_note_and_its_user_cant_undo_it(scene: Scene) -> None:
    job_id = waiting(scene, admin_comment="sluice:http:x")
    scene.slurm.hold(job_id, note="sluice:http:x | why")
    held = record(scene, job_id)
    assert (held.priority, held.reason, held.admin_comment) == (0, "JobHeldAdmin", "sluice:http:x | why")
    assert errno_of(lambda: scene.slurm.release(job_id, user=scene.user)) == Errno.ACCESS_DENIED
    scene.slurm.release(job_id, note="")
    freed = record(scene, job_id)
    assert freed.priority != 0
    assert not freed.reason.startswith("JobHeld")
    assert freed.admin_comment == ""
    scene.slurm.cancel(job_id, user=scene.user)


def test_a_users_hold_is_the_users_and_nobody_elses(scene: Scene) -> None:
    job_id = scene.slurm.submit(
        scene.spec(ends_with=None, dependency="singleton", hold=True), user=scene.user
    ).job_id
    scene.slurm.release(job_id, user=scene.user)
    running = scene.running(job_id)
    assert running.state.base is BaseState.RUNNING
    for other in (scene.colleague, scene.stranger):
        assert errno_of(partial(scene.slurm.hold, job_id, user=other)) == Errno.USER_ID_MISSING
        assert errno_of(partial(scene.slurm.release, job_id, user=other)) == Errno.USER_ID_MISSING
    scene.slurm.cancel(job_id, user=scene.user)
    second = waiting(scene)
    scene.slurm.hold(second, user=scene.user)
    assert (record(scene, second).priority, record(scene, second).reason) == (0, "JobHeldUser")
    scene.slurm.cancel(second, user=scene.user)


def test_an_array_is_held_and_released_as_one(scene: Scene) -> None:
    job_id = waiting(scene, array="0-3")
    scene.slurm.hold(job_id, note="why")
    assert (record(scene, job_id).priority, record(scene, job_id).admin_comment) == (0, "why")
    scene.slurm.cancel(job_id, user=scene.user)


def test_a_requeued_job_waits_again_and_one_that_waits_is_refused(scene: Scene) -> None:
    job_id = scene.slurm.submit(scene.spec(ends_with=None, requeue=True), user=scene.user).job_id
    scene.running(job_id)
    assert errno_of(lambda: scene.slurm.requeue(job_id, user=scene.stranger)) == Errno.ACCESS_DENIED
    scene.slurm.requeue(job_id, user=scene.user, hold=True)

    def waits() -> bool:
        job = record(scene, job_id)
        return job.state.base is BaseState.PENDING and job.priority == 0

    wait_for(waits, f"job {job_id} waits again, held")
    assert errno_of(lambda: scene.slurm.requeue(job_id, user=scene.user)) == Errno.JOB_PENDING
    scene.slurm.cancel(job_id, user=scene.user)


def test_what_a_change_names_is_changed_and_the_rest_stays(scene: Scene) -> None:
    job_id = waiting(scene, name="before", comment="c", time_limit_min=4)
    scene.slurm.modify(job_id, JobChange(time_limit_min=2, name="after", qos="batch"), user=scene.user)
    changed = record(scene, job_id)
    assert (changed.time_limit_min, changed.name, changed.qos, changed.comment) == (2, "after", "batch", "c")
    scene.slurm.modify(job_id, JobChange(time_limit_min=9, admin_comment="by us"))
    assert (record(scene, job_id).time_limit_min, record(scene, job_id).admin_comment) == (9, "by us")
    stranger = JobChange(name="theirs")
    assert (
        errno_of(lambda: scene.slurm.modify(job_id, stranger, user=scene.stranger)) == Errno.USER_ID_MISSING
    )
    wrong = JobChange(partition="no-such-partition")
    assert errno_of(lambda: scene.slurm.modify(job_id, wrong)) == Errno.INVALID_PARTITION
    assert errno_of(lambda: scene.slurm.modify(job_id, JobChange(qos="no-such-qos"))) == Errno.INVALID_QOS
    scene.slurm.cancel(job_id, user=scene.user)


def test_an_unknown_job_can_not_be_changed(scene: Scene) -> None:
    unknown = 60_000_000
    calls: tuple[Callable[[], None], ...] = (
        partial(scene.slurm.hold, unknown),
        partial(scene.slurm.release, unknown, user=scene.user),
        partial(scene.slurm.requeue, unknown),
        partial(scene.slurm.modify, unknown, JobChange(name="x")),
    )
    for call in calls:
        with pytest.raises(NotFound):
            call()


def test_a_maintenance_is_told_with_its_nodes_and_times(scene: Scene) -> None:
    with scene.maintenance() as name:
        found = next(each for each in scene.slurm.reservations() if each.name == name)
        assert "MAINT" in found.flags
        assert found.nodes == ("gpu1",)
        assert found.ends_at - found.starts_at == timedelta(hours=2)
