"""slurmrestd's ways to answer, turned into errors by number. What it answers is measured on 26.05.5."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import httpx
import jwt
import pytest

from bridge.agent.rest import Rest
from bridge.errors import NotFound, OutcomeUnknown, SlurmRefused, Unavailable

KEY = b"0123456789abcdef0123456789abcdef"
Answer = Callable[[httpx.Request], httpx.Response]


def rest(answer: Answer) -> Rest:
    def serve(request: httpx.Request) -> httpx.Response:
        if request.url.path.endswith("/ping/"):
            return httpx.Response(200, json={"meta": {}})
        return answer(request)

    return Rest("http://slurmrestd:6820", KEY, transport=httpx.MockTransport(serve))


def told(errno: int, status: int = 200, **body: Any) -> Answer:
    error = {"error_number": errno, "error": "Some words", "description": "more", "source": "x"}
    return lambda _request: httpx.Response(status, json={"errors": [error], "warnings": [], **body})


def raising(error: Exception) -> Answer:
    def answer(_request: httpx.Request) -> httpx.Response:
        raise error

    return answer


def test_the_newest_version_that_both_speak() -> None:
    asked: list[str] = []

    def serve(request: httpx.Request) -> httpx.Response:
        asked.append(request.url.path)
        return httpx.Response(200 if "v0.0.43" in request.url.path else 404, json={})

    assert Rest("http://x", KEY, transport=httpx.MockTransport(serve)).version == "v0.0.43"
    assert asked == [f"/slurm/v0.0.{n}/ping/" for n in (45, 44, 43)]


def test_no_common_version_is_said() -> None:
    serve = httpx.MockTransport(lambda _request: httpx.Response(404))
    with pytest.raises(Unavailable, match="speaks none of"):
        _ = Rest("http://x", KEY, transport=serve).version


def test_the_token_is_slurmusers_and_short_lived() -> None:
    seen: list[httpx.Request] = []

    def answer(request: httpx.Request) -> httpx.Response:
        seen.append(request)
        return httpx.Response(200, json={"status": []})

    rest(answer).cancel("12_3", user="ada")
    headers = seen[0].headers
    claims = jwt.decode(headers["X-SLURM-USER-TOKEN"], KEY, algorithms=["HS256"])
    assert claims["sun"] == "slurm"
    assert claims["exp"] - claims["iat"] <= 600
    assert headers["X-SLURM-USER-NAME"] == "ada"
    assert headers["Connection"] == "close"
    assert seen[0].url.path == "/slurm/v0.0.45/job/12_3"


def test_an_error_inside_a_200_is_an_error() -> None:
    with pytest.raises(SlurmRefused, match=r"Some words \(more\)") as refused:
        rest(told(2066)).get("jobs/")
    assert refused.value.errno == 2066


def test_an_errno_of_0_inside_a_200_is_none() -> None:
    assert rest(told(0, nodes=[])).get("node/x")["nodes"] == []


def test_a_job_id_in_an_error_answer_means_that_the_job_exists() -> None:
    assert rest(told(9207, status=500, job_id=77)).post("job/submit", {})["job_id"] == 77


@pytest.mark.parametrize(
    ("errno", "write", "kind"),
    [
        (2017, False, NotFound),
        (1800, True, Unavailable),
        (5004, True, OutcomeUnknown),
        (5004, False, Unavailable),
        (7000, True, Unavailable),
        (424242, True, SlurmRefused),
    ],
)
def test_numbers_decide(errno: int, write: bool, kind: type[Exception]) -> None:
    asked = rest(told(errno, status=500))
    with pytest.raises(kind) as raised:
        asked.post("job/submit", {}) if write else asked.get("jobs/")
    assert type(raised.value) is kind


@pytest.mark.parametrize("code", [2021, 2084])
def test_cancelling_an_ended_job_is_no_error(code: int) -> None:
    status = [{"error": {"code": code, "string": "", "message": "done"}, "job_id": "1"}]
    rest(lambda _request: httpx.Response(200, json={"errors": [], "status": status})).cancel("1", user="a")


def test_a_refused_cancellation_hides_in_the_status() -> None:
    status = [{"error": {"code": 2002, "message": "Access/permission denied"}}]
    asked = rest(lambda _request: httpx.Response(200, json={"errors": [], "status": status}))
    with pytest.raises(SlurmRefused, match="Access/permission denied") as refused:
        asked.cancel("1", user="a")
    assert refused.value.errno == 2002


def test_nothing_modified_is_a_success() -> None:
    assert rest(lambda _request: httpx.Response(304)).post("slurmdb/users/", {}) == {}


@pytest.mark.parametrize(
    ("error", "write", "kind"),
    [
        (httpx.ConnectError("refused"), True, Unavailable),
        (httpx.ConnectTimeout("slow"), True, Unavailable),
        (httpx.ReadTimeout("slow"), True, OutcomeUnknown),
        (httpx.RemoteProtocolError("gone"), True, OutcomeUnknown),
        (httpx.ReadTimeout("slow"), False, Unavailable),
    ],
)
def test_a_broken_conversation(error: Exception, write: bool, kind: type[Exception]) -> None:
    asked = rest(raising(error))
    with pytest.raises(kind) as raised:
        asked.post("job/submit", {}) if write else asked.get("jobs/")
    assert type(raised.value) is kind


def test_an_answer_that_is_no_json() -> None:
    asked = rest(lambda _request: httpx.Response(502, text="Bad Gateway"))
    with pytest.raises(OutcomeUnknown, match="502 without JSON"):
        asked.post("job/submit", {})


def test_slurmdb_paths_have_their_own_root() -> None:
    paths: list[str] = []

    def answer(request: httpx.Request) -> httpx.Response:
        paths.append(request.url.path)
        return httpx.Response(200, json=json.loads("{}"))

    rest(answer).get("slurmdb/qos/")
    assert paths == ["/slurmdb/v0.0.45/qos/"]
