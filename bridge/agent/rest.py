"""slurmrestd: one HTTP conversation, its many ways to say no turned into Sluice's errors once.

In: paths and JSON. Out: JSON of answers that carry no error. slurmrestd sends every error answer twice
on a connection, answers 200 with errors inside, and 511 or 502 for a bad token; so each request has a
connection of its own, and errors are read from the body, by number. What doesn't belong here: what the
bodies mean (`rest_job`, `rest_records`, `rest_accounting`).
"""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from typing import Any, Final

import httpx
import jwt

from bridge.errors import NotFound, OutcomeUnknown, SlurmRefused, Unavailable
from bridge.slurm.errnos import ENDED, error_of

Body = dict[str, Any]
SPOKEN: Final = ("v0.0.45", "v0.0.44", "v0.0.43", "v0.0.42")
"""Versions of slurmrestd's data that Sluice reads, newest first."""
PART: Final = "slurmrestd"
TOKEN_S: Final = 300
_NOT_MODIFIED: Final = 304
_UNKNOWN_PATH: Final = 404


class Rest:
    """slurmrestd as SlurmUser, or as a user by the header X-SLURM-USER-NAME; thread-safe.

    Parameters
    ----------
    url
        ``http://slurmrestd:6820``.
    key
        The JWT key of the cluster (HS256).
    slurm_user
        Name of SlurmUser; its token may name any user.
    deadline_s
        Longest wait for an answer.
    transport
        What carries the requests (tests give their own).
    """

    def __init__(
        self,
        url: str,
        key: bytes,
        *,
        slurm_user: str = "slurm",
        deadline_s: float = 15.0,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        self._key = key
        self._slurm_user = slurm_user
        self._deadline_s = deadline_s
        self._http = httpx.Client(
            base_url=url,
            headers={"Connection": "close"},
            limits=httpx.Limits(max_keepalive_connections=0),
            trust_env=False,
            transport=transport,
        )
        self._token: tuple[float, str] = (0.0, "")
        self._version = ""
        self._lock = threading.Lock()

    @property
    def version(self) -> str:
        """The newest version that both sides speak, found by asking (an unknown one is 404)."""
        if not self._version:
            with self._lock:
                self._version = self._version or self._find_version()
        return self._version

    def _find_version(self) -> str:
        for version in SPOKEN:
            answer = self._exchange("GET", f"/slurm/{version}/ping/", write=False, deadline_s=3.0)
            if answer.status_code != _UNKNOWN_PATH:
                return version
        raise Unavailable(
            f"slurmrestd speaks none of {', '.join(SPOKEN)}; this Slurm is too old or too new for Sluice",
            part=PART,
        )

    def get(
        self, path: str, *, query: Mapping[str, str] | None = None, deadline_s: float | None = None
    ) -> Body:
        """Read ``/slurm/V/PATH`` or, with the prefix ``slurmdb/``, ``/slurmdb/V/PATH``."""
        return self._ask("GET", path, query=query, write=False, deadline_s=deadline_s)

    def post(
        self, path: str, body: Body, *, deadline_s: float | None = None, user: str | None = None
    ) -> Body:
        """Write, as `user` when named; an answer that names a job id is a success whatever else it says."""
        return self._ask("POST", path, body=body, write=True, deadline_s=deadline_s, user=user)

    def change(self, path: str, *, query: Mapping[str, str], user: str | None) -> Body:
        """Ask for a path that changes something though its method is GET (``job/N/requeue``)."""
        return self._ask("GET", path, query=query, write=True, user=user)

    def delete(
        self,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        user: str | None = None,
    ) -> Body:
        """Delete, as `user` when named."""
        return self._ask("DELETE", path, query=query, user=user, write=True)

    def cancel(self, job: str, *, user: str) -> None:
        """Cancel a job or an array task (``12_3``) as `user`; an ended one is no error.

        The per-job ``status`` decides: slurmrestd answers 200 without errors when it refused.
        """
        answer = self.delete(f"job/{job}", user=user)
        for status in answer.get("status") or []:
            error = status.get("error") or {}
            errno = int(error.get("code") or 0)
            if errno and errno not in ENDED:
                raise error_of(errno, _words(error), write=True)

    def alive(self, deadline_s: float) -> None:
        """Ask slurmrestd itself, nobody behind it."""
        answer = self._exchange("GET", "/healthz", write=False, deadline_s=deadline_s)
        if answer.is_error:
            raise Unavailable(f"slurmrestd says that it is not healthy ({answer.status_code})", part=PART)

    def close(self) -> None:
        """Close the client."""
        self._http.close()

    def _ask(
        self,
        method: str,
        path: str,
        *,
        write: bool,
        query: Mapping[str, str] | None = None,
        body: Body | None = None,
        user: str | None = None,
        deadline_s: float | None = None,
    ) -> Body:
        base, _, rest = path.partition("/") if path.startswith("slurmdb/") else ("slurm", "", path)
        answer = self._exchange(
            method,
            f"/{base}/{self.version}/{rest}",
            write=write,
            query=query,
            body=body,
            user=user,
            deadline_s=deadline_s,
        )
        if answer.status_code == _NOT_MODIFIED or not answer.content:
            return {}
        return self._read(answer, write=write, part="slurmdbd" if base == "slurmdb" else "slurmctld")

    def _exchange(
        self,
        method: str,
        path: str,
        *,
        write: bool,
        query: Mapping[str, str] | None = None,
        body: Body | None = None,
        user: str | None = None,
        deadline_s: float | None = None,
    ) -> httpx.Response:
        headers = {"X-SLURM-USER-TOKEN": self._bearer()}
        if user is not None:
            headers["X-SLURM-USER-NAME"] = user
        wait = self._deadline_s if deadline_s is None else deadline_s
        try:
            return self._http.request(
                method,
                path,
                params=query,
                json=body,
                headers=headers,
                timeout=httpx.Timeout(wait, connect=3.0),
            )
        except (httpx.ConnectError, httpx.ConnectTimeout) as error:
            raise Unavailable(f"slurmrestd does not answer ({error})", part=PART) from error
        except httpx.HTTPError as error:
            kind = OutcomeUnknown if write else Unavailable
            raise kind(
                f"slurmrestd gave no answer to {method} ({type(error).__name__})", part=PART
            ) from error

    def _read(self, answer: httpx.Response, *, write: bool, part: str) -> Body:
        try:
            body: Body = answer.json()
        except ValueError as error:
            if answer.status_code == _UNKNOWN_PATH:
                raise NotFound(f"slurmrestd has no {answer.request.url.path}") from error
            kind = OutcomeUnknown if write else Unavailable
            raise kind(f"slurmrestd answered {answer.status_code} without JSON", part=PART) from error
        if body.get("job_id"):
            return body
        for told in body.get("errors") or []:
            errno = int(told.get("error_number") or 0)
            if errno or answer.is_error:
                raise error_of(errno, _words(told), write=write, part=part)
        if answer.is_error:
            raise SlurmRefused(f"slurmrestd answered {answer.status_code}", errno=0)
        return body

    def _bearer(self) -> str:
        until, token = self._token
        now = time.time()
        if now > until - TOKEN_S / 2:
            token = self.token_of(self._slurm_user, TOKEN_S)
            self._token = (now + TOKEN_S, token)
        return token

    def token_of(self, user: str, lives_s: int) -> str:
        """Make a token of Slurm's for a user."""
        now = int(time.time())
        return jwt.encode({"iat": now, "exp": now + lives_s, "sun": user}, self._key, algorithm="HS256")


def _words(error: Mapping[str, Any]) -> str:
    """Return Slurm's words of one error: errno's text, then what slurmrestd says about it."""
    name = str(error.get("error") or error.get("message") or "").strip()
    description = str(error.get("description") or "").strip()
    if name and description and description != name:
        return f"{name} ({description})"
    return name or description or "no reason given"
