"""Commands on behalf of a user: with the user's token and nothing else, bounded in time and size."""

from __future__ import annotations

from pathlib import Path

import pytest

from bridge.agent import user_commands
from bridge.agent.user_commands import UserCommands
from bridge.errors import InputError, OutcomeUnknown, Unavailable


def commands(folder: Path, name: str, script: str, *, deadline_s: float = 30) -> UserCommands:
    program = folder / name
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    return UserCommands(
        lambda user, _: f"token-of-{user}", deadline_s=deadline_s, path=f"{folder}:/usr/bin:/bin"
    )


def test_both_outputs_and_the_exit_status_come_back(tmp_path: Path) -> None:
    said = commands(tmp_path, "squeue", 'echo "$@"; echo err >&2; exit 3').run(
        ["squeue", "-h"], user="ann", variables={}
    )
    assert (said.exit_code, said.stdout, said.stderr) == (3, b"--noheader\n", b"err\n")


def test_it_has_the_user_s_token_and_only_variables_that_are_options(tmp_path: Path) -> None:
    given = {
        "SQUEUE_FORMAT": "%i",
        "SLURM_CONF": "/tmp/evil",
        "LD_PRELOAD": "/tmp/evil.so",
        "SLURM_JWT": "other",
    }
    said = commands(tmp_path, "squeue", "env").run(["squeue"], user="ann", variables=given)
    variables = dict(line.split("=", 1) for line in said.stdout.decode().splitlines())
    assert variables["SLURM_JWT"] == "token-of-ann"
    assert variables["SQUEUE_FORMAT"] == "%i"
    assert variables.get("SLURM_CONF") != "/tmp/evil"
    assert "LD_PRELOAD" not in variables


def test_it_writes_no_file(tmp_path: Path) -> None:
    said = commands(tmp_path, "squeue", f"echo x > {tmp_path}/file; cat {tmp_path}/file").run(
        ["squeue"], user="ann", variables={}
    )
    assert b"x" not in said.stdout


def test_too_much_output_ends_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(user_commands, "LARGEST_BYTES", 1000)
    with pytest.raises(InputError, match="1000 bytes"):
        commands(tmp_path, "squeue", "exec yes").run(["squeue"], user="ann", variables={})


@pytest.mark.parametrize(("name", "kind"), [("squeue", Unavailable), ("scancel", OutcomeUnknown)])
def test_a_late_one_is_ended(tmp_path: Path, name: str, kind: type[Unavailable]) -> None:
    with pytest.raises(Unavailable) as late:
        commands(tmp_path, name, "exec sleep 60", deadline_s=0.05).run([name, "1"], user="ann", variables={})
    assert type(late.value) is kind
