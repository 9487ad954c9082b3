"""How a stack is now: each part asked itself, and what that means for Slurm.

What flows in: the stack. What flows out: `PartStatus`, one a part, and `diagnose`'s sentence.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Final

import docker

from bridge import wellknown
from bridge.cluster.engine import calling, last_lines
from bridge.cluster.plan import container_name

ANSWER_S: Final = 15
"""Seconds; a part that has not answered its health command by then is taken for ill."""

ANSWER_WITHOUT_SLURM_S: Final = 5
"""The same while a part that all others need doesn't run: many ask it in turn, and wait in vain."""

SLURM: Final = ("mariadb", "slurmdbd", "slurmctld", "slurmrestd")
"""Parts that all others need, in the order in which they need each other."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PartStatus:
    """One part. `state` is Docker's word, or ``missing``."""

    name: str
    state: str
    healthy: bool
    detail: str = ""
    image: str = ""
    address: str = ""
    container: str = ""
    started_at: str = ""


def parts_status(client: docker.DockerClient, stack: str, expected: Sequence[str]) -> tuple[PartStatus, ...]:
    """Ask every part at once.

    Parameters
    ----------
    expected
        Names of parts that `up` made; one without a container is ``missing``.
    """
    with calling(f"docker ps -a --filter label={wellknown.LABEL_STACK}={stack}"):
        listed = client.api.containers(all=True, filters={"label": f"{wellknown.LABEL_STACK}={stack}"})
    found = {str(entry["Labels"].get(wellknown.LABEL_PART, "")): str(entry["Id"]) for entry in listed}
    names = [name for name in [*expected, *(n for n in found if n not in expected)] if name]
    running = {
        str(entry["Labels"].get(wellknown.LABEL_PART)) for entry in listed if entry["State"] == "running"
    }
    answer_s = ANSWER_S if running.issuperset(SLURM) else ANSWER_WITHOUT_SLURM_S
    with ThreadPoolExecutor(max_workers=max(1, len(names))) as pool:
        asked = pool.map(lambda name: _status(client, name, found.get(name), answer_s), names)
        statuses = tuple(asked)
    # A part that prepares ends when it is done: it is only worth a line when it failed.
    return tuple(status for status in statuses if status.state != "exited" or not status.healthy)


def slurm_version(client: docker.DockerClient, stack: str) -> str:
    """Ask the image of slurmctld for its Slurm's version; empty while the part doesn't run."""
    try:
        created = client.api.exec_create(container_name(stack, "slurmctld"), ["slurmctld", "-V"])
        said = client.api.exec_start(created["Id"]).decode(errors="replace").split()
    except docker.errors.APIError:
        return ""
    return said[-1] if said else ""


def diagnose(statuses: Sequence[PartStatus]) -> str:
    """Return one sentence about what is wrong, naming the part at its root; empty when nothing is."""
    ill = {status.name: status for status in statuses if not status.healthy}
    if not ill:
        return ""
    root = next((ill[name] for name in SLURM if name in ill), next(iter(ill.values())))
    what = f"is {root.state}" if root.state != "running" else "runs but does not answer"
    slurm = "Slurm is down: " if root.name in SLURM else ""
    others = [name for name in ill if name != root.name]
    also = f" (with it: {', '.join(others)})" if others else ""
    return f"{slurm}{root.name} {what}{also}; see ./sluice logs {root.name}, ./sluice up starts it again"


def _status(client: docker.DockerClient, name: str, container_id: str | None, answer_s: int) -> PartStatus:
    if container_id is None:
        return PartStatus(name=name, state="missing", healthy=False)
    try:
        attributes: Mapping[str, Any] = client.api.inspect_container(container_id)
    except docker.errors.NotFound:
        return PartStatus(name=name, state="missing", healthy=False)
    state = attributes["State"]
    healthy, detail = _health(client, container_id, attributes, answer_s)
    return PartStatus(
        name=name,
        state=str(state["Status"]),
        healthy=healthy,
        detail=detail,
        image=str(attributes["Config"]["Image"]),
        address=_address(attributes),
        container=str(attributes["Name"]).lstrip("/"),
        started_at=str(state.get("StartedAt", "")),
    )


def _health(
    client: docker.DockerClient, container_id: str, attributes: Mapping[str, Any], answer_s: int
) -> tuple[bool, str]:
    state = attributes["State"]
    if state["Status"] == "exited":
        ends_for_good = attributes["HostConfig"]["RestartPolicy"]["Name"] == "no"
        return ends_for_good and state["ExitCode"] == 0, f"ended with {state['ExitCode']}"
    if state["Status"] != "running":
        return False, ""
    test = (attributes["Config"].get("Healthcheck") or {}).get("Test") or []
    if not test or test[0] != "CMD":
        return True, ""
    try:
        created = client.api.exec_create(container_id, ["timeout", str(answer_s), *test[1:]])
        said = client.api.exec_start(created["Id"])
        code = client.api.exec_inspect(created["Id"])["ExitCode"]
    except docker.errors.APIError:
        return False, "it ended while it was asked"
    return code == 0, "" if code == 0 else _complaint(said.decode(errors="replace"))


def _complaint(said: str) -> str:
    """Return the last line that says something: Slurm frames what is urgent in lines of stars."""
    return last_lines("\n".join(line for line in said.splitlines() if not line.startswith("**")), 1)


def _address(attributes: Mapping[str, Any]) -> str:
    """Where it is reached: the host's address when it is published, else the one in the stack's network."""
    for bindings in (attributes["NetworkSettings"].get("Ports") or {}).values():
        for binding in bindings or ():
            return f"http://{binding['HostIp']}:{binding['HostPort']}"
    networks = attributes["NetworkSettings"].get("Networks") or {}
    return next((str(network["IPAddress"]) for network in networks.values()), "")
