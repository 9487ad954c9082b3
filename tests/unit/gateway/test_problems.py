"""The table of problems is total over the tree of errors."""

from http import HTTPStatus

import pytest

from bridge import errors
from bridge.errors import SluiceError, SlurmRefused
from gateway.problems import PROBLEMS, problem, status_of


def tree(base: type[SluiceError]) -> list[type[SluiceError]]:
    return [base, *(found for child in base.__subclasses__() for found in tree(child))]


@pytest.mark.parametrize("kind", tree(SluiceError), ids=lambda kind: kind.__name__)
def test_every_error_has_a_status_and_a_title(kind: type[SluiceError]) -> None:
    error = kind("what, where, how to mend it")
    answer = problem(error, instance="/v1/x")
    assert answer.status_code == PROBLEMS[kind.code][0]
    if answer.status_code == HTTPStatus.SERVICE_UNAVAILABLE:
        assert int(answer.headers["retry-after"]) > 0


def test_no_problem_is_without_an_error() -> None:
    assert {kind.code for kind in tree(SluiceError)} == set(PROBLEMS)


def test_codes_are_unique() -> None:
    codes = [kind.code for kind in tree(SluiceError)]
    assert len(codes) == len(set(codes))
    assert errors.by_code("key-reused") is errors.KeyReused


def test_a_full_queue_is_asked_again_later() -> None:
    assert status_of(SlurmRefused("full", errno=11)) == HTTPStatus.SERVICE_UNAVAILABLE
    assert status_of(SlurmRefused("no", errno=2050)) == HTTPStatus.UNPROCESSABLE_ENTITY
