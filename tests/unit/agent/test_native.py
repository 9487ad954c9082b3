"""The pool of children: deadlines, deaths, replacements. The child is a double; no Slurm is near."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from bridge.agent.native import NativePool
from bridge.errors import NotFound, OutcomeUnknown, SlurmRefused, Unavailable

DOUBLE = "tests.unit.agent.native_double"


@pytest.fixture(autouse=True)
def path(monkeypatch: pytest.MonkeyPatch, pytestconfig: pytest.Config) -> None:
    monkeypatch.setenv("PYTHONPATH", str(pytestconfig.rootpath))


@pytest.fixture
def pool() -> Iterator[NativePool]:
    pool = NativePool(1, module=DOUBLE)
    yield pool
    pool.close()


def pid(pool: NativePool) -> int:
    done, _ = pool.call("pid", {}, deadline_s=10, write=False)
    return int(done)


def test_one_child_serves_many_calls(pool: NativePool) -> None:
    assert pid(pool) == pid(pool) != os.getpid()
    assert (pool.version, pool.restarts) == ("double", 0)


def test_what_slurm_says_beside_it_comes_along(pool: NativePool) -> None:
    assert pool.call("pid", {}, deadline_s=10, write=False)[1] == ["beside it"]


@pytest.mark.parametrize(("write", "kind"), [(True, OutcomeUnknown), (False, Unavailable)])
def test_a_child_that_dies_is_replaced(pool: NativePool, write: bool, kind: type[Exception]) -> None:
    first = pid(pool)
    with pytest.raises(kind, match="ended in the middle") as lost:
        pool.call("die", {}, deadline_s=10, write=write)
    assert type(lost.value) is kind
    assert pid(pool) != first
    assert pool.restarts == 1


@pytest.mark.parametrize(("write", "kind"), [(True, OutcomeUnknown), (False, Unavailable)])
def test_a_child_that_is_late_is_killed(pool: NativePool, write: bool, kind: type[Exception]) -> None:
    first = pid(pool)
    with pytest.raises(kind, match="no answer in time"):
        pool.call("sleep", {"seconds": 60}, deadline_s=0.2, write=write)
    assert pid(pool) != first
    with pytest.raises(ProcessLookupError):
        os.kill(first, 0)


def test_a_child_that_died_while_idle_costs_the_next_call_nothing(pool: NativePool) -> None:
    first = pid(pool)
    os.kill(first, 9)
    os.waitid(os.P_PID, first, os.WEXITED | os.WNOWAIT)
    assert pid(pool) != first


def test_a_refusal_has_the_sentence_before_slurms_words(pool: NativePool) -> None:
    with pytest.raises(SlurmRefused, match=r"^ask fewer GPUs \(Slurm's words\)$") as refused:
        pool.call("refuse", {"errno": 2072, "said": ["ask fewer GPUs"]}, deadline_s=10, write=True)
    assert refused.value.errno == 2072
    with pytest.raises(NotFound):
        pool.call("refuse", {"errno": 2017, "said": []}, deadline_s=10, write=False)


def test_all_workers_busy_is_unavailable_and_nothing_was_sent(pool: NativePool) -> None:
    pool._idle.get()
    with pytest.raises(Unavailable, match="all native workers") as busy:
        pool.call("pid", {}, deadline_s=0.05, write=True)
    assert type(busy.value) is Unavailable
    assert busy.value.details["part"] == "native"


def test_a_child_that_cannot_start_says_why(pool: NativePool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LANG", "NATIVE_DOUBLE_FAILS")
    with pytest.raises(Unavailable, match=r"slurm.conf is missing") as failed:
        pid(pool)
    assert failed.value.details["part"] == "native"
    monkeypatch.setenv("LANG", "C.UTF-8")
    assert pid(pool)
