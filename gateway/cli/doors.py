"""One script through one door, as one user: HTTP, or `sbatch` on the local stack's login node."""

from __future__ import annotations

import subprocess
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from bridge.errors import InputError, PolicyRefused, SlurmRefused, StepFailed, Unavailable
from gateway.cli.client import Gateway

Door = Literal["http", "sbatch"]


@dataclass(frozen=True, slots=True)
class Refusal:
    """A submission that the rules refused, in the words that the user reads."""

    sentence: str


def by_http(gateway: Gateway, script: Path, options: Sequence[str]) -> str | Refusal:
    """Submit over HTTP; returns Slurm's job number or the refusal."""
    try:
        job = gateway.submit_script(
            script.read_bytes(),
            query={"arg": list(options), "file_name": script.name},
            idempotency_key=uuid.uuid4().hex,
        )
    except (PolicyRefused, SlurmRefused, InputError) as refused:
        return Refusal(refused.message)
    return job.number


def by_sbatch(stack: str, user: str, script: Path, options: Sequence[str]) -> str | Refusal:
    """Submit with real sbatch as the user; the script lies in ``jobs/`` of the user's home then."""
    on_login_node(stack, user, f"mkdir -p jobs && cat > jobs/{script.name}", stdin=script.read_bytes())
    words = " ".join(["sbatch", "--parsable", *options, f"jobs/{script.name}"])
    done = run_on_login_node(stack, user, words)
    if done.returncode == 0:
        return done.stdout.decode().strip().split(";")[0]
    return Refusal(refusal_words(done.stderr.decode(errors="replace")))


def refusal_words(stderr: str) -> str:
    """Return what the rules said out of sbatch's error lines; the last is Slurm's errno in words."""
    lines = [line.removeprefix("sbatch: error: ") for line in stderr.strip().splitlines()]
    said = [line for line in lines if not line.startswith("Batch job submission failed")]
    return " ".join(said or lines)


def run_on_login_node(
    stack: str, user: str, command: str, *, stdin: bytes = b""
) -> subprocess.CompletedProcess[bytes]:
    """Run a shell command as the user on the login node, in the user's home."""
    argv = ["docker", "exec", "-i", "-u", "root", f"{stack}-login", "login-as", user, "bash", "-lc", command]
    try:
        return subprocess.run(argv, input=stdin, capture_output=True, check=False, timeout=120)
    except OSError as error:
        raise Unavailable(
            "the docker command is not there; install Docker's client", part="docker"
        ) from error


def on_login_node(stack: str, user: str, command: str, *, stdin: bytes = b"") -> bytes:
    """Run a shell command that must work; returns its standard output."""
    done = run_on_login_node(stack, user, command, stdin=stdin)
    if done.returncode != 0:
        raise StepFailed(
            f"the login node could not run a command as {user}",
            command=command,
            tail=done.stderr.decode(errors="replace"),
            remedy="./sluice status shows whether the login node is up",
        )
    return done.stdout
