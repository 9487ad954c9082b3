"""A job's output over HTTP: byte for byte, its owner's reach, never somebody else's."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.support.stack import GatewayClient, OwnTenant, Stack
from tests.support.waiting import wait_for

pytestmark = pytest.mark.cluster

Client = Callable[[str], GatewayClient]
MakeTenant = Callable[..., OwnTenant]

SMALL = ("--mem=64M", "--time=2")


def test_output_that_is_not_utf8_comes_byte_for_byte(client: Client, tenant: OwnTenant) -> None:
    gateway = client(tenant.user)
    job = gateway.ended(
        gateway.submit(b"#!/bin/bash\nprintf 'a\\377\\376\\0z\\n'\necho oops >&2\n", "-eerr", *SMALL)["id"]
    )
    answer = gateway.http.get(f"/v1/jobs/{job['id']}/stdout")
    assert answer.content == b"a\xff\xfe\x00z\n"
    assert answer.headers["Content-Type"] == "application/octet-stream"
    assert answer.headers["X-Sluice-Size"] == "6"
    assert gateway.http.get(f"/v1/jobs/{job['id']}/stderr").content == b"oops\n"


def test_a_piece_of_a_log_can_be_asked_for(client: Client, tenant: OwnTenant) -> None:
    gateway = client(tenant.user)
    job = gateway.ended(gateway.submit("#!/bin/bash\nseq -w 1 1000\n", *SMALL)["id"])
    path = f"/v1/jobs/{job['id']}/stdout"
    assert gateway.http.get(path, params={"offset": 5, "limit": 5}).text == "0002\n"
    assert gateway.http.get(path, params={"tail": 2}).text == "0999\n1000\n"
    assert gateway.http.get(path, params={"offset": 5000}).text == ""
    assert gateway.http.get(path, params={"offset": -5}).text == "1000\n"
    assert gateway.http.get(path, params={"offset": 5, "tail": 2}).status_code == 422


def test_a_job_without_output_has_an_empty_log(client: Client, tenant: OwnTenant) -> None:
    gateway = client(tenant.user)
    job = gateway.ended(gateway.submit("#!/bin/sh\ntrue\n", *SMALL)["id"])
    answer = gateway.http.get(f"/v1/jobs/{job['id']}/stdout")
    assert (answer.status_code, answer.content) == (200, b"")


@pytest.mark.parametrize(
    ("output", "word"),
    [("/tmp/mine.out", "node"), ("/dev/full", "/dev/full"), ("/var/log/mine.out", "/var/log/mine.out")],
)
def test_a_log_outside_the_users_reach_is_a_clear_error(
    client: Client, tenant: OwnTenant, output: str, word: str
) -> None:
    gateway = client(tenant.user)
    job = gateway.ended(gateway.submit("#!/bin/sh\necho secret\n", f"--output={output}", *SMALL)["id"])
    answer = gateway.http.get(f"/v1/jobs/{job['id']}/stdout")
    assert answer.status_code in (403, 404, 409, 422), answer.text
    assert word in answer.json()["detail"]
    assert "secret" not in answer.text


def test_a_link_to_another_users_file_is_never_followed(
    stack: Stack, client: Client, make_tenant: MakeTenant
) -> None:
    owner, thief = make_tenant(members=1), make_tenant(members=1)
    stack.login_node(owner.user).write("private.txt", "for my eyes only\n")
    stack.login_node(owner.user).run("chmod 700 . && chmod 600 private.txt")
    gateway = client(thief.user)
    script = f"#!/bin/sh\necho mine\nrm out.log; ln -s /home/{owner.user}/private.txt out.log\n"
    job = gateway.ended(gateway.submit(script, "--output=out.log", *SMALL)["id"])
    answer = gateway.http.get(f"/v1/jobs/{job['id']}/stdout")
    assert answer.status_code >= 400
    assert "eyes" not in answer.text


def test_another_tenants_job_does_not_exist(stack: Stack, client: Client, make_tenant: MakeTenant) -> None:
    owner, stranger = make_tenant(members=1), make_tenant(members=1)
    job = client(owner.user).submit("#!/bin/sh\nsleep 60\n", *SMALL)
    http = client(stranger.user).http
    for name in (job["id"], str(job["job_id"])):
        assert http.get(f"/v1/jobs/{name}").status_code == 404
        assert http.get(f"/v1/jobs/{name}/stdout").status_code == 404
        assert http.delete(f"/v1/jobs/{name}").status_code == 404
    assert job["id"] not in http.get("/v1/jobs").text
    assert http.get("/v1/jobs", params={"tenant": owner.name}).json().get("items", []) == []
    wait_for(lambda: client(owner.user).job(job["id"])["state"] in ("PENDING", "RUNNING"), "it still lives")
    assert owner.name not in http.get("/v1/tenants").text
    assert owner.name not in http.get("/v1/reports/usage", params={"by": "tenant"}).text
