"""Slurm's numbers to errors: total, and never by text."""

import pytest

from bridge.errors import NotFound, OutcomeUnknown, SlurmRefused, Unavailable
from bridge.slurm.errnos import ENDED, MAYBE_DONE, NOT_SENT, UNKNOWN_JOB, Errno, error_of


@pytest.mark.parametrize("errno", sorted(NOT_SENT))
@pytest.mark.parametrize("write", [True, False])
def test_not_sent_may_be_sent_again(errno: int, write: bool) -> None:
    assert type(error_of(errno, "words", write=write)) is Unavailable


@pytest.mark.parametrize("errno", sorted(MAYBE_DONE))
def test_a_lost_answer_of_a_write_is_unknown_of_a_read_unavailable(errno: int) -> None:
    assert type(error_of(errno, "words", write=True)) is OutcomeUnknown
    assert type(error_of(errno, "words", write=False)) is Unavailable


def test_an_unknown_job_is_not_found() -> None:
    assert isinstance(error_of(2017, "Invalid job id specified", write=True), NotFound)


@pytest.mark.parametrize("errno", [-1, 0, 2002, 2045, 2072, 999_999])
def test_anything_else_is_a_refusal_with_slurms_words_and_number(errno: int) -> None:
    error = error_of(errno, "Some words", write=True)
    assert isinstance(error, SlurmRefused)
    assert (error.message, error.errno) == ("Some words", errno)


def test_the_groups_do_not_overlap() -> None:
    groups = [NOT_SENT, MAYBE_DONE, UNKNOWN_JOB, ENDED]
    assert sum(map(len, groups)) == len(frozenset().union(*groups))
    assert set(Errno) >= set().union(*groups)
