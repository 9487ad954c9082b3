"""Exit codes: every error has one, and scripts can tell them apart."""

from __future__ import annotations

import json

import pytest

from bridge import errors
from gateway.cli import exits
from gateway.cli.main import _say


def all_errors(base: type[errors.SluiceError] = errors.SluiceError) -> list[type[errors.SluiceError]]:
    return [base, *(found for child in base.__subclasses__() for found in all_errors(child))]


def test_every_error_but_the_root_has_a_code_of_its_own_kind() -> None:
    for kind in all_errors():
        # A state of Slurm that nobody knows is a fault of ours: INTERNAL is right.
        if kind not in (errors.SluiceError, errors.UnknownState) and kind.__module__ == errors.__name__:
            assert exits.code_of(kind("words")) != exits.INTERNAL, kind


def test_a_missing_part_is_told_from_a_missing_thing() -> None:
    assert exits.code_of(errors.Unavailable("words")) == 5
    assert exits.code_of(errors.OutcomeUnknown("words")) == 5
    assert exits.code_of(errors.NotFound("words")) == 3
    assert exits.code_of(errors.Denied("words")) == 4
    assert exits.code_of(errors.ScriptError("words")) == 2
    assert exits.code_of(errors.PolicyRefused("words")) == 1


def test_a_failed_step_shows_command_output_and_remedy(capsys: pytest.CaptureFixture[str]) -> None:
    error = errors.StepFailed(
        "image x could not be built", command="docker build .", tail="a\nb", remedy="try again"
    )
    _say(error, as_json=False)
    said = capsys.readouterr().err
    assert said == (
        "sluice: image x could not be built\n"
        "  the command: docker build .\n  | a\n  | b\n  what to do: try again\n"
    )


def test_a_single_fault_is_said_once_and_slurms_words_only_when_they_add_something(
    capsys: pytest.CaptureFixture[str],
) -> None:
    words = "sbatch: error: Batch script contains DOS line breaks\nsbatch: error: instead of UNIX ones."
    message = "Batch script contains DOS line breaks instead of UNIX ones."
    _say(errors.ScriptError(message, errors=[{"message": message}], slurm_words=words), as_json=False)
    _say(errors.SlurmRefused("no such QOS; leave it out", slurm_words="Invalid qos"), as_json=False)
    assert capsys.readouterr().err == (
        f"sluice: {message}\nsluice: no such QOS; leave it out\n  Slurm says: Invalid qos\n"
    )


def test_json_keeps_errors_on_standard_output(capsys: pytest.CaptureFixture[str]) -> None:
    _say(errors.NotFound("no job 7", job="7"), as_json=True)
    said = capsys.readouterr()
    assert json.loads(said.out) == {
        "error": {"code": "not-found", "message": "no job 7", "details": {"job": "7"}}
    }
    assert said.err == ""
