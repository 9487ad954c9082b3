"""One request by three doors: real sbatch, the gateway, and slurmrestd without anything of Sluice between.

In: requests as sbatch's options. Out: `Answer`s, which can be compared. What doesn't belong here: what the
answers should be.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from tests.support.stack import OwnTenant, Stack

Options = Mapping[str, str]
"""Long options of sbatch by name, with their values; an empty value is a bare option."""

SCRIPT: Final = "#!/bin/sh\ntrue\n"
RULE: Final = re.compile(r"[^\n]*\(rule ([a-z.-]+)\)")
SHOWN: Final = ("Account", "Partition", "QOS", "TimeLimit")
GPUS: Final = ("TresPerJob", "TresPerNode", "TresPerTask")
_GRES: Final = {"gpus": "tres_per_job", "gpus-per-node": "tres_per_node", "gpus-per-task": "tres_per_task"}
_NUMBERS: Final = {"time": "time_limit", "mem": "memory_per_node"}
_PLAIN: Final = {"ntasks": "tasks", "cpus-per-task": "cpus_per_task", "nodes": "minimum_nodes"}

# Runs where slurmrestd is reached: bodies on stdin, one answer a line.
_POST: Final = """
import json, sys, urllib.error, urllib.request
asked = json.load(sys.stdin)
headers = {"X-SLURM-USER-NAME": asked["user"], "X-SLURM-USER-TOKEN": asked["token"],
           "Content-Type": "application/json", "Connection": "close"}
for body in asked["bodies"]:
    data = json.dumps(body).encode()
    request = urllib.request.Request("http://slurmrestd:6820/slurm/v0.0.45/job/submit/", data, headers)
    try:
        answer = urllib.request.urlopen(request, timeout=30).read()
    except urllib.error.HTTPError as error:
        answer = error.read()
    # An answer that is an error is sent twice on the connection.
    print(json.dumps(json.JSONDecoder().raw_decode(answer.decode())[0]))
"""


@dataclass(frozen=True, slots=True)
class Answer:
    """What a door said: a job's record, or the refusal."""

    job: int | None
    """Slurm's number."""
    rule: str = ""
    sentence: str = ""
    """Without them where the door has only Slurm's own words."""
    words: str = ""
    """Slurm's words for the error number."""


def by_sbatch(stack: Stack, user: str, requests: Sequence[Options]) -> list[Answer]:
    """Submit with sbatch on the login node, all in one shell."""
    lines = [f"sbatch --hold --parsable {_arguments(each)} job.sh 2>&1; echo ---" for each in requests]
    shell = stack.login_node(user)
    shell.write("job.sh", SCRIPT)
    said = shell.run("\n".join(lines), timeout_s=300).stdout.split("---\n")[: len(requests)]
    return [_of_sbatch(text) for text in said]


def by_http(stack: Stack, user: str, requests: Sequence[Options]) -> list[Answer]:
    """Submit script and arguments to the gateway."""
    found = []
    with stack.client(user) as gateway:
        for each in requests:
            answer = gateway.try_submit(SCRIPT, "--hold", *shlex.split(_arguments(each)))
            body = answer.json()
            if answer.status_code == 201:
                found.append(Answer(body["job_id"]))
            else:
                found.append(Answer(None, body.get("rule", ""), body["detail"]))
    return found


def by_slurmrestd(stack: Stack, user: str, requests: Sequence[Options]) -> list[Answer]:
    """Submit to slurmrestd with the user's own token."""
    token = stack.exec("slurmctld", "scontrol", "token", f"username={user}").stdout.strip().partition("=")[2]
    bodies = [{"script": SCRIPT, "job": _description(user, each)} for each in requests]
    asked = json.dumps({"user": user, "token": token, "bodies": bodies})
    said = stack.exec("agent", "python", "-c", _POST, stdin=asked, timeout_s=300).stdout.splitlines()
    return [_of_slurmrestd(json.loads(line)) for line in said]


def records(stack: Stack, answers: Sequence[Answer]) -> dict[int, list[str]]:
    """Return of each job what the rules fill in, by its number."""
    numbers = {answer.job for answer in answers if answer.job is not None}
    found: dict[int, list[str]] = {}
    for line in stack.exec("slurmctld", "scontrol", "show", "job", "-o").stdout.splitlines():
        fields = dict(part.split("=", 1) for part in line.split() if "=" in part)
        if int(fields["JobId"]) in numbers:
            # sbatch writes some GPUs as TYPE=NUMBER, others TYPE:NUMBER, and CPUs beside them.
            gpus = [
                f"{name}={part.replace('=', ':')}"
                for name in GPUS
                for part in fields.get(name, "").split(",")
                if part.startswith("gres")
            ]
            found[int(fields["JobId"])] = [*(fields[name] for name in SHOWN), *gpus]
    return found


def cancel_all(stack: Stack, *tenants: OwnTenant) -> None:
    """Cancel what was submitted."""
    for tenant in tenants:
        stack.exec("slurmctld", "scancel", f"--account={tenant.name}")


def _arguments(options: Options) -> str:
    return " ".join(
        shlex.quote(f"--{name}={value}" if value else f"--{name}") for name, value in options.items()
    )


def _of_sbatch(text: str) -> Answer:
    number = text.strip().splitlines()[-1] if text.strip() else ""
    if number.isdigit():
        return Answer(int(number))
    words = re.search(r"Batch job submission failed: (.*)", text)
    sentence = RULE.search(text)
    return Answer(
        None,
        sentence[1] if sentence else "",
        sentence[0].removeprefix("sbatch: error: ") if sentence else text.strip(),
        words[1].strip() if words else "",
    )


def _of_slurmrestd(body: Mapping[str, Any]) -> Answer:
    if body.get("job_id"):
        return Answer(int(body["job_id"]))
    return Answer(None, words=str(body["errors"][0]["error"]).strip())


def _description(user: str, options: Options) -> dict[str, Any]:
    job: dict[str, Any] = {
        "name": "sbatch",
        "hold": True,
        "current_working_directory": f"/home/{user}",
        "environment": ["PATH=/usr/bin:/bin"],
    }
    for name, value in options.items():
        if name in _GRES:
            job[_GRES[name]] = f"gres/gpu:{value}"
        elif name in _NUMBERS:
            job[_NUMBERS[name]] = {"set": True, "number": int(value)}
        elif name in _PLAIN:
            job[_PLAIN[name]] = int(value)
        elif name == "exclusive":
            job["shared"] = [value or "none"]
        else:
            job[name] = value
    return job
