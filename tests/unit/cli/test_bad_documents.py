"""Bad tenant documents on the command line: through the bridge's own command and operations."""

from __future__ import annotations

import io
import subprocess
from collections.abc import Callable
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import pytest

from bridge.health import Heartbeat
from bridge.serve import handlers
from bridge.tenants import command
from tests.support.bad_documents import BAD_DOCUMENTS
from tests.unit.cli.conftest import Said
from tests.unit.tenants.site import Site


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Site:
    made = Site(tmp_path / "bridge")
    operations = handlers(tenants=made.tenants, slurm=made.slurm, heartbeat=Heartbeat(stale_s=60))

    class InMemory:
        def __init__(self, *_: str) -> None: ...

        def call(self, op: str, *, timeout_s: float = 30.0, **args: Any) -> Any:
            del timeout_s
            return operations[op]({**args, "wait_s": 0})

    def run(words: list[str], *, input: str, **_: Any) -> subprocess.CompletedProcess[str]:
        out = io.StringIO()
        with redirect_stdout(out), monkeypatch.context() as patched:
            patched.setattr("sys.stdin", io.StringIO(input))
            code = command.main(words[words.index("bridge.tenants.command") + 1 :])
        return subprocess.CompletedProcess(words, code, out.getvalue(), "")

    monkeypatch.setattr(command, "Client", InMemory)
    monkeypatch.setattr(subprocess, "run", run)
    return made


@pytest.mark.parametrize("kind", BAD_DOCUMENTS)
def test_each_kind_of_bad_file_is_refused_with_the_reason(
    sluice: Callable[..., Said], site: Site, tmp_path: Path, kind: str
) -> None:
    body, words = BAD_DOCUMENTS[kind]
    path = tmp_path / "bad.yaml"
    path.write_bytes(body)
    said = sluice("tenants", "apply", "--yes", str(path))
    assert said.error is not None, said
    assert words in said.error.message
    assert "bad.yaml" in said.error.message
    assert "Traceback" not in said.out + said.err
    assert site.tenants.history() == ()
