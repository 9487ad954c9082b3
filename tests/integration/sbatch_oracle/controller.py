"""A controller without policy and without running nodes: real sbatch and our own way in, side by side.

One container of the agent's image with slurmctld, slurmrestd and the slurm-agent. Two kinds: ``ctl`` is
plain, ``rich`` has so many features, licences and resources that a script is refused only for its own faults.
"""

from __future__ import annotations

import json
import re
import subprocess
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from bridge.slurm.client import AgentClient
from bridge.wellknown import LABEL_PART, LABEL_STACK
from tests.support.agent_relay import agent_socket
from tests.support.stack import run
from tests.support.waiting import wait_for
from tests.unit.sbatch.description import CALLER, HOST
from tests.unit.sbatch.generator import Case

HERE: Final = Path(__file__).parent
_START: Final = """
useradd --create-home --uid 2001 --shell /bin/bash ada
cd /etc/slurm
head -c 1024 /dev/urandom > slurm.key; head -c 32 /dev/urandom > jwt_hs256.key
chmod 600 slurm.key jwt_hs256.key; chown slurm slurm.key jwt_hs256.key
install -d -o slurm /run/slurm /run/slurmctld /var/spool/slurmctld /run/sluice/agent
as_slurm="setpriv --reuid slurm --regid slurm --clear-groups"
$as_slurm slurmctld
until scontrol ping | grep -q UP; do sleep 0.1; done
SLURM_JWT=daemon SLURMRESTD_SECURITY=disable_unshare_sysv,disable_unshare_files \\
    setpriv --reuid slurmrestd --regid slurmrestd --clear-groups \\
    slurmrestd -a rest_auth/jwt 127.0.0.1:6820 >/tmp/rest.log 2>&1 &
SLUICE_AGENT_REST_URL=http://127.0.0.1:6820 $as_slurm python -m bridge.agent >/tmp/agent.log 2>&1 &
"""
_FIELD: Final = re.compile(r"(\S+?)=(.*?)(?=\s+[A-Za-z/:&_]+=|\s*$)")

PADDED: Final = "0*"
"""``%9j`` fills a path up with zeros."""

Record = dict[str, str]


@dataclass(frozen=True, slots=True)
class Controller:
    """The running container."""

    container: str
    slurm: AgentClient

    def sbatch(self, asked: Sequence[Case], *words: str) -> list[dict[str, Any]]:
        """Submit by real sbatch as ada, with `words` added; returns exit code, words and output of each."""
        sent = [
            {
                "name": case.name,
                "script": case.script.decode("latin-1"),
                "arguments": [*case.arguments, *words],
                "variables": {**CALLER, **case.variables},
            }
            for case in asked
        ]
        ask = ["docker", "exec", "-i", self.container, "python3", "/root/ask.py"]
        answers: list[dict[str, Any]] = json.loads(run(ask, stdin=json.dumps(sent), timeout_s=300).stdout)
        return answers

    def records(self, volatile: frozenset[str]) -> dict[int, list[Record]]:
        """Return the records of all jobs by number (of a het job: of its components), without `volatile`."""
        found: dict[int, list[Record]] = {}
        for line in self.run("scontrol", "show", "job", "-o").splitlines():
            fields = dict(_FIELD.findall(line))
            if "JobId" not in fields:
                continue
            number = fields["JobId"].split()[0]
            leader = int(fields.get("HetJobId") or fields.get("ArrayJobId") or number)
            plain = {
                name: re.sub(
                    rf"(?<![0-9]){PADDED if name == 'StdOut' else ''}{number}(?![0-9])", "@J@", value
                )
                for name, value in fields.items()
                if name not in volatile and name not in ("HetJobId", "HetJobIdSet", "ArrayJobId")
            }
            found.setdefault(leader, []).append(plain)
        return {
            number: sorted(components, key=lambda fields: fields.get("HetJobOffset", ""))
            for number, components in found.items()
        }

    def environment(self, number: int) -> dict[str, str]:
        """Return the environment that slurmctld keeps for a job: a count, then texts that end with NUL."""
        file = f"/var/spool/slurmctld/hash.{number % 10}/job.{number}/environment"
        texts = self.run("sh", "-c", f"tail -c +5 {file}").split("\0")
        return dict(text.partition("=")[::2] for text in texts if "=" in text)

    def run(self, *words: str) -> str:
        """Run a command as root; returns its output."""
        return run(["docker", "exec", self.container, *words]).stdout


@contextmanager
def controller(
    image: str, stack: str, kind: str, *, prepare: Callable[[str], object] = lambda _name: None
) -> Iterator[Controller]:
    """Start a controller of `kind` from the agent's image; remove it at the end.

    `prepare` gets the container's name before anything runs in it.
    """
    name = f"{stack}-oracle-{uuid.uuid4().hex[:8]}"
    labels = [f"--label={LABEL_STACK}={stack}", f"--label={LABEL_PART}=oracle"]
    as_root = ["--user=0", "--entrypoint=sleep", f"--hostname={HOST}", f"--name={name}"]
    run(["docker", "run", "--detach", "--rm", *labels, *as_root, image, "infinity"])
    try:
        run(["docker", "cp", str(HERE / f"{kind}.conf"), f"{name}:/etc/slurm/slurm.conf"])
        run(["docker", "cp", str(HERE / "ask.py"), f"{name}:/root/"])
        for other in ("topology.conf", "gres.conf"):
            if (file := HERE / f"{kind}.{other}").exists():
                run(["docker", "cp", str(file), f"{name}:/etc/slurm/{other}"])
        prepare(name)
        subprocess.run(["docker", "exec", "-d", name, "sh", "-ec", f"{_START}\nwait"], check=True)
        ping = ["docker", "exec", name, "test", "-S", "/run/sluice/agent/agent.sock"]
        wait_for(lambda: run(ping, check=False).returncode == 0, "the agent has its socket", deadline_s=240)
        with agent_socket(name) as path:
            slurm = AgentClient(path)
            well = ("slurmctld", "slurmrestd", "native")
            wait_for(
                lambda: all(part.healthy for part in slurm.health() if part.part in well),
                "the agent is well",
                deadline_s=240,
            )
            yield Controller(name, slurm)
            slurm.close()
    finally:
        subprocess.run(["docker", "rm", "--force", name], capture_output=True, check=False)
