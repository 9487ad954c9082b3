"""Waits for parts by condition: a once part's end, another's health.

What flows in: a part that was started. What flows out: nothing, or `StepFailed` with the part's last lines.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any, Final

import docker
from docker.models.containers import Container as DockerContainer

from bridge.cluster.engine import calling, last_lines
from bridge.cluster.part import Health, Part
from bridge.cluster.plan import container_name
from bridge.cluster.reporter import Reporter
from bridge.errors import StepFailed

DEADLINE_S: Final = 180
"""For one part; a part is ready within seconds, on an overloaded machine within a minute."""

POLL_S: Final = 0.25
GIVES_UP_AFTER: Final = 6
"""Restarts after which a part is taken to fail for good, rather than to wait for another."""


def wait_done(client: docker.DockerClient, stack: str, part: Part, report: Reporter) -> None:
    """Wait until a once part has ended well."""
    container = _get(client, stack, part)
    deadline = time.monotonic() + DEADLINE_S
    report.begin(f"waiting for {part.name}")
    while (state := _state(container, part))["Status"] in {"created", "running", "restarting"}:
        if time.monotonic() > deadline:
            raise _failed(container, part, f"did not end within {DEADLINE_S} s")
        time.sleep(POLL_S)
    if state["ExitCode"] != 0:
        raise _failed(container, part, f"ended with {state['ExitCode']}")
    report.end("done")


def wait_healthy(client: docker.DockerClient, stack: str, part: Part, report: Reporter) -> None:
    """Wait until a part's health command succeeds; a part without one only has to run."""
    container = _get(client, stack, part)
    deadline = time.monotonic() + DEADLINE_S
    report.begin(f"waiting for {part.name}")
    restarts = int(container.attrs["RestartCount"])
    while True:
        state = _state(container, part)
        if _known_healthy(state):
            break
        words = f"is {state['Status']}"
        if state["Status"] == "running":
            ready, words = _ask(container, part.health)
            if ready:
                break
            report.line(words)
        elif container.attrs["RestartCount"] >= restarts + GIVES_UP_AFTER:
            raise _failed(container, part, f"ends again and again, with {state['ExitCode']}")
        if time.monotonic() > deadline:
            raise _failed(container, part, f"is not healthy after {DEADLINE_S} s ({words})")
        time.sleep(POLL_S)
    report.end("healthy")


def _known_healthy(state: Mapping[str, Any]) -> bool:
    """Whether Docker's own check, at most one interval old, said so: a second `up` needn't ask again."""
    health = state.get("Health") or {}
    return bool(state["Status"] == "running" and health.get("Status") == "healthy")


def _ask(container: DockerContainer, health: Health | None) -> tuple[bool, str]:
    if health is None:
        return True, ""
    try:
        code, output = container.exec_run(list(health.command), user=health.user)
    except docker.errors.APIError:
        return False, "restarting"  # it ended between the look and the question
    said = output if isinstance(output, bytes) else b""
    return code == 0, last_lines(said.decode(errors="replace"), 1)


def _get(client: docker.DockerClient, stack: str, part: Part) -> DockerContainer:
    name = container_name(stack, part.name)
    with calling(f"docker inspect {name}"):
        return client.containers.get(name)


def _state(container: DockerContainer, part: Part) -> Mapping[str, Any]:
    with calling(
        f"docker inspect {container.name}", f"{part.name} was removed meanwhile; run ./sluice up again"
    ):
        container.reload()
    state: Mapping[str, Any] = container.attrs["State"]
    return state


def _failed(container: DockerContainer, part: Part, what: str) -> StepFailed:
    try:
        tail = last_lines(container.logs(tail=60).decode(errors="replace"))
    except docker.errors.APIError:
        tail = ""
    return StepFailed(
        f"{part.name} {what}",
        command=f"docker logs {container.name}",
        tail=tail,
        remedy=f"read ./sluice logs {part.name}, then run ./sluice up again (it goes on from here)",
    )
