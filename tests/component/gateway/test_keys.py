"""The command that makes keys."""

import json
from pathlib import Path

import pytest

from gateway import keys
from tests.support.database import database


@pytest.fixture(autouse=True)
def _database(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLUICE_GATEWAY_DATABASE_URL", database(tmp_path))


def said(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert keys.main(arguments) == 0
    return capsys.readouterr().out.strip()


def test_create_prints_the_key_alone_and_the_store_never_has_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    key = said(capsys, "create", "--user", "ada", "--label", "x")
    assert key.startswith("sluice_")
    assert " " not in key
    secret = key.split("_", 2)[2]
    assert not any(secret.encode() in path.read_bytes() for path in tmp_path.iterdir())
    listed = json.loads(said(capsys, "list"))
    assert [(entry["user"], entry["label"], entry["valid"]) for entry in listed] == [("ada", "x", True)]
    assert secret not in json.dumps(listed)


def test_ensure_makes_only_what_is_missing(capsys: pytest.CaptureFixture[str]) -> None:
    first = json.loads(said(capsys, "ensure", "--user", "ada", "--user", "bela"))
    assert set(first) == {"ada", "bela"}
    assert json.loads(said(capsys, "ensure", "--user", "ada", "--user", "chen")).keys() == {"chen"}
    renewed = json.loads(said(capsys, "ensure", "--user", "ada", "--renew"))
    assert renewed["ada"] != first["ada"]
    listed = json.loads(said(capsys, "list", "--user", "ada"))
    assert sorted(entry["valid"] for entry in listed) == [False, True]


def test_revoke_ends_a_key_and_names_one_that_is_not_there(capsys: pytest.CaptureFixture[str]) -> None:
    key = said(capsys, "create", "--user", "ada")
    said(capsys, "revoke", key.split("_")[1])
    assert json.loads(said(capsys, "list"))[0]["valid"] is False
    assert keys.main(["revoke", "nothing"]) == 1
    error = json.loads(capsys.readouterr().err)["error"]
    assert error["code"] == "not-found"
    assert "nothing" in error["message"]


def test_names_that_are_no_users_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert keys.main(["create", "--user", "a b"]) == 1
    assert json.loads(capsys.readouterr().err)["error"]["code"] == "invalid-input"
