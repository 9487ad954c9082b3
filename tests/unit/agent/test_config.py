"""The agent's settings and its refusal to start without keys."""

from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import ValidationError

from bridge.agent.__main__ import main
from bridge.agent.config import AgentConfig, read_keys
from bridge.errors import InputError


@pytest.fixture
def keys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "slurm.key").write_bytes(b"s" * 32)
    (tmp_path / "jwt.key").write_bytes(b"j" * 32)
    monkeypatch.setenv("SLUICE_AGENT_SLURM_KEY", str(tmp_path / "slurm.key"))
    monkeypatch.setenv("SLUICE_AGENT_JWT_KEY", str(tmp_path / "jwt.key"))
    return tmp_path


def test_the_keys_are_read(keys: Path) -> None:
    assert read_keys(AgentConfig()) == b"j" * 32


@pytest.mark.parametrize("name", ["slurm.key", "jwt.key"])
def test_a_missing_key_is_one_sentence_with_its_path(keys: Path, name: str) -> None:
    (keys / name).unlink()
    with pytest.raises(InputError, match=name):
        read_keys(AgentConfig())


def test_an_empty_key_is_no_key(keys: Path) -> None:
    (keys / "jwt.key").write_bytes(b"")
    with pytest.raises(InputError, match="is empty"):
        read_keys(AgentConfig())


def test_without_keys_it_does_not_start(keys: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (keys / "jwt.key").unlink()
    assert main() == 1
    said = capsys.readouterr().err
    assert said.startswith("slurm-agent: ")
    assert len(said.splitlines()) == 1


def test_a_wrong_setting_is_one_sentence(
    keys: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SLUICE_AGENT_NATIVE_WORKERS", "none")
    assert main() == 1
    assert "SLUICE_AGENT_NATIVE_WORKERS" in capsys.readouterr().err


def test_workers_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLUICE_AGENT_NATIVE_WORKERS", "0")
    with pytest.raises(ValidationError):
        AgentConfig()
