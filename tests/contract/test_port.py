"""What every Slurm of ours does, fake or real, call by call."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from uuid import uuid4

import pytest

from bridge.errors import NotFound, SlurmRefused, Unauthenticated
from bridge.job import BaseState, ExitStatus, JobStatus
from bridge.slurm.errnos import Errno
from bridge.slurm.port import Account, Association, Qos
from tests.contract.scenes import Scene


def errno_of(call: Callable[[], object]) -> int:
    with pytest.raises(SlurmRefused) as refused:
        call()
    assert refused.value.message
    return refused.value.errno


def test_the_cluster_says_who_it_is(scene: Scene) -> None:
    cluster = scene.slurm.cluster()
    assert cluster.name
    assert cluster.version[0].isdigit()
    assert "rest" in cluster.adapters


def test_all_parts_are_well(scene: Scene) -> None:
    health = scene.slurm.health()
    assert [part.part for part in health] == ["slurmctld", "slurmdbd", "slurmrestd", "native"]
    assert all(part.healthy for part in health), health


def test_a_job_runs_ends_with_its_code_and_is_accounted(scene: Scene) -> None:
    spec = scene.spec(ends_with=7, name="seven", admin_comment="sluice:http:abc", comment="for the test")
    job_id = scene.slurm.submit(spec, user=scene.user).job_id
    (row,) = scene.ended(job_id)
    assert (row.job_id, row.name, row.user, row.account) == (job_id, "seven", scene.user, scene.account)
    assert row.state.base is BaseState.FAILED
    assert row.exit == ExitStatus(7)
    assert row.admin_comment == "sluice:http:abc"
    assert row.comment == "for the test"
    assert row.submitted_at is not None
    assert row.started_at is not None
    assert row.ended_at is not None
    assert row.submitted_at <= row.started_at <= row.ended_at
    assert row.tres_allocated["node"] == 1
    assert row.db_index.isdigit()


def test_a_running_job_shows_where_and_as_whom(scene: Scene) -> None:
    spec = scene.spec(ends_with=None, tres_per_node="gres/gpu:h100:2")
    job_id = scene.slurm.submit(spec, user=scene.user).job_id
    job = scene.running(job_id)
    assert job.user == scene.user
    assert job.uid >= 1000
    assert job.nodes
    assert job.started_at is not None
    assert job.ended_at is None
    assert job.exit is None
    assert job.state.holds_resources
    assert job.tres_allocated["gres/gpu"] == 2
    assert job.tres_allocated["gres/gpu:h100"] == 2
    assert job.stdout.startswith("/")
    assert job_id in {each.job_id for each in scene.slurm.jobs()}
    scene.slurm.cancel(job_id, user=scene.user)


def test_a_heterogeneous_job_is_one_record_a_component(scene: Scene) -> None:
    leader = scene.spec(name="two", hold=True)
    other = replace(leader, script=b"", ntasks=2)
    job_id = scene.slurm.submit_het([leader, other], user=scene.user).job_id
    records = sorted(scene.slurm.job(job_id), key=lambda record: record.het_offset or 0)
    assert [(record.het_job_id, record.het_offset) for record in records] == [(job_id, 0), (job_id, 1)]
    assert records[0].job_id == job_id
    assert [record.cpus for record in records] == [1, 2]
    (component,) = scene.slurm.job(records[1].job_id)
    assert component.het_offset == 1
    scene.slurm.cancel(job_id, user=scene.user)
    assert {record.state.base for record in scene.slurm.job(job_id)} == {BaseState.CANCELLED}


def test_a_heterogeneous_job_is_made_whole_or_not_at_all(scene: Scene) -> None:
    good = scene.spec(hold=True, name=f"het-{uuid4().hex}")
    bad = replace(good, script=b"", partition="no-such-partition")
    assert errno_of(lambda: scene.slurm.submit_het([good, bad], user=scene.user)) == Errno.INVALID_PARTITION
    assert not [record for record in scene.slurm.jobs() if record.name == good.name]


def test_a_forecast_makes_no_job(scene: Scene) -> None:
    before = {record.job_id for record in scene.slurm.jobs()}
    spec = scene.spec(name=f"forecast-{uuid4().hex}")
    found = scene.slurm.forecast(spec, user=scene.user)
    assert found.waits or (found.start_at and found.nodes and found.partition and found.cpus), found
    assert scene.slurm.forecast(replace(spec, hold=True), user=scene.user).waits
    bad = replace(spec, partition="no-such-partition")
    assert errno_of(lambda: scene.slurm.forecast(bad, user=scene.user)) == Errno.INVALID_PARTITION
    assert not [job for job in scene.slurm.jobs() if job.name == spec.name and job.job_id not in before]


def test_a_cancelled_job_says_who_did_it(scene: Scene) -> None:
    job_id = scene.slurm.submit(scene.spec(ends_with=None), user=scene.user).job_id
    scene.running(job_id)
    scene.slurm.cancel(job_id, user=scene.user)
    (row,) = scene.ended(job_id)
    assert row.state.base is BaseState.CANCELLED


def test_cancelling_an_ended_job_is_no_error(scene: Scene) -> None:
    job_id = scene.slurm.submit(scene.spec(), user=scene.user).job_id
    scene.ended(job_id)
    scene.slurm.cancel(job_id, user=scene.user)


def test_nobody_cancels_anothers_job(scene: Scene) -> None:
    job_id = scene.slurm.submit(scene.spec(ends_with=None, hold=True), user=scene.user).job_id
    for other in (scene.colleague, scene.stranger):
        assert errno_of(partial(scene.slurm.cancel, job_id, user=other)) == Errno.ACCESS_DENIED
    (job,) = scene.slurm.job(job_id)
    assert job.state.base is BaseState.PENDING
    scene.slurm.cancel(job_id, user=scene.user)


def test_an_unknown_job_is_not_found(scene: Scene) -> None:
    unknown = 60_000_000
    with pytest.raises(NotFound):
        scene.slurm.job(unknown)
    with pytest.raises(NotFound):
        scene.slurm.cancel(unknown, user=scene.user)
    assert list(scene.slurm.accounting_of(unknown)) == []


def test_an_unknown_user_is_not_found(scene: Scene) -> None:
    with pytest.raises(NotFound):
        scene.slurm.submit(scene.spec(), user="nobody-knows-me")


def test_an_account_that_is_not_the_users_is_refused(scene: Scene) -> None:
    spec = scene.spec(account="no-such-account")
    assert errno_of(lambda: scene.slurm.submit(spec, user=scene.user)) == Errno.INVALID_ACCOUNT


def test_an_unknown_partition_is_refused(scene: Scene) -> None:
    spec = scene.spec(partition="no-such-partition")
    assert errno_of(lambda: scene.slurm.submit(spec, user=scene.user)) == Errno.INVALID_PARTITION


def test_an_unknown_qos_is_refused(scene: Scene) -> None:
    spec = scene.spec(qos="no-such-qos")
    assert errno_of(lambda: scene.slurm.submit(spec, user=scene.user)) == Errno.INVALID_QOS


def test_an_array_that_is_none_is_refused(scene: Scene) -> None:
    spec = scene.spec(array="5-1")
    assert errno_of(lambda: scene.slurm.submit(spec, user=scene.user)) == Errno.INVALID_ARRAY


def test_a_pending_array_is_one_record_and_its_tasks_are_rows(scene: Scene) -> None:
    job_id = scene.slurm.submit(scene.spec(array="0-3%2", hold=True), user=scene.user).job_id
    (record,) = scene.slurm.job(job_id)
    assert (record.array_job_id, record.array_task_id) == (job_id, None)
    assert record.array_tasks == "0-3%2"
    scene.slurm.cancel(job_id, user=scene.user)

    job_id = scene.slurm.submit(scene.spec(array="1,3"), user=scene.user).job_id
    rows = scene.ended(job_id)
    assert sorted(row.array_task_id or 0 for row in rows) == [1, 3]
    assert {row.array_job_id for row in rows} == {job_id}


def test_one_task_of_an_array_is_cancelled_alone(scene: Scene) -> None:
    job_id = scene.slurm.submit(scene.spec(ends_with=None, array="0-1"), user=scene.user).job_id
    scene.running(job_id, array_task_id=0)
    scene.running(job_id, array_task_id=1)
    scene.slurm.cancel(job_id, user=scene.user, array_task_id=1)

    def state(task: int) -> JobStatus:
        return next(job for job in scene.slurm.job(job_id) if job.array_task_id == task)

    assert state(1).state.base is BaseState.CANCELLED
    assert state(0).state.base is BaseState.RUNNING
    scene.slurm.cancel(job_id, user=scene.user)


def test_each_run_of_a_requeued_job_is_a_row_of_its_own(scene: Scene) -> None:
    job_id = scene.slurm.submit(scene.spec(ends_with=None, requeue=True), user=scene.user).job_id
    scene.running(job_id)
    scene.requeue(job_id)
    assert scene.running(job_id).restarts == 1
    scene.slurm.cancel(job_id, user=scene.user)
    rows = scene.ended(job_id)
    assert len(rows) == 2
    assert len({row.db_index for row in rows}) == 2
    assert {row.job_id for row in rows} == {job_id}


def test_the_window_streams_what_touched_it(scene: Scene) -> None:
    job_id = scene.slurm.submit(scene.spec(ends_with=3), user=scene.user).job_id
    scene.ended(job_id)
    now = datetime.now(UTC)
    hour = timedelta(hours=1)
    assert job_id in {row.job_id for row in scene.slurm.accounting(start=now - hour, end=now + hour)}
    assert job_id not in {row.job_id for row in scene.slurm.accounting(start=now - 3 * hour, end=now - hour)}


def test_nodes_and_partitions_are_told(scene: Scene) -> None:
    nodes = {node.name: node for node in scene.slurm.nodes()}
    assert nodes["gpu1"].gpus == {"h100": 4, "a100": 4}
    assert nodes["gpu1"].gpus_used.keys() == {"h100", "a100"}
    assert {"h100", "a100"} <= {partition.name for partition in scene.slurm.partitions()}


def test_a_partition_admits_the_accounts_it_is_told_and_none_is_none(scene: Scene) -> None:
    def admitted(name: str) -> frozenset[str]:
        return next(each.allow_accounts for each in scene.slurm.partitions() if each.name == name)

    with scene.partition() as name:
        assert admitted(name) == frozenset()  # everybody
        scene.slurm.set_partition_accounts(name, frozenset({scene.account, "root"}))
        assert admitted(name) == {scene.account, "root"}
        scene.slurm.set_partition_accounts(name, frozenset())
        assert admitted(name) == {"root"}


def test_accounts_and_associations_come_back_as_they_were_put(scene: Scene) -> None:
    word = scene.account
    top, below = f"{word}-top", f"{word}-below"
    scene.slurm.put_accounts(
        [
            Account(name=below, parent=top, description="b", organization="o"),
            Account(name=top, parent="root", description="a", organization="o"),
        ]
    )
    plain = Association(account=top, parent="root", shares=1, qos=frozenset({"training"}))
    full = Association(
        account=below,
        parent=top,
        shares=7,
        qos=frozenset({"training", "batch"}),
        default_qos="batch",
        grp_tres={"gres/gpu:h100": 4, "cpu": 10},
        grp_tres_mins={"gres/gpu": 1000},
        max_tres_per_job={"gres/gpu": 2},
        max_jobs=5,
        max_submit_jobs=9,
        max_wall_min=60,
        grp_jobs=20,
        grp_submit_jobs=30,
    )
    member = Association(
        account=below, user=scene.user, shares=3, qos=frozenset({"batch"}), default_qos="batch"
    )
    scene.slurm.put_associations([plain, full, member])

    def put(account: str, user: str = "") -> Association:
        found = scene.slurm.accounting_state().associations
        return next(each for each in found if (each.account, each.user) == (account, user))

    assert put(below) == full
    assert put(below, scene.user).shares == 3
    accounts = {account.name: account for account in scene.slurm.accounting_state().accounts}
    assert accounts[below] == Account(name=below, parent=top, description="b", organization="o")

    bare = Association(account=below, parent="root", qos=frozenset({"training"}), shares=1)
    scene.slurm.put_associations([bare])
    assert put(below) == bare  # every limit that is absent is gone, the parent is another

    scene.slurm.remove_association(account=below, user=scene.user)
    scene.slurm.remove_association(account=below)
    scene.slurm.remove_association(account=top)
    left = {each.account for each in scene.slurm.accounting_state().associations}
    assert not left & {below, top}


def test_a_qos_comes_back_as_it_was_put_and_is_cleared(scene: Scene) -> None:
    name = f"{scene.account}-qos"
    full = Qos(
        name=name,
        description="q",
        priority=5,
        preempt=frozenset({"batch"}),
        preempt_mode="REQUEUE",
        preempt_exempt_s=60,
        grace_s=10,
        usage_factor=0.5,
        max_wall_min=30,
        grp_tres={"gres/gpu:h100": 4},
        flags=frozenset({"DENY_LIMIT"}),
    )
    scene.slurm.put_qos([full])

    def put() -> Qos:
        return next(each for each in scene.slurm.accounting_state().qos if each.name == name)

    assert put() == full
    bare = Qos(name=name, description="q")
    scene.slurm.put_qos([bare])
    assert put() == bare


def test_a_qos_is_removed_once_and_for_all(scene: Scene) -> None:
    name = f"{scene.account}-gone"
    scene.slurm.put_qos([Qos(name=name, description="q")])
    scene.slurm.remove_qos([name, f"{name}-never-was"])
    assert name not in {each.name for each in scene.slurm.accounting_state().qos}


def test_an_association_of_an_unknown_account_is_refused(scene: Scene) -> None:
    wrong = Association(account="no-such-account", user=scene.user)
    assert errno_of(lambda: scene.slurm.put_associations([wrong])) == Errno.INVALID_ACCOUNT


def test_what_counts_against_limits_is_slurmctlds_own_count(scene: Scene) -> None:
    spec = scene.spec(ends_with=None, tres_per_node="gres/gpu:h100:2")
    job_id = scene.slurm.submit(spec, user=scene.user).job_id
    scene.running(job_id)
    uses = {use.user: use for use in scene.slurm.uses([scene.account], user=scene.user)}
    assert uses.keys() == {"", scene.user}
    for use in uses.values():
        assert use.account == scene.account
        assert use.running_jobs >= 1
        assert use.submitted_jobs >= use.running_jobs
        assert use.used["gres/gpu:h100"] >= 2
    assert uses[""].parent == "root"
    assert uses[scene.user].parent == ""
    assert uses[""].running_jobs >= uses[scene.user].running_jobs
    scene.slurm.cancel(job_id, user=scene.user)


def test_an_account_that_is_not_there_has_no_use(scene: Scene) -> None:
    assert list(scene.slurm.uses(["no-such-account"], user=scene.user)) == []
    assert list(scene.slurm.uses([], user=scene.user)) == []


def test_a_token_that_slurm_did_not_give_is_nobodys(scene: Scene) -> None:
    for token in ("", "a.b.c", "x" * 10_000):
        with pytest.raises(Unauthenticated):
            scene.slurm.user_of_token(token)


def test_slurm_s_own_commands_run_for_a_user(scene: Scene) -> None:
    said = scene.slurm.command(["squeue", "--version"], user=scene.user, variables={"SQUEUE_SORT": "i"})
    assert said.exit_code == 0
    assert b"26.05" in said.stdout
