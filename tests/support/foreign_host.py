"""A host without Slurm: a container on the stack's network that has the CLI, the homes, and nothing else.

What doesn't belong here: the stack itself (`tests.support.stack`).
"""

from __future__ import annotations

import subprocess
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

from bridge.wellknown import LABEL_PART, LABEL_STACK
from tests.support.stack import Ran, Stack, run

COMMANDS: Final = "/tmp/commands"
"""Where Slurm's names are."""

_IMAGE_S_OWN: Final = "PYTHONPATH PYTHONDONTWRITEBYTECODE PYTHONUNBUFFERED TZ"


@dataclass(frozen=True, slots=True)
class ForeignHost:
    """The container, as one user."""

    container: str
    user: str

    def run(
        self, command: str, *, stdin: str | bytes | None = None, check: bool = True, timeout_s: float = 120
    ) -> Ran:
        """Run a shell command in the user's home, with Slurm's names on PATH."""
        # The image's own settings of Python would go with each job.
        line = f"unset {_IMAGE_S_OWN}; export PATH={COMMANDS}:/usr/bin:/bin; cd; {command}"
        argv = ["docker", "exec", "-i", self.container, "bash", "-c", line]
        return run(argv, stdin=stdin, check=check, timeout_s=timeout_s)


@contextmanager
def foreign_host(stack: Stack, user: str) -> Iterator[ForeignHost]:
    """Start a host where `user` works; remove it at the end."""
    name = f"{stack.name}-host-{uuid.uuid4().hex[:8]}"
    gateway = stack.container("gateway")
    image = run(["docker", "inspect", "--format={{.Config.Image}}", gateway]).stdout.strip()
    network = run(
        [
            "docker",
            "inspect",
            "--format={{range $name, $_ := .NetworkSettings.Networks}}{{$name}}{{end}}",
            gateway,
        ]
    ).stdout.strip()
    ids = stack.login_node(user).run("id -u").stdout.strip()  # the first login makes the home
    variables = {
        "HOME": f"/home/{user}",
        "USER": user,
        "LOGNAME": user,
        "SLUICE_URL": "http://gateway:8080",
        "SLUICE_API_KEY": stack.key(user),
    }
    argv = ["docker", "run", "--detach", "--rm", f"--name={name}", f"--network={network}"]
    argv += [f"--label={LABEL_STACK}={stack.name}", f"--label={LABEL_PART}=host", f"--user={ids}:{ids}"]
    argv += [f"--volume={stack.name}-home:/home", "--entrypoint=sleep"]
    run([*argv, *(f"--env={key}={value}" for key, value in variables.items()), image, "infinity"])
    try:
        run(["docker", "exec", name, "python", "-m", "gateway.cli", "link", COMMANDS])
        yield ForeignHost(name, user)
    finally:
        subprocess.run(["docker", "rm", "--force", name], capture_output=True, check=False)
