"""An API key for each member of the documents, in the local stack's ``keys.json``.

What flows in: a running gateway, users. What flows out: keys that work. One that works is left alone.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import httpx
import yaml

from bridge.cluster.console import Ran, run_in
from bridge.cluster.engine import connect
from bridge.cluster.reporter import Reporter
from bridge.cluster.stack import Stack
from bridge.errors import StepFailed, Unavailable


def users_of(sources: Iterable[Mapping[str, str]]) -> tuple[str, ...]:
    """Return the members of the documents, each once, in their order; the documents are valid by now."""
    found: dict[str, None] = {}
    for source in sources:
        for document in yaml.safe_load_all(source["text"]):
            for member in (document or {}).get("members", []):
                found[str(member["user"])] = None
    return tuple(found)


def ensure_keys(
    stack: Stack,
    url: str,
    users: Sequence[str],
    report: Reporter,
    *,
    ask: Callable[[Sequence[str]], Ran] | None = None,
) -> dict[str, str]:
    """Make sure that ``keys.json`` has a key that works for each user; return the new ones.

    `ask` runs a command in the gateway's container, where that isn't one of Docker's.
    """
    kept = {user: str(key) for user, key in stack.read("keys.json").items()}
    with httpx.Client(base_url=url, timeout=10, trust_env=False) as http:
        missing = [user for user in users if user not in kept or not _works(http, kept[user])]
    if not missing:
        return {}
    report.begin("making API keys")
    command = ["python", "-m", "gateway.keys", "ensure", "--label", "up", "--renew"]
    for user in missing:
        command += ["--user", user]
    ran = ask(command) if ask else run_in(connect(), stack.name, "gateway", tuple(command))
    new = _keys(ran.out) if ran.code == 0 else {}
    if set(missing) - set(new):
        raise StepFailed(
            "the gateway made no API keys",
            command=f"docker exec {stack.name}-gateway {' '.join(command)}",
            tail=ran.err or ran.out,
            remedy="./sluice logs gateway shows why; then run ./sluice up again",
        )
    stack.write("keys.json", {user: new.get(user) or kept[user] for user in dict.fromkeys([*kept, *users])})
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
