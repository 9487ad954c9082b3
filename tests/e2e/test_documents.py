"""Every command that a document shows is run as it stands, on the test stack."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.documents import commands, documents, run_commands
from tests.support.stack import CHECKOUT, GatewayClient, Stack
from tests.support.waiting import wait_for

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(360)]


@pytest.mark.parametrize("document", documents(), ids=lambda path: str(path.relative_to(CHECKOUT)))
def test_the_commands_of_a_document_work(stack: Stack, document: Path, tmp_path: Path) -> None:
    script = commands(document.read_text(encoding="utf-8"))
    assert script.strip(), "a tutorial or how-to without a command"
    ran = run_commands(script, folder=tmp_path)
    assert ran.returncode == 0, ran.text
    assert "Traceback" not in ran.text


def test_a_newcomer_sees_both_jobs_of_the_readme_in_the_report(
    stack: Stack, client: Callable[[str], GatewayClient]
) -> None:
    """Runs after the README's own commands; the rows are those of its two hello.sh."""

    def doors() -> bool:
        rows = client("ada").report(by="tenant,user,door")
        seen = {(row["user"], row["door"]) for row in rows if row["gpu_seconds"] >= 5}
        return {("ada", "http"), ("bela", "sbatch")} <= seen

    wait_for(doors, "ada's job by http and bela's by sbatch are in the report", deadline_s=90)
