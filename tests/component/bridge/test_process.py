"""The bridge around its tenants: operations, the loop, health, the shell command."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest

from bridge.compose import Loop
from bridge.config import BridgeConfig
from bridge.errors import InputError, TenantError, Unavailable
from bridge.health import Heartbeat
from bridge.serve import handlers
from bridge.tenants import command
from bridge.wire import Handler
from tests.unit.tenants.site import Site, examples


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return Site(tmp_path)


@pytest.fixture
def operations(site: Site) -> dict[str, Handler]:
    heartbeat = Heartbeat(stale_s=60)
    return dict(handlers(tenants=site.tenants, slurm=site.slurm, heartbeat=heartbeat))


def documents() -> list[dict[str, str]]:
    return [{"file": text.file, "text": text.text} for text in examples()]


def test_apply_answers_the_plan_and_tenants_shows_documents_states_and_flavors(
    operations: dict[str, Handler],
) -> None:
    done = operations["apply"]({"documents": documents(), "actor": "test"})
    made = {"action": "create", "kind": "document", "name": "astro", "detail": "", "drift": False}
    assert made in done["plan"]
    shown = operations["tenants"]({})
    assert [document["name"] for document in shown["documents"]] == ["astro", "genomics", "robotics"]
    assert shown["states"]["astro"]["applied"] is True
    assert shown["flavors"]["h100"]["healthy"] == 8
    before = shown["revision"]
    operations["remove"]({"name": "astro", "actor": "test"})
    assert operations["tenants"]({})["revision"] != before


def test_validate_answers_a_plan_or_the_faults(operations: dict[str, Handler]) -> None:
    assert operations["validate"]({"documents": documents()})["plan"]
    with pytest.raises(TenantError):
        operations["validate"]({"documents": [{"file": "x.yaml", "text": "name: 7"}]})


@pytest.mark.parametrize("args", [{}, {"documents": "x"}, {"documents": [{"file": "x"}]}, {"documents": [7]}])
def test_a_malformed_request_is_refused(operations: dict[str, Handler], args: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        operations["apply"](args | {"actor": "test"})


def test_apply_waits_for_slurm_as_long_as_it_was_told(site: Site, operations: dict[str, Handler]) -> None:
    site.slurm.fail_next("nodes", Unavailable("slurmctld does not answer"))
    assert operations["apply"]({"documents": documents(), "actor": "test", "wait_s": 30})["plan"]
    site.slurm.down.add("slurmctld")
    with pytest.raises(Unavailable):
        operations["apply"]({"documents": documents(), "actor": "test", "wait_s": 0})


def test_health_names_the_loop_and_every_part_of_slurm(operations: dict[str, Handler]) -> None:
    parts = {part["part"]: part["healthy"] for part in operations["health"]({})["parts"]}
    assert parts["tenants"] is False
    assert {"slurmctld", "slurmdbd"} <= set(parts)


def test_the_heartbeat_goes_stale_and_keeps_the_reason() -> None:
    now = [0.0]
    heartbeat = Heartbeat(stale_s=10, clock=lambda: now[0])
    heartbeat.good()
    heartbeat.bad("slurmdbd does not answer")
    assert heartbeat.health().healthy
    now[0] = 11
    assert not heartbeat.health().healthy
    assert "slurmdbd does not answer" in heartbeat.health().detail


def test_a_pass_that_fails_is_noted_and_the_next_one_goes_on(site: Site) -> None:
    heartbeat = Heartbeat(stale_s=60)
    loop = Loop(site.tenants, heartbeat, interval_s=1, retry_s=1)
    site.slurm.down.add("slurmctld")
    assert not loop.once()
    assert heartbeat.health().detail
    site.slurm.down.clear()
    site.slurm.fail_next("put_qos", ValueError("a bug"))  # type: ignore[arg-type]
    assert not loop.once()
    assert loop.once()
    assert heartbeat.health().healthy


def test_the_loop_ends_when_it_is_stopped(site: Site) -> None:
    loop = Loop(site.tenants, Heartbeat(stale_s=60), interval_s=60, retry_s=60)
    loop.stop()
    loop.run()


def test_configuration_comes_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLUICE_BRIDGE_INTERVAL_S", "2.5")
    monkeypatch.setenv("SLUICE_BRIDGE_TENANTS_DIR", "/somewhere")
    config = BridgeConfig()
    assert (config.interval_s, config.tenants_dir) == (2.5, Path("/somewhere"))
    assert config.job_submit.is_dir()


def answered(capsys: pytest.CaptureFixture[str]) -> Any:
    # The last line is the answer: in this process the bridge's log goes to the same place.
    return json.loads(capsys.readouterr().out.splitlines()[-1])


class _Client:
    def __init__(self, operations: dict[str, Handler]) -> None:
        self.operations = operations

    def call(self, op: str, *, timeout_s: float = 30.0, **args: Any) -> Any:
        return self.operations[op](args)


def test_the_command_prints_json_and_fails_with_the_error(
    operations: dict[str, Handler], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(command, "Client", lambda _socket, _part: _Client(operations))
    monkeypatch.setattr("sys.stdin", io.StringIO(json.dumps(documents())))
    assert command.main(["apply", "-"]) == 0
    assert answered(capsys)["plan"]
    assert command.main(["show"]) == 0
    assert answered(capsys)["states"]["astro"]["applied"]
    monkeypatch.setattr("sys.stdin", io.StringIO("not JSON"))
    assert command.main(["validate"]) == 1
    assert answered(capsys)["error"]["code"] == "invalid-input"
    assert command.main(["show", "astro"]) == 0
    assert answered(capsys)["text"].startswith("# yaml-language-server")
    assert command.main(["history", "astro", "--limit", "1"]) == 0
    (entry,) = answered(capsys)["entries"]
    assert (entry["actor"], entry["change"]) == ("administrator", "create")
    assert command.main(["remove", "astro", "--dry-run"]) == 0
    seen = answered(capsys)
    assert {"action": "remove", "kind": "document", "name": "astro"}.items() <= seen["plan"][0].items()
    assert command.main(["remove", "astro", "--revision", str(seen["revision"] + 1)]) == 1
    assert answered(capsys)["error"]["code"] == "outdated"
    assert command.main(["remove", "astro", "--revision", str(seen["revision"])]) == 0
    assert answered(capsys)["plan"]
    assert command.main(["remove", "nobody"]) == 1
    assert answered(capsys)["error"]["message"] == "there is no tenant nobody"
