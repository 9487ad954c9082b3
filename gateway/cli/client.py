"""The gateway's HTTP API for the command line: one method a route, errors as `bridge.errors`.

What flows in: a `Session`. What flows out: the gateway's JSON, read once into small frozen
dataclasses. What doesn't belong here: how things look (`gateway.cli.tables`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, Self

import httpx

from bridge.errors import InputError, SluiceError, Unavailable, by_code
from gateway.cli.answers import CommandOutput, Job, Log
from gateway.cli.session import Session

PAGE: Final = 100
_ANSWER_S: Final = 60.0
_COMMAND_S: Final = 140.0
"""A little longer than the gateway waits for a command."""
LOOPBACK: Final = ("127.0.0.1", "localhost", "::1")
Query = Mapping[str, str | int | Sequence[str]]


class Gateway:
    """A connection to the gateway; use as a context."""

    def __init__(self, session: Session, *, transport: httpx.BaseTransport | None = None) -> None:
        self.session = session
        host = httpx.URL(session.url).host
        self._http = httpx.Client(
            base_url=session.url,
            trust_env=host not in LOOPBACK,  # a proxy of the environment can't reach this machine
            headers={"Authorization": f"Bearer {session.key}", "User-Agent": "sluice-cli"},
            transport=transport,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._http.close()

    def submit_script(self, script: bytes, *, query: Query, idempotency_key: str) -> Job:
        """Submit a script as it is; `query` has sbatch's arguments (``arg``), the script's and the fields."""
        headers = {"Content-Type": "text/x-shellscript", "Idempotency-Key": idempotency_key}
        answer = self._ask("POST", "/v1/jobs", query=query, content=script, headers=headers)
        return Job.read(answer.json())

    def submit_job(self, body: Mapping[str, Any], *, idempotency_key: str) -> Job:
        """Submit a job as JSON."""
        headers = {"Idempotency-Key": idempotency_key}
        return Job.read(self._ask("POST", "/v1/jobs", json=dict(body), headers=headers).json())

    def test_job(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """Have a job as JSON judged; nothing is submitted."""
        found: dict[str, Any] = self._ask("POST", "/v1/jobs:test", json=dict(body)).json()
        return found

    def site_options(self) -> list[dict[str, Any]]:
        """Return what the site adds to sbatch's options."""
        items: list[dict[str, Any]] = self._ask("GET", "/v1/scripts:options").json()["items"]
        return items

    def run_command(self, name: str, arguments: Sequence[str], variables: Mapping[str, str]) -> CommandOutput:
        """Have one of Slurm's commands run with the user's rights."""
        asked = {"args": list(arguments), "variables": dict(variables)}
        said = self._ask("POST", f"/v1/commands/{name}", json=asked, timeout_s=_COMMAND_S).json()
        return CommandOutput(int(said["exit_code"]), str(said["stdout"]), str(said["stderr"]))

    def look_at(self, script: bytes, *, by: str, query: Query) -> dict[str, Any]:
        """Have a script looked at by ``jobs:test`` or ``scripts:lint``; nothing is submitted."""
        headers = {"Content-Type": "text/x-shellscript"}
        answer = self._ask("POST", f"/v1/{by}", query=query, content=script, headers=headers)
        found: dict[str, Any] = answer.json()
        return found

    def job(self, job_id: str) -> Job:
        """Return one job, by our id or Slurm's number."""
        return Job.read(self._ask("GET", f"/v1/jobs/{_one_part(job_id)}").json())

    def jobs(self, query: Query, *, limit: int) -> Iterator[Job]:
        """Yield at most `limit` jobs, newest first, page by page."""
        cursor: str | None = None
        left = limit
        while left > 0:
            page = dict(query, limit=min(PAGE, left))
            if cursor:
                page["cursor"] = cursor
            answer = self._ask("GET", "/v1/jobs", query=page).json()
            for raw in answer["items"]:
                yield Job.read(raw)
            left -= len(answer["items"])
            cursor = answer.get("next_cursor")
            if not cursor:
                return

    def cancel(self, job_id: str) -> Job:
        """Cancel a job; it may still be ending when this returns."""
        return Job.read(self._ask("DELETE", f"/v1/jobs/{_one_part(job_id)}").json())

    def log(self, job_id: str, stream: str, *, query: Query) -> Log:
        """Read a piece of an output; `query` is ``offset`` and ``limit``, or ``tail`` in lines."""
        answer = self._ask("GET", f"/v1/jobs/{_one_part(job_id)}/{stream}", query=query)
        headers = answer.headers
        return Log(
            answer.content,
            int(headers.get("X-Sluice-Offset", 0)),
            int(headers.get("X-Sluice-Size", len(answer.content))),
            headers.get("X-Sluice-Warning", ""),
        )

    def tenants(self) -> list[dict[str, Any]]:
        """Return the tenants that the user may see."""
        items: list[dict[str, Any]] = self._ask("GET", "/v1/tenants").json()["items"]
        return items

    def make_key(self, wish: Mapping[str, Any]) -> dict[str, Any]:
        """Make an API key; the answer has its text."""
        made: dict[str, Any] = self._ask("POST", "/v1/keys", json=dict(wish)).json()
        return made

    def keys(self, user: str | None) -> list[dict[str, Any]]:
        """Return the API keys that the user may see, of one user or all."""
        query = {} if user is None else {"user": user}
        items: list[dict[str, Any]] = self._ask("GET", "/v1/keys", query=query).json()["items"]
        return items

    def revoke_key(self, key_id: str) -> dict[str, Any]:
        """Revoke an API key."""
        gone: dict[str, Any] = self._ask("DELETE", f"/v1/keys/{_one_part(key_id)}").json()
        return gone

    def audit(self, limit: int) -> list[dict[str, Any]]:
        """Return the newest writes that the user may see."""
        items: list[dict[str, Any]] = self._ask("GET", "/v1/audit", query={"limit": limit}).json()["items"]
        return items

    def whoami(self) -> dict[str, Any]:
        """Return who the user is, with limits and what is left of them."""
        me: dict[str, Any] = self._ask("GET", "/v1/whoami").json()
        return me

    def report(self, query: Query) -> dict[str, Any]:
        """Return the usage report."""
        report: dict[str, Any] = self._ask("GET", "/v1/reports/usage", query=query).json()
        return report

    def report_csv(self, query: Query) -> str:
        """Return the usage report as CSV text."""
        return self._ask("GET", "/v1/reports/usage", query=query, headers={"Accept": "text/csv"}).text

    def cost(self, query: Query) -> dict[str, Any]:
        """Return the bill of a period."""
        return self.get("/v1/reports/cost", query=query)

    def cost_csv(self, query: Query) -> str:
        """Return the bill of a period as CSV text."""
        return self._ask("GET", "/v1/reports/cost", query=query, headers={"Accept": "text/csv"}).text

    def get(self, path: str, *, query: Query | None = None) -> dict[str, Any]:
        """Return the JSON of a path."""
        found: dict[str, Any] = self._ask("GET", path, query=query).json()
        return found

    def put(self, path: str, document: object) -> tuple[bool, dict[str, Any]]:
        """Put a document; returns whether that changed anything (201), and the answer."""
        answer = self._ask("PUT", path, json=document)
        return answer.status_code == httpx.codes.CREATED, answer.json()

    def delete(self, path: str) -> None:
        """Delete what is at a path."""
        self._ask("DELETE", path)

    def _ask(
        self,
        method: str,
        path: str,
        *,
        query: Query | None = None,
        headers: Mapping[str, str] | None = None,
        content: bytes | None = None,
        json: object = None,
        timeout_s: float = _ANSWER_S,
    ) -> httpx.Response:
        try:
            answer = self._http.request(
                *(method, path),
                params=dict(query or {}),
                headers=headers,
                content=content,
                json=json,
                timeout=httpx.Timeout(timeout_s, connect=5.0),
            )
        except httpx.TransportError as error:
            raise Unavailable(
                f"the gateway at {self.session.url} does not answer ({error or type(error).__name__}); "
                "./sluice status shows which part is down",
                part="gateway",
            ) from error
        except (httpx.InvalidURL, UnicodeEncodeError) as error:
            raise InputError(
                f"{self.session.url}: not an address or key that can be used: {error}"
            ) from error
        if answer.is_error:
            raise problem(answer)
        return answer


def problem(answer: httpx.Response) -> SluiceError:
    """Turn an answer that is an error into the error that the gateway raised."""
    try:
        body = answer.json()
        code = str(body["type"]).rsplit("/", 1)[-1]
        sentence = str(body.get("detail") or body["title"])
    except (ValueError, KeyError, TypeError):
        return _unreadable(answer)
    known = {"type", "title", "status", "detail", "instance", "retry_after_s"}
    details = {str(key): value for key, value in body.items() if key not in known}
    error = by_code(code)(sentence)
    error.details.update(details)
    return error


def _unreadable(answer: httpx.Response) -> SluiceError:
    words = f"the gateway answered {answer.status_code} {answer.reason_phrase} without a problem document"
    return Unavailable(words) if answer.status_code in (502, 503, 504) else SluiceError(words)


def _one_part(job_id: str) -> str:
    """Keep an id from being more than one part of the path."""
    if not job_id or not all(letter.isalnum() or letter == "_" for letter in job_id):
        raise InputError(
            f"{job_id!r} is not a job: give job_..., a number such as 17, or a task such as 17_3"
        )
    return job_id
