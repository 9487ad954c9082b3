"""Asks real sbatch inside the oracle's container, as an ordinary user: ``python3 ask.py < cases > answers``.

Plain Python of the container: nothing of ours is imported. A case is ``{name, script (latin-1), arguments,
variables, stdin}``; an answer ``{asked_at, exit_code, words, sent}``, one job description a component.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

HOME = Path("/home/ada")
SENT = Path("/tmp/sent.jsonl")
BASE = {
    "HOME": str(HOME),
    "USER": "ada",
    "LOGNAME": "ada",
    "SHELL": "/bin/bash",
    "PATH": "/usr/local/bin:/usr/bin:/bin",
}
AS_USER = ["setpriv", "--reuid", "2001", "--regid", "2001", "--clear-groups"]


def ask(case: dict[str, Any]) -> dict[str, Any]:
    """Submit one case and return what sbatch said and sent."""
    script = case["script"].encode("latin-1")
    file = HOME / "scripts" / case["name"]
    file.write_bytes(script)
    SENT.write_text("")
    argv = [*AS_USER, "sbatch", *case.get("arguments", []), *([] if case.get("stdin") else [str(file)])]
    asked_at = int(time.time())
    done = subprocess.run(
        argv,
        input=script if case.get("stdin") else b"",
        capture_output=True,
        cwd=HOME,
        env={**BASE, **case.get("variables", {})},
        timeout=60,
        check=False,
    )
    file.unlink()
    sent = [json.loads(line) for line in SENT.read_text().splitlines()]
    return {
        "asked_at": asked_at,
        "exit_code": done.returncode,
        "words": done.stderr.decode("utf-8", "replace").rstrip("\n"),
        "sent": sent,
        "out": done.stdout.decode("utf-8", "replace").strip(),
    }


def main() -> None:
    """Answer all cases."""
    (HOME / "scripts").mkdir(exist_ok=True)
    SENT.touch()
    os.chmod(SENT, 0o666)  # noqa: PTH101 -- slurmctld appends to it
    json.dump([ask(case) for case in json.load(sys.stdin)], sys.stdout)


if __name__ == "__main__":
    main()
