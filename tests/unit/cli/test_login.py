"""What ``sluice login USER ...`` runs there."""

from __future__ import annotations

import pytest

from bridge.errors import InputError
from gateway.cli.login import _command


@pytest.mark.parametrize(
    ("given", "run"),
    [
        ([], []),
        (["squeue"], ["bash", "-lc", "squeue"]),
        (['echo "$HOME"'], ["bash", "-lc", 'echo "$HOME"']),
        (["sbatch", "--wrap", "hostname"], ["sbatch", "--wrap", "hostname"]),
        (["--", "sbatch", "-n", "2"], ["sbatch", "-n", "2"]),
        (["--", "squeue -u me"], ["bash", "-lc", "squeue -u me"]),
    ],
)
def test_one_word_is_a_line_for_the_shell(given: list[str], run: list[str]) -> None:
    assert _command(given) == run


def test_an_option_behind_the_user_is_refused_in_words() -> None:
    with pytest.raises(InputError, match="--stack stands behind the user"):
        _command(["--stack", "other"])
