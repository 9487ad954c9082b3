"""Commands out of the documents: the ``sh`` blocks of a Markdown file, as a reader would paste them."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Final

from tests.support.stack import CHECKOUT, STACK_NAME, Ran, run

FENCE: Final = re.compile(r"^```(\S*)[^\n]*\n(.*?)^```$", re.MULTILINE | re.DOTALL)

ELSEWHERE: Final = frozenset({"./sluice test", "./sluice down"})
"""Lines that a run can't do to itself: it is `./sluice test`, and its last stage is `down`."""

ON_A_CLUSTER: Final = frozenset({"install-on-kubernetes.md"})
"""Documents for a Kubernetes cluster of the reader's own; the test stack has none."""


def documents() -> list[Path]:
    """The files whose commands are run: README, tutorials, how-tos."""
    found = [
        CHECKOUT / "README.md",
        *sorted((CHECKOUT / "docs" / "tutorial").glob("*.md")),
        *sorted((CHECKOUT / "docs" / "howto").glob("*.md")),
    ]
    return [path for path in found if path.name not in ON_A_CLUSTER]


def commands(text: str) -> str:
    """Join the ``sh`` blocks to one script, without the lines of `ELSEWHERE`."""
    blocks = [body for kind, body in FENCE.findall(text) if kind == "sh"]
    lines = [line for block in blocks for line in block.splitlines() if line.strip() not in ELSEWHERE]
    return "\n".join(lines) + "\n"


def run_commands(script: str, *, folder: Path, timeout_s: float = 300) -> Ran:
    """Run a document's commands in a folder that looks like a checkout, with a home of its own.

    `./sluice` and ``examples`` there are links to the checkout's, so that files which a document writes
    don't land in it. The stack is the test stack.
    """
    for name in ("sluice", "examples"):
        (folder / name).symlink_to(CHECKOUT / name)
    home = folder / "home"
    home.mkdir()
    path = folder / "commands.sh"
    path.write_text(f"set -euo pipefail\n{script}", encoding="utf-8")
    keep = ("PATH", "LANG", "TERM", "DOCKER_HOST", "SSL_CERT_FILE", "SSL_CERT_DIR", "SLUICE_PACE")
    kept = {name: value for name, value in os.environ.items() if name in keep}
    variables = {**kept, "HOME": str(home), "SLUICE_STACK": STACK_NAME, "COLUMNS": "100"}
    assignments = [f"{name}={value}" for name, value in variables.items()]
    return run(
        ["env", "-i", "-C", str(folder), *assignments, "bash", "-x", str(path)],
        check=False,
        timeout_s=timeout_s,
    )
