"""A command line whose HTTP goes to a function of the test, and a local stack in a folder."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import pytest
import typer
import typer.testing

from bridge.errors import SluiceError
from gateway.cli import env, jobs, lint, prices, report, session, submit, tenants

Answer = Callable[[httpx.Request], httpx.Response]


@dataclass
class Door:
    """What the command line asked, and what it is answered."""

    answer: Answer = lambda request: httpx.Response(500)
    asked: list[httpx.Request] = field(default_factory=list)

    def handle(self, request: httpx.Request) -> httpx.Response:
        request.read()
        self.asked.append(request)
        return self.answer(request)

    def always(self, status: int, body: object) -> None:
        """Answer everything with this JSON."""
        self.answer = lambda request: httpx.Response(status, json=body)


@pytest.fixture
def door(monkeypatch: pytest.MonkeyPatch) -> Door:
    made = Door()
    monkeypatch.setattr(httpx.HTTPTransport, "handle_request", made.handle)  # bound: no transport
    return made


@pytest.fixture
def local_stack(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    state = tmp_path / ".sluice" / "sluice"
    state.mkdir(parents=True)
    (state / "stack.json").write_text(json.dumps({"url": "http://127.0.0.1:8080"}))
    (state / "keys.json").write_text(json.dumps({"ada": "sluice_a", "chen": "sluice_c"}))
    monkeypatch.setattr(session, "CHECKOUT", tmp_path)
    for name in ("SLUICE_URL", "SLUICE_API_KEY", "SLUICE_STACK"):
        monkeypatch.delenv(name, raising=False)
    return state


Sluice = Callable[..., "Said"]


@dataclass(frozen=True)
class Said:
    code: int
    out: str
    err: str
    error: SluiceError | None


@pytest.fixture
def sluice(local_stack: Path, monkeypatch: pytest.MonkeyPatch) -> Sluice:
    """``sluice("jobs", "--json")`` in this process, 100 columns wide."""
    monkeypatch.setenv("COLUMNS", "100")
    app = typer.Typer(pretty_exceptions_enable=False)
    for module in (submit, lint, jobs, report, prices, tenants, env):
        module.register(app)

    def call(*arguments: str, stdin: bytes = b"") -> Said:
        result = typer.testing.CliRunner().invoke(app, list(arguments), input=stdin)
        error = result.exception
        if error is not None and not isinstance(error, (SluiceError, SystemExit)):
            raise error
        known = error if isinstance(error, SluiceError) else None
        return Said(result.exit_code, result.stdout, result.stderr, known)

    return call


def job_json(number: int = 17, **changes: Any) -> dict[str, Any]:
    """A job as the gateway shows it."""
    whole: dict[str, Any] = {
        "id": "job_01KBB3T5J8Y6Q6W6ZB5C5Q6X7R",
        "cluster": "sluice",
        "job_id": number,
        "array_job_id": None,
        "array_task_id": None,
        "name": "train",
        "tenant": "genomics",
        "user": "chen",
        "class": "batch",
        "state": "COMPLETED",
        "flags": [],
        "reason": "None",
        "exit_code": 0,
        "signal": None,
        "submitted_at": "2026-11-30T11:00:00Z",
        "started_at": "2026-11-30T11:00:05Z",
        "ended_at": "2026-11-30T11:03:05Z",
        "nodes": "gpu[1-2]",
        "gpus": 4,
        "door": "http",
        "work_dir": "/home/chen",
        "stdout": "/home/chen/slurm-17.out",
        "stderr": "/home/chen/slurm-17.out",
        "messages": [],
    }
    return {**whole, **changes}
