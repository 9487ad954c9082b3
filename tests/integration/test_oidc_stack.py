"""A token of an OIDC issuer and one of a Kubernetes ServiceAccount become jobs of the real cluster.

The stack's own gateway has no issuer, so that a second one runs beside it, with a database of its own.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import httpx
import pytest
import yaml

from tests.support.issuer import AUDIENCE, Issuer, running_issuer
from tests.support.stack import OwnTenant, Stack, run
from tests.support.waiting import wait_for

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(400)]

PORT = 8099


@pytest.fixture
def issuer(stack: Stack) -> Iterator[Issuer]:
    """An issuer on this host, where the stack's network sees it."""
    (_ip, host) = addresses(stack)
    with running_issuer(host="0.0.0.0", name=host) as found:
        yield found


def addresses(stack: Stack) -> tuple[str, str]:
    """The gateway container's own address, and this host's in the same network."""
    said = run(["docker", "inspect", "-f", "{{json .NetworkSettings.Networks}}", stack.container("gateway")])
    (network,) = json.loads(said.stdout).values()
    return str(network["IPAddress"]), str(network["Gateway"])


@contextmanager
def second_gateway(stack: Stack, site: dict[str, Any]) -> Iterator[httpx.Client]:
    """Run a gateway with a site file in the gateway's container."""
    name = f"/tmp/oidc-{uuid.uuid4().hex[:8]}"
    gateway = stack.container("gateway")
    run(["docker", "exec", "-i", gateway, "sh", "-c", f"cat > {name}.yaml"], stdin=yaml.safe_dump(site))
    settings = {
        "SLUICE_GATEWAY_PORT": str(PORT),
        "SLUICE_GATEWAY_DATABASE_URL": f"sqlite:///{name}.db",
        "SLUICE_GATEWAY_SITE_FILE": f"{name}.yaml",
    }
    given = [word for key, value in settings.items() for word in ("-e", f"{key}={value}")]
    begin = f"python -m gateway >{name}.log 2>&1 & echo $! >{name}.pid; wait"
    run(["docker", "exec", "-d", *given, gateway, "sh", "-c", begin])
    url = f"http://{addresses(stack)[0]}:{PORT}"
    try:
        with httpx.Client(base_url=url, timeout=30, trust_env=False) as http:
            wait_for(lambda: ready(http), "the second gateway is ready", deadline_s=120)
            yield http
    finally:
        run(["docker", "exec", gateway, "sh", "-c", f"kill $(cat {name}.pid)"], check=False)


def ready(http: httpx.Client) -> bool:
    try:
        return http.get("/readyz").status_code == 200
    except httpx.HTTPError:
        return False


def test_a_token_becomes_a_job_of_its_user(
    stack: Stack, issuer: Issuer, make_tenant: Callable[..., OwnTenant]
) -> None:
    person, program = f"t{uuid.uuid4().hex[:8]}p", f"t{uuid.uuid4().hex[:8]}s"
    tenant = make_tenant(
        members=[
            {"user": person, "subject": "0c5d-person", "issuer": issuer.url},
            {"user": program},
        ],
        services=[{"kubernetes": "prod:runner", "issuer": issuer.url, "user": program}],
    )
    site = {"oidc": {"issuers": [{"issuer": issuer.url, "audience": [AUDIENCE], "allow_http": True}]}}
    with second_gateway(stack, site) as http:
        for subject, user in (
            ("0c5d-person", person),
            ("system:serviceaccount:prod:runner", program),
        ):
            headers = {"Authorization": f"Bearer {issuer.token(sub=subject)}"}

            def known(headers: dict[str, str] = headers, user: str = user) -> bool:
                me = http.get("/v1/whoami", headers=headers)
                return me.status_code == 200 and me.json()["user"] == user

            wait_for(known, f"the second gateway knows {user}", deadline_s=60)
            made = http.post(
                "/v1/jobs",
                content="#!/bin/sh\nid -un\n",
                params={"arg": ["--time=2"]},
                headers={**headers, "Content-Type": "text/x-shellscript"},
            )
            assert made.status_code == 201, made.text
            path = f"/v1/jobs/{made.json()['id']}"
            wait_for(
                lambda path=path, headers=headers: (
                    http.get(path, headers=headers).json()["state"]  # type: ignore[misc]
                    == "COMPLETED"
                ),
                "the job is done",
                deadline_s=120,
            )
            said = http.get(f"{path}/stdout", headers=headers)
            assert (said.status_code, said.text) == (200, f"{user}\n")
            assert made.json()["tenant"] == tenant.name
        refused = http.get(
            "/v1/whoami", headers={"Authorization": f"Bearer {issuer.token(sub='0c5d-person', aud='x')}"}
        )
        assert refused.status_code == 401, refused.text
