"""What ``up`` does once the parts run: tenants from their documents, an API key for each of their users.

What flows in: a running stack, documents. What flows out: tenants in force, ``keys.json``. Both are left
alone when they are as they should be.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import httpx
import yaml

from bridge.cluster.console import run_in
from bridge.cluster.engine import connect
from bridge.cluster.reporter import Reporter
from bridge.cluster.stack import Stack
from bridge.errors import StepFailed, Unavailable
from gateway.cli.tenants import tell_bridge

READY_DEADLINE_S: Final = 120.0
POLL_S: Final = 0.25


def await_ready(url: str, report: Reporter) -> None:
    """Wait until the gateway says that everything that it needs answers."""
    report.begin("waiting for the gateway to reach Slurm")
    deadline = time.monotonic() + READY_DEADLINE_S
    with httpx.Client(base_url=url, timeout=10, trust_env=False) as http:
        while True:
            words = _not_ready(http)
            if not words:
                break
            report.line(words)
            if time.monotonic() > deadline:
                raise StepFailed(
                    f"the gateway is not ready after {READY_DEADLINE_S:.0f} s",
                    command=f"curl {url}/readyz",
                    tail=words,
                    remedy="./sluice status shows which part is down",
                )
            time.sleep(POLL_S)
    report.end("ready")


def _not_ready(http: httpx.Client) -> str:
    try:
        answer = http.get("/readyz")
    except httpx.HTTPError as error:
        return str(error)
    return "" if answer.status_code == httpx.codes.OK else answer.text


def apply_tenants(stack: Stack, sources: Sequence[Mapping[str, str]], report: Reporter) -> bool:
    """Apply the documents, unless the very same were applied before; return whether it was done."""
    digest = hashlib.sha256(json.dumps([dict(source) for source in sources]).encode()).hexdigest()[:12]
    known = stack.read("stack.json")
    if known.get("tenants") == digest:
        return False
    report.begin("applying the tenants")
    tell_bridge(stack.name, "apply", sources=[dict(source) for source in sources])
    stack.write("stack.json", {**stack.read("stack.json"), "tenants": digest})
    report.end(f"{len(sources)} documents")
    return True


def users_of(sources: Iterable[Mapping[str, str]]) -> tuple[str, ...]:
    """Return the members of the documents, each once, in their order; the documents are valid by now."""
    found: dict[str, None] = {}
    for source in sources:
        for document in yaml.safe_load_all(source["text"]):
            for member in (document or {}).get("members", []):
                found[str(member["user"])] = None
    return tuple(found)


def ensure_keys(stack: Stack, url: str, users: Sequence[str], report: Reporter) -> dict[str, str]:
    """Make sure that ``keys.json`` has a key that works for each user; return the new ones."""
    kept = {user: str(key) for user, key in stack.read("keys.json").items()}
    with httpx.Client(base_url=url, timeout=10, trust_env=False) as http:
        missing = [user for user in users if user not in kept or not _works(http, kept[user])]
    if not missing:
        return {}
    report.begin("making API keys")
    command = ["python", "-m", "gateway.keys", "ensure", "--label", "up", "--renew"]
    for user in missing:
        command += ["--user", user]
    ran = run_in(connect(), stack.name, "gateway", tuple(command))
    new = _keys(ran.out) if ran.code == 0 else {}
    if set(missing) - set(new):
        raise StepFailed(
            "the gateway made no API keys",
            command=f"docker exec {stack.name}-gateway {' '.join(command)}",
            tail=ran.err or ran.out,
            remedy="./sluice logs gateway shows why; then run ./sluice up again",
        )
    stack.write("keys.json", {user: new.get(user) or kept[user] for user in [*users, *kept]})
    report.end(f"{len(new)} users")
    return new


def _works(http: httpx.Client, key: str) -> bool:
    try:
        answer = http.get("/v1/whoami", headers={"Authorization": f"Bearer {key}"})
    except httpx.HTTPError as error:
        raise Unavailable(
            f"the gateway does not answer ({error}); ./sluice status", part="gateway"
        ) from error
    return answer.status_code != httpx.codes.UNAUTHORIZED


def _keys(text: str) -> dict[str, str]:
    try:
        value: Any = json.loads(text)
    except ValueError:
        return {}
    return {str(user): str(key) for user, key in value.items()} if isinstance(value, dict) else {}
