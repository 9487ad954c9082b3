"""``sluice tenants``: plans are shown and confirmed before anything is done."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bridge.errors import InputError
from tests.unit.cli.conftest import Said

STEP = {"action": "create", "kind": "account", "name": "astro", "detail": "", "drift": False}
DRIFT = {"action": "change", "kind": "association", "name": "bio", "detail": "shares 7 -> 1", "drift": True}
CHANGE = {"tenant": "astro", "file": "astro.yaml", "before": "name: astro\nweight: 1\n", "after": None}


class Bridge:
    """Stands for the bridge's command in its container."""

    def __init__(self) -> None:
        self.plan: list[dict[str, Any]] = [STEP]
        self.asked: list[list[str]] = []

    def run(self, command: list[str], **_more: Any) -> subprocess.CompletedProcess[str]:
        words = command[command.index("--wait") + 2 :]
        self.asked.append(words)
        answer: dict[str, Any] = {"plan": self.plan, "revision": 7, "changes": [CHANGE]}
        if words[0] == "history":
            answer = {"entries": [{**CHANGE, "at": "2026-11-30", "actor": "cli:x", "change": "remove"}]}
        elif words[0] == "show":
            answer = {"text": "name: astro # mine\n", "document": {"name": "astro"}, "revision": "ab"}
        return subprocess.CompletedProcess(command, 0, json.dumps(answer), "")

    @property
    def verbs(self) -> list[str]:
        return [words[0] for words in self.asked]


@pytest.fixture
def bridge(monkeypatch: pytest.MonkeyPatch) -> Bridge:
    made = Bridge()
    monkeypatch.setattr(subprocess, "run", made.run)
    return made


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "astro.yaml"
    path.write_text("name: astro\n")
    return str(path)


Sluice = Callable[..., Said]


def test_apply_shows_the_plan_and_does_nothing_without_a_yes(
    sluice: Sluice, bridge: Bridge, file: str
) -> None:
    said = sluice("tenants", "apply", file)
    assert isinstance(said.error, InputError)
    assert "add --yes" in said.error.message
    assert "astro" in said.out
    assert bridge.verbs == ["validate"]


def test_apply_with_yes_carries_out_the_plan_that_was_shown(
    sluice: Sluice, bridge: Bridge, file: str
) -> None:
    said = sluice("tenants", "apply", "--yes", "--prune", file)
    assert said.code == 0, said
    assert bridge.asked == [["validate", "--prune"], ["apply", "--prune", "--revision", "7"]]
    assert said.out.index("To do") < said.out.index("Done")


def test_an_empty_plan_asks_nothing(sluice: Sluice, bridge: Bridge, file: str) -> None:
    bridge.plan = []
    said = sluice("tenants", "apply", file)
    assert (said.code, bridge.verbs) == (0, ["validate"])
    assert "nothing to change" in said.out


def test_remove_shows_what_leaves_first(sluice: Sluice, bridge: Bridge) -> None:
    assert isinstance(sluice("tenants", "remove", "astro").error, InputError)
    assert sluice("tenants", "remove", "astro", "--yes").code == 0
    look, act = ["remove", "astro", "--dry-run"], ["remove", "astro", "--revision", "7"]
    assert bridge.asked == [look, look, act]


def test_diff_shows_texts_steps_and_what_somebody_changed_by_hand(
    sluice: Sluice, bridge: Bridge, file: str
) -> None:
    bridge.plan = [STEP, DRIFT]
    said = sluice("tenants", "diff", file)
    assert "-weight: 1\n" in said.out
    assert "+++ /dev/null" in said.out
    assert "drift" in said.out
    assert sluice("tenants", "diff").code == 0
    assert isinstance(sluice("tenants", "diff", "--prune").error, InputError)
    assert bridge.verbs == ["validate", "validate"]


def test_show_and_history(sluice: Sluice, bridge: Bridge) -> None:
    assert sluice("tenants", "show", "astro").out == "name: astro # mine\n"
    assert json.loads(sluice("tenants", "show", "astro", "--json").out) == {"name": "astro"}
    said = sluice("tenants", "history", "astro", "-n", "3").out
    assert said.startswith("2026-11-30  cli:x  remove astro\n")
    assert "    -weight: 1\n" in said
    assert bridge.asked[-1] == ["history", "astro", "--limit", "3"]
