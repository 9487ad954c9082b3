"""What ``up`` does once the parts run: it waits for the gateway and applies the tenants' documents.

What flows in: a running stack, documents. What flows out: tenants in force, left alone when they are as
they should be.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Mapping, Sequence
from typing import Final

import httpx

from bridge.cluster.reporter import Reporter
from bridge.cluster.stack import Stack
from bridge.errors import StepFailed
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
