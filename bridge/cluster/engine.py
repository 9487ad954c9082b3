"""Docker, as this package uses it: the one place where the docker SDK's errors become ours.

What flows in: nothing but the user's Docker context (DOCKER_HOST, else the chosen `docker context`). What
flows out: a connected client, and `calling`, which turns an SDK error into `StepFailed` once.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import docker
import requests
from docker.context import ContextAPI
from docker.errors import APIError, DockerException

from bridge.cluster.pool import Confinement
from bridge.errors import StepFailed, Unavailable

TIMEOUT_S: Final = 120
"""For one request to the engine; builds and waits stream and are not bound by it."""

TAIL_LINES: Final = 15
"""Lines of output that a failed step shows."""


def connect() -> docker.DockerClient:
    """Connect to the engine of the user's choice.

    Raises
    ------
    Unavailable
        No engine answers.
    """
    try:
        client = _client()
        client.ping()
    except (DockerException, requests.RequestException) as error:
        raise Unavailable(
            "no Docker engine answers; start it (Docker Desktop, or `systemctl start docker`), see that"
            f" `docker info` works for this user, then try again ({_words(error)})",
            part="docker",
        ) from error
    return client


def _client() -> docker.DockerClient:
    context = ContextAPI.get_current_context()
    # The default context is what the environment says; the SDK alone knows no others.
    if context is None or context.name == "default":
        return docker.from_env(timeout=TIMEOUT_S)
    return docker.DockerClient(base_url=context.Host, tls=context.TLSConfig or False, timeout=TIMEOUT_S)


def confinement_of(client: docker.DockerClient) -> tuple[Confinement, str]:
    """Find out what keeps jobs to their GPUs on this host, and what to say when nothing does."""
    with calling("docker info"):
        info = client.info()
    options = [str(option) for option in info.get("SecurityOptions") or []]
    if str(info.get("CgroupVersion", "1")) != "2":
        why = "this host has cgroup v1"
    elif any("rootless" in option or "userns" in option for option in options):
        why = "this Docker engine is rootless or remaps users, so cgroups are not to be had in containers"
    else:
        return Confinement.CGROUP_V2, ""
    told = "jobs are told their GPUs but not confined to them (elsewhere Slurm's cgroup plugins do that)"
    return Confinement.NONE, f"{why}: {told}"


@contextmanager
def calling(command: str, remedy: str = "") -> Iterator[None]:
    """Turn an error of the engine into `StepFailed`, with the like `docker` command and the remedy."""
    try:
        yield
    except APIError as error:
        raise StepFailed(
            f"Docker refused a step ({_words(error)})", command=command, tail=_words(error), remedy=remedy
        ) from error
    except requests.Timeout as error:
        raise StepFailed(
            f"Docker did not answer within {TIMEOUT_S} s",
            command=command,
            remedy=remedy or "see whether the machine is overloaded (`docker ps`), then run it again",
        ) from error
    except (DockerException, requests.RequestException) as error:
        raise Unavailable(
            f"the Docker engine went away ({_words(error)}); see that it runs, then run it again",
            part="docker",
        ) from error


def last_lines(text: str, lines: int = TAIL_LINES) -> str:
    """Return the last lines of an output, without empty ones."""
    return "\n".join([line for line in text.splitlines() if line.strip()][-lines:])


def _words(error: BaseException) -> str:
    """Return the engine's own explanation, else the operating system's word at the root, else the text."""
    explanation = getattr(error, "explanation", None)
    if isinstance(explanation, str) and explanation:
        return explanation
    root: BaseException | None = error
    while root is not None:
        if isinstance(root, OSError) and root.strerror:
            return root.strerror
        root = root.__cause__ or root.__context__
    return str(error)
