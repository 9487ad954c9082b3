"""Slurm's state words and numbers: total, and nothing unknown passes as finished."""

import pytest

from bridge.errors import UnknownState
from bridge.job import BaseState, JobState
from bridge.slurm.states import (
    _BASE_WHEN_ONLY_FLAG,
    BASE_BY_NUMBER,
    FLAG_BY_BIT,
    from_accounting,
    from_number,
    from_words,
)


@pytest.mark.parametrize("number", BASE_BY_NUMBER)
@pytest.mark.parametrize("bit", FLAG_BY_BIT)
def test_words_and_numbers_agree(number: int, bit: int) -> None:
    words = from_words([str(BASE_BY_NUMBER[number]), FLAG_BY_BIT[bit]])
    assert from_number(number | 1 << bit) == words


def test_every_base_of_ours_but_unknown_is_slurms() -> None:
    assert set(BASE_BY_NUMBER.values()) == set(BaseState) - {BaseState.UNKNOWN}


def test_every_flag_has_a_base_of_its_own() -> None:
    assert set(_BASE_WHEN_ONLY_FLAG) == set(FLAG_BY_BIT.values())


@pytest.mark.parametrize("number", [12, 0xFF, 1 << 25, 1 << 31])
def test_an_unknown_number_alarms(number: int) -> None:
    with pytest.raises(UnknownState):
        from_number(number)


@pytest.mark.parametrize("words", [[], ["DONE"], ["RUNNING", "LEVITATING"]])
def test_unknown_words_alarm(words: list[str]) -> None:
    with pytest.raises(UnknownState):
        from_words(words)


@pytest.mark.parametrize(
    ("text", "state"),
    [
        ("CANCELLED by 20001", JobState(BaseState.CANCELLED)),
        ("OUT_OF_MEMORY", JobState(BaseState.OUT_OF_MEMORY)),
        ("REQUEUED", JobState(BaseState.PENDING, frozenset({"REQUEUED"}))),
        ("RESIZING", JobState(BaseState.RUNNING, frozenset({"RESIZING"}))),
    ],
)
def test_sacct_words(text: str, state: JobState) -> None:
    assert from_accounting(text) == state


def test_a_completing_job_holds_its_resources_and_is_not_finished() -> None:
    state = from_number(3 | 1 << 15)
    assert state.holds_resources
    assert not state.finished
