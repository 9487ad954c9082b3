"""``sluice keys`` and ``sluice whoami``: what they ask and what they print; who is asked as whom."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import typer
import typer.testing

from bridge.errors import Denied
from gateway.cli import audit, keys, session, whoami
from gateway.cli.session import open_session
from tests.unit.cli.conftest import Door

KEY: dict[str, Any] = {
    "id": "0123456789ab",
    "user": "ada",
    "label": "ci",
    "scopes": ["read", "tenant=astro"],
    "valid": True,
    "created_at": "2026-11-30T12:00:00Z",
    "expires_at": "2026-12-30T12:00:00Z",
    "revoked_at": None,
    "last_used_at": None,
}
ASTRO: dict[str, Any] = {
    "name": "astro",
    "role": "manager",
    "default": True,
    "classes": [
        {"name": "training", "default_walltime_min": 60, "max_walltime_min": 90},
        {"name": "batch", "default_walltime_min": 60, "max_walltime_min": None},
    ],
    "default_class": "training",
    "max_gpus_per_job": 4,
    "budget": "1000 GPU-hours",
    "guarantees": {"h100": 2},
    "gpus": {"h100": {"limit": 8, "used": 3, "left": 5}},
    "others": {"cpus": {"limit": None, "used": 9, "left": None}},
    "jobs": {
        "running": {"limit": None, "used": 2, "left": None},
        "submitted": {"limit": 5000, "used": 7, "left": 4993},
    },
    "own": {"submitted": {"limit": 1000, "used": 1, "left": 999}},
}
ME: dict[str, Any] = {
    "user": "ada",
    "admin": False,
    "credential": "slurm token",
    "scopes": ["read", "submit", "keys"],
    "default_tenant": "astro",
    "tenants": [ASTRO],
    "as_of": "2026-11-30T12:00:00Z",
    "missing": None,
}


@pytest.fixture
def call(local_stack: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    del local_stack
    monkeypatch.setenv("COLUMNS", "100")
    app = typer.Typer(pretty_exceptions_enable=False)
    for module in (keys, whoami, audit):
        module.register(app)
    return lambda *words: typer.testing.CliRunner().invoke(app, list(words))


def test_create_prints_the_key_alone(call: Any, door: Door) -> None:
    door.always(201, {**KEY, "key": "sluice_x"})
    said = call("keys", "create", "--label", "ci", "--scope", "read,tenant=astro", "--days", "30")
    assert said.stdout == "sluice_x\n"
    assert "shown this once" in said.stderr
    asked = json.loads(door.asked[0].content)
    assert (asked["label"], asked["scopes"], asked["user"]) == ("ci", ["read", "tenant=astro"], None)
    assert asked["expires_at"].endswith("+00:00")


def test_list_hides_those_that_have_ended(call: Any, door: Door) -> None:
    ended = {**KEY, "id": "ffffffffffff", "valid": False, "revoked_at": "2026-11-30T13:00:00Z"}
    door.always(200, {"items": [KEY, ended]})
    said = call("keys", "list").stdout
    assert "0123456789ab" in said
    assert "ffffffffffff" not in said
    assert "ffffffffffff" in call("keys", "list", "--all").stdout


def test_revoke_names_one_key(call: Any, door: Door) -> None:
    door.always(200, {**KEY, "valid": False})
    assert "is revoked" in call("keys", "revoke", "0123456789ab").stdout
    assert str(door.asked[0].url).endswith("/v1/keys/0123456789ab")


def test_whoami_says_what_a_researcher_wants_to_know(call: Any, door: Door) -> None:
    door.always(200, ME)
    said = call("whoami").stdout
    for words in (
        "ada (slurm token; may read, submit, keys)",
        "jobs that name no tenant (--account) are astro's",
        "astro: manager",
        "training (up to 1:30 h, the default), batch (no longest time)",
        "guaranteed to production: 2 h100",
        "one job: at most 4 GPUs",
        "budget of a month: 1000 GPU-hours",
    ):
        assert words in said
    rows = [line.split() for line in said.splitlines()]
    assert ["h100", "GPUs", "8", "3", "5"] in rows
    assert ["yours:", "jobs", "queued", "and", "running", "1000", "1", "999"] in rows
    assert json.loads(call("whoami", "--json").stdout) == ME


def test_whoami_of_nobodys_member_and_without_slurmctld(call: Any, door: Door) -> None:
    door.always(200, {**ME, "tenants": [], "default_tenant": None})
    assert "a member of no tenant" in call("whoami").stdout
    bare = {**ASTRO, "gpus": {}, "jobs": {}, "own": {}, "others": {}}
    door.always(200, {**ME, "tenants": [bare], "missing": "slurmctld does not answer"})
    assert "what is used now is not known: slurmctld does not answer" in call("whoami").stdout


def test_audit_shows_who_did_what_with_which_credential(call: Any, door: Door) -> None:
    entry = {
        "id": 7,
        "at": "2026-11-30T12:00:00.5Z",
        "user": "ada",
        "actor": "key 0123456789ab",
        "action": "job.cancel",
        "object": "job_1",
        "tenant": "astro",
        "before": {"state": "RUNNING", "words": "x" * 200},
        "after": {"state": "CANCELLED"},
    }
    door.always(200, {"items": [entry], "next_before": None})
    said = call("audit", "-n", "5").stdout
    for words in ("2026-11-30", "ada", "job.cancel", "job_1", "CANCELLED"):
        assert words in said
    assert "x" * 100 not in said.replace("\n", "")
    assert door.asked[0].url.params["limit"] == "5"
    door.always(200, {"items": [], "next_before": None})
    assert "nothing was written yet" in call("audit").stdout


class TestOnTheLoginNode:
    @pytest.fixture(autouse=True)
    def _node(self, local_stack: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        (local_stack / "stack.json").unlink()
        (tmp_path / "url").write_text("http://gateway:8080/\n")
        monkeypatch.setattr(session, "SITE_URL", tmp_path / "url")
        (tmp_path / "bin").mkdir()
        monkeypatch.setenv("PATH", str(tmp_path / "bin"))
        monkeypatch.delenv("SLUICE_TOKEN", raising=False)

    def scontrol(self, folder: Path, script: str) -> None:
        (folder / "bin" / "scontrol").write_text(f"#!/bin/sh\n{script}\n")
        (folder / "bin" / "scontrol").chmod(0o755)

    def test_slurm_says_who_one_is(self, tmp_path: Path) -> None:
        self.scontrol(tmp_path, '[ "$1" = token ] && echo "SLURM_JWT=a.b.c"')
        found = open_session("sluice", None)
        assert (found.url, found.key) == ("http://gateway:8080", "a.b.c")

    def test_a_key_or_a_token_of_ones_own_comes_first(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        self.scontrol(tmp_path, "exit 1")
        monkeypatch.setenv("SLUICE_TOKEN", "t.o.k")
        assert open_session("sluice", None).key == "t.o.k"
        monkeypatch.setenv("SLUICE_API_KEY", "sluice_k")
        assert open_session("sluice", None).key == "sluice_k"

    def test_why_slurm_gives_none_is_said(self, tmp_path: Path) -> None:
        self.scontrol(tmp_path, 'echo "scontrol: error: auth/jwt is off" >&2; exit 1')
        with pytest.raises(Denied, match=r"auth/jwt is off.*SLUICE_API_KEY"):
            open_session("sluice", None)


def test_an_address_without_key_or_token_is_said(
    local_stack: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    del local_stack
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("SLUICE_URL", "http://elsewhere")
    with pytest.raises(Denied, match="SLUICE_TOKEN"):
        open_session("sluice", None)
