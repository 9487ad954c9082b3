from dataclasses import replace

import pytest

from bridge.job import BaseState
from gateway.ledger.amounts import Payer, Rates
from gateway.ledger.charge import RunKey, charge_of, door_of, gpus_by_flavor
from tests.unit.ledger.rows import at, run, seconds


def test_a_run_is_charged_what_was_allocated_from_start_to_end() -> None:
    charge = charge_of(run(tres_requested={"cpu": 64, "gres/gpu": 8}))
    assert charge is not None
    assert charge.key == RunKey("sluice", "1")
    assert (charge.start_s, charge.end_s) == (seconds("11-03 10:00"), seconds("11-03 11:00"))
    (line,) = charge.lines
    assert line.payer == Payer("astro", "ada", "training", "h100", "sbatch")
    assert line.rates == Rates(gpus=2, cpus=8, memory_mib=16384, nodes=1, billing=208)
    assert line.runs == 1


def test_a_run_without_end_has_no_end_yet() -> None:
    charge = charge_of(run(end=None, state=BaseState.RUNNING))
    assert charge is not None
    assert charge.end_s is None


def test_a_job_that_waits_or_was_cancelled_before_its_start_is_not_charged() -> None:
    assert charge_of(run(None, None, state=BaseState.PENDING, tres="")) is None
    assert charge_of(run(None, "11-03 11:00", state=BaseState.CANCELLED, tres="")) is None
    assert charge_of(run("11-03 11:00", "11-03 11:00", state=BaseState.CANCELLED, tres="")) is None


def test_a_pending_row_that_kept_the_tres_of_the_run_before_its_requeue_is_not_charged() -> None:
    assert charge_of(run(None, None, state=BaseState.PENDING)) is None
    assert charge_of(run("11-03 10:00", None, state=BaseState.PENDING)) is None


@pytest.mark.parametrize("flag", ["REQUEUED", "RESIZING"])
def test_a_run_that_ended_by_requeue_or_resize_is_charged_like_any(flag: str) -> None:
    # slurmdbd keeps such rows as state 1024 and 8192, whose base state reads as PENDING.
    charge = charge_of(run(state=BaseState.PENDING, flags=(flag,)))
    assert charge is not None
    assert charge.end_s == seconds("11-03 11:00")


def test_a_clock_set_back_makes_no_negative_time() -> None:
    charge = charge_of(run("11-03 11:00", "11-03 10:00"))
    assert charge is not None
    assert charge.end_s == charge.start_s


@pytest.mark.parametrize(("given", "kept"), [(-5, 0), (600, 600), (999_999, 3600)])
def test_suspended_time_is_never_more_than_the_run(given: int, kept: int) -> None:
    charge = charge_of(run(suspended_s=given))
    assert charge is not None
    assert charge.suspended_s == kept


@pytest.mark.parametrize("eligible", [None, at("11-01 00:00")])
def test_when_a_job_became_eligible_does_not_matter(eligible: object) -> None:
    # 0 and 4294967295 in slurmdbd (the rest of a throttled array) arrive as None.
    assert charge_of(run(eligible_at=eligible)) == charge_of(run())


@pytest.mark.parametrize(
    ("qos", "job_class"),
    [
        ("production-astro", "production"),
        ("training", "training"),
        ("batch", "batch"),
        ("normal", ""),
        ("", ""),
    ],
)
def test_the_class_is_the_qos(qos: str, job_class: str) -> None:
    charge = charge_of(run(qos=qos))
    assert charge is not None
    assert charge.lines[0].payer.job_class == job_class


@pytest.mark.parametrize(
    ("comment", "door"),
    [
        ("", "sbatch"),
        ("sluice:http:01K8ZZZZZZZZZZZZZZZZZZZZZZ", "http"),
        ("sluice:pod:0b1c", "pod"),
        ("sluice:facade:0b1c", "facade"),
        ("sluice:teapot:1", "sbatch"),
        ("somebody wrote sluice:http:1", "sbatch"),
    ],
)
def test_the_door_is_what_sluice_wrote_into_the_job(comment: str, door: str) -> None:
    assert door_of(comment) == door


@pytest.mark.parametrize(
    ("tres", "flavors"),
    [
        ({"gres/gpu": 4, "gres/gpu:a100": 4}, {"a100": 4}),
        ({"gres/gpu:a100": 4}, {"a100": 4}),
        ({"gres/gpu": 3, "gres/gpu:a100": 1, "gres/gpu:h100": 2}, {"h100": 2, "a100": 1}),
        ({"gres/gpu": 2}, {"mix": 2}),
        ({"gres/gpu": 5, "gres/gpu:a100": 2}, {"mix": 3, "a100": 2}),
        ({"gres/gpu": 2, "gres/gpu:a100": 2, "gres/gpu:h100": 0}, {"a100": 2}),
        ({"cpu": 4, "gres/gpu": 0}, {}),
    ],
)
def test_gpus_are_counted_by_the_typed_tres_and_the_rest_by_the_partition(
    tres: dict[str, int], flavors: dict[str, int]
) -> None:
    assert list(gpus_by_flavor(tres, "mix").items()) == list(flavors.items())


def test_a_run_with_two_kinds_of_gpu_is_one_run_on_two_lines() -> None:
    charge = charge_of(run(tres="cpu=8,mem=1G,node=1,billing=9,gres/gpu=3,gres/gpu:a100=1,gres/gpu:h100=2"))
    assert charge is not None
    main, other = charge.lines
    assert (main.payer.flavor, main.runs, main.rates.gpus, main.rates.cpus) == ("h100", 1, 2, 8)
    assert (other.payer.flavor, other.runs, other.rates) == ("a100", 0, Rates(gpus=1))


def test_a_run_without_gpus_has_no_flavor() -> None:
    charge = charge_of(run(tres="cpu=8,mem=1G,node=1,billing=8"))
    assert charge is not None
    assert charge.lines[0].payer.flavor == ""


def test_array_tasks_and_het_components_are_runs_of_their_own() -> None:
    task = charge_of(replace(run(index=2), array_job_id=101, array_task_id=3))
    part = charge_of(replace(run(index=3), account="robotics", het_job_id=101, het_offset=1))
    assert task is not None and part is not None
    assert task.key != part.key
    assert part.lines[0].payer.tenant == "robotics"
