"""Commands as streams: bounded in time, ended with their reader, their failures told."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from bridge.agent.commands import Commands
from bridge.errors import OutcomeUnknown, SlurmRefused, Unavailable


def shell(commands: Commands, script: str) -> Iterator[str]:
    return commands._stream(["sh", "-c", script], part="slurmdbd")


def test_output_comes_as_it_is_written() -> None:
    assert "".join(shell(Commands(), "printf 'a|b'; printf '\\303\\251'")) == "a|bé"


def test_a_letter_cut_in_two_is_one_letter() -> None:
    slow = "printf '\\303'; sleep 0.05; printf '\\251'"
    assert "".join(shell(Commands(), slow)) == "é"


def test_the_child_ends_with_its_reader() -> None:
    stream = shell(Commands(), "echo $$; exec sleep 60")
    pid = int(next(stream))
    stream.close()  # type: ignore[attr-defined]
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_a_failure_is_told_with_its_last_line() -> None:
    failing = "echo one >&2; echo 'Problem talking to the database' >&2; exit 1"
    with pytest.raises(Unavailable, match="Problem talking to the database") as failed:
        list(shell(Commands(), failing))
    assert failed.value.details["part"] == "slurmdbd"


def test_silence_is_bounded() -> None:
    with pytest.raises(Unavailable, match=r"gave nothing for 0.1 s"):
        list(shell(Commands(stream_s=0.1), "exec sleep 60"))


def test_a_setting_that_is_refused() -> None:
    with pytest.raises(SlurmRefused, match="sh: no such thing"):
        Commands()._run(["sh", "-c", "echo no such thing >&2; exit 1"], part="slurmctld")


def test_a_setting_without_an_answer_is_an_unknown_outcome() -> None:
    with pytest.raises(OutcomeUnknown):
        Commands(deadline_s=0.1)._run(["sleep", "60"], part="slurmctld")
