"""Real sbatch as an oracle: a container with slurmctld alone, whose job_submit.lua writes down what it gets.

``python -m tests.integration.sbatch_oracle.oracle IMAGE`` asks all recorded cases afresh and writes
`tests/data/sbatch/{cases,generated}.jsonl`.
"""

from __future__ import annotations

import json
import subprocess
import sys
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from bridge.wellknown import LABEL_PART, LABEL_STACK
from tests.support.stack import run
from tests.support.waiting import wait_for
from tests.unit.sbatch.description import CALLER, HOST, variables_of
from tests.unit.sbatch.generator import Case, cases, het_jobs, structures

HERE: Final = Path(__file__).parent
DATA: Final = HERE.parents[1] / "data" / "sbatch"
_NOT_SET: Final = (0xFFFFFFFE, 0xFFFE)
_ZERO_IS_NOT_SET: Final = ("begin_time", "contiguous", "mail_type")
_START: Final = """
useradd --create-home --uid 2001 --shell /bin/bash ada
head -c 1024 /dev/urandom > /etc/slurm/slurm.key
chmod 600 /etc/slurm/slurm.key && chown slurm /etc/slurm/slurm.key
install -d -o slurm /run/slurm /run/slurmctld /var/spool/slurmctld
setpriv --reuid slurm --regid slurm --clear-groups slurmctld
"""

_FILES: Final = (("slurm.conf", "/etc/slurm"), ("job_submit.lua", "/etc/slurm"), ("ask.py", "/root"))

Answer = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Oracle:
    """A running container with sbatch and a controller that takes no job."""

    container: str

    def ask(self, asked: Sequence[Case]) -> list[Answer]:
        """Return real sbatch's answers, in the form of the recorded ones."""
        sent = [
            {
                "name": case.name,
                "script": case.script.decode("latin-1"),
                "arguments": case.arguments,
                "variables": {**CALLER, **case.variables},
                "stdin": case.stdin,
            }
            for case in asked
        ]
        said = run(
            ["docker", "exec", "-i", self.container, "python3", "/root/ask.py"],
            stdin=json.dumps(sent),
            timeout_s=30 + len(asked),
        )
        return [_recorded(case, answer) for case, answer in zip(asked, json.loads(said.stdout), strict=True)]


def _recorded(case: Case, answer: Answer) -> Answer:
    row: Answer = {"name": case.name, "script": case.script.decode("latin-1")}
    row |= {"arguments": case.arguments} if case.arguments else {}
    row |= {"variables": case.variables} if case.variables else {}
    row |= {"stdin": True} if case.stdin else {}
    row |= {"asked_at": answer["asked_at"]}
    if not answer["sent"]:
        return {**row, "exit_code": answer["exit_code"], "words": answer["words"]}
    leader, *others = map(_said, answer["sent"])
    row |= {"exit_code": 0, "sent": leader}
    row |= {"others": others} if others else {}
    return {**row, "taken": True} if answer["exit_code"] == 0 else row


def _said(sent: Answer) -> Answer:
    """Leave out what was not said; text comes from Lua byte by byte."""
    found: Answer = {}
    for name, value in sent.items():
        if isinstance(value, str):
            found[name] = value.encode("latin-1").decode()
        elif name != "priority" and not _unset(name, value):
            found[name] = value
    if sent.get("priority") == 0:
        found["hold"] = True
    environment = {name: text.encode("latin-1").decode() for name, text in sent["environment"].items()}
    return {**found, "environment": dict(sorted(environment.items()))}


def _unset(name: str, value: int) -> bool:
    return value in _NOT_SET or (value == 0 and name in _ZERO_IS_NOT_SET)


@contextmanager
def oracle(image: str, stack: str = "sluice-oracle") -> Iterator[Oracle]:
    """Start the oracle from an image with Slurm in it; remove it at the end."""
    name = f"{stack}-oracle-{uuid.uuid4().hex[:8]}"
    labels = [f"--label={LABEL_STACK}={stack}", f"--label={LABEL_PART}=oracle"]
    as_root = ["--user=0", "--entrypoint=sleep", f"--hostname={HOST}", f"--name={name}"]
    run(["docker", "run", "--detach", "--rm", *labels, *as_root, image, "infinity"])
    try:
        for file, folder in _FILES:
            run(["docker", "cp", str(HERE / file), f"{name}:{folder}/"])
        run(["docker", "exec", name, "sh", "-ec", _START])
        ping = ["docker", "exec", name, "scontrol", "ping"]
        wait_for(lambda: "UP" in run(ping, check=False).stdout, "the oracle's slurmctld answers")
        yield Oracle(name)
    finally:
        subprocess.run(["docker", "rm", "--force", name], capture_output=True, check=False)


def hand_made() -> list[Case]:
    """Return the hand-made cases."""
    scripts = sorted((DATA / "scripts").glob("*.sbatch"))
    return [Case(file.name, file.read_bytes(), variables=variables_of(file.name)) for file in scripts]


def _record(image: str) -> None:
    with oracle(image) as asked:
        by_hand = asked.ask(hand_made())
        generated = asked.ask([*cases(11, 300), *structures(11, 200), *het_jobs(11, 100)])
    for answer in by_hand:
        del answer["script"]
        answer.pop("variables", None)
    for file, answers in (("cases", by_hand), ("generated", generated)):
        (DATA / f"{file}.jsonl").write_text("".join(f"{json.dumps(answer)}\n" for answer in answers))


if __name__ == "__main__":
    _record(sys.argv[1])
