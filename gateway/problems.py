"""Errors as RFC 9457 problems: one table from error code to status and title.

What flows in: any exception. What flows out: ``application/problem+json`` with one sentence. Never a
traceback, and never a text of a library.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any, Final

import structlog
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from bridge.errors import SluiceError, SlurmRefused, Unavailable

TYPE_PREFIX: Final = "https://sluice.sh/problems/"
MEDIA_TYPE: Final = "application/problem+json"

PROBLEMS: Final[Mapping[str, tuple[HTTPStatus, str]]] = {
    "internal": (HTTPStatus.INTERNAL_SERVER_ERROR, "Something failed inside the gateway"),
    "invalid-input": (HTTPStatus.UNPROCESSABLE_ENTITY, "The request is not valid"),
    "invalid-script": (HTTPStatus.UNPROCESSABLE_ENTITY, "The batch script is not valid"),
    "invalid-tenant": (HTTPStatus.UNPROCESSABLE_ENTITY, "The tenant document is not valid"),
    "key-reused": (HTTPStatus.UNPROCESSABLE_ENTITY, "The idempotency key belongs to another request"),
    "too-large": (HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "The request is too large"),
    "policy-refused": (HTTPStatus.FORBIDDEN, "A rule of the tenant refuses the job"),
    "unauthenticated": (HTTPStatus.UNAUTHORIZED, "The request has no valid key"),
    "denied": (HTTPStatus.FORBIDDEN, "Not allowed"),
    "not-found": (HTTPStatus.NOT_FOUND, "Not found"),
    "conflict": (HTTPStatus.CONFLICT, "The request contradicts the present state"),
    "outdated": (HTTPStatus.PRECONDITION_FAILED, "Changed in the meantime"),
    "unavailable": (HTTPStatus.SERVICE_UNAVAILABLE, "A part that is needed does not answer"),
    "outcome-unknown": (HTTPStatus.SERVICE_UNAVAILABLE, "It is not known yet whether it happened"),
    "slurm-refused": (HTTPStatus.UNPROCESSABLE_ENTITY, "Slurm refused"),
    "unknown-job-state": (HTTPStatus.BAD_GATEWAY, "Slurm shows a state that this version does not know"),
    "unsupported": (HTTPStatus.UNPROCESSABLE_ENTITY, "This can't be carried to Slurm"),
    "step-failed": (HTTPStatus.INTERNAL_SERVER_ERROR, "A step failed"),
}
"""Total over `bridge.errors`; a test holds it so."""

EAGAIN: Final = 11
"""slurmctld's answer when it has MaxJobCount jobs (job_mgr.c, `job_allocate`): the queue is full."""
FULL_QUEUE_RETRY_S: Final = 30


class ProblemResponse(JSONResponse):
    """A problem; a detail that JSON doesn't know (a time) is written as text."""

    media_type = MEDIA_TYPE

    def render(self, content: object) -> bytes:
        """Write the body."""
        return json.dumps(content, ensure_ascii=False, default=str).encode()


def status_of(error: SluiceError) -> HTTPStatus:
    """Return the HTTP status of an error."""
    if isinstance(error, SlurmRefused) and error.errno == EAGAIN:
        return HTTPStatus.SERVICE_UNAVAILABLE
    return PROBLEMS[error.code][0]


def problem(error: SluiceError, *, instance: str) -> JSONResponse:
    """Turn an error into its answer."""
    status = status_of(error)
    details = dict(error.details)
    if isinstance(error, SlurmRefused):
        details.setdefault("slurm_words", error.message)
    headers: dict[str, str] = {}
    if status == HTTPStatus.SERVICE_UNAVAILABLE:
        headers["Retry-After"] = str(details.get("retry_after_s") or FULL_QUEUE_RETRY_S)
    if status == HTTPStatus.UNAUTHORIZED:
        headers["WWW-Authenticate"] = 'Bearer realm="sluice"'
    return _answer(
        code=error.code,
        status=status,
        title=PROBLEMS[error.code][1],
        detail=error.message,
        instance=instance,
        details=details,
        headers=headers,
    )


def install(app: FastAPI) -> None:
    """Answer every exception of the app with a problem."""
    app.add_exception_handler(SluiceError, _sluice_error)
    app.add_exception_handler(RequestValidationError, _validation_error)
    app.add_exception_handler(HTTPException, _http_error)
    app.add_exception_handler(Exception, _unexpected)


async def _sluice_error(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, SluiceError)  # noqa: S101 - for the type checker; registered for this class
    if isinstance(error, Unavailable) or status_of(error) >= HTTPStatus.INTERNAL_SERVER_ERROR:
        structlog.get_logger(__name__).warning("request failed", code=error.code, reason=error.message)
    return problem(error, instance=request.url.path)


async def _validation_error(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, RequestValidationError)  # noqa: S101
    faults = [_fault(fault) for fault in error.errors()]
    shown = "; ".join(f"{fault['path']}: {fault['message']}" for fault in faults[:3])
    return _answer(
        code="invalid-input",
        status=HTTPStatus.UNPROCESSABLE_ENTITY,
        title=PROBLEMS["invalid-input"][1],
        detail=f"{shown}; /docs shows what this route takes",
        instance=request.url.path,
        details={"errors": faults},
        headers={},
    )


def _fault(fault: Mapping[str, Any]) -> dict[str, str]:
    # Neither the input nor pydantic's context is shown: an input may be a secret, and is the client's own.
    path = ".".join(str(part) for part in fault.get("loc", ())) or "body"
    return {"path": path, "message": str(fault.get("msg", "is not valid"))}


async def _http_error(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, HTTPException)  # noqa: S101
    status = HTTPStatus(error.status_code)
    known = {HTTPStatus.NOT_FOUND: "not-found", HTTPStatus.REQUEST_ENTITY_TOO_LARGE: "too-large"}
    slash = "routes have no slash at their end; " if request.url.path.endswith("/") else ""
    detail = {
        HTTPStatus.NOT_FOUND: f"there is nothing at {request.url.path}; {slash}/docs lists the routes",
        HTTPStatus.METHOD_NOT_ALLOWED: f"{request.url.path} does not take {request.method}; see /docs",
    }.get(status, str(error.detail))
    return _answer(
        code=known.get(status, status.phrase.lower().replace(" ", "-")),
        status=status,
        title=status.phrase,
        detail=detail,
        instance=request.url.path,
        details={},
        headers=dict(error.headers or {}),
    )


async def _unexpected(request: Request, error: Exception) -> JSONResponse:
    structlog.get_logger(__name__).error("unexpected error", exc_info=error, path=request.url.path)
    request_id = request.scope.get("state", {}).get("request_id", "unknown")
    return _answer(
        code="internal",
        status=HTTPStatus.INTERNAL_SERVER_ERROR,
        title=PROBLEMS["internal"][1],
        detail=f"the gateway failed on this request; its log has the reason under request id {request_id}",
        instance=request.url.path,
        details={"request_id": request_id},
        headers={"X-Request-Id": request_id},
    )


def unreadable() -> bytes:
    """Return the body that answers what is not HTTP; there is no request then, and no path."""
    detail = "this is not a valid HTTP request: look at its first line and its headers"
    return bytes(
        _answer(
            code="bad-request",
            status=HTTPStatus.BAD_REQUEST,
            title=HTTPStatus.BAD_REQUEST.phrase,
            detail=detail,
            instance="",
            details={},
            headers={},
        ).body
    )


def _answer(
    *,
    code: str,
    status: HTTPStatus,
    title: str,
    detail: str,
    instance: str,
    details: Mapping[str, object],
    headers: Mapping[str, str],
) -> JSONResponse:
    body = {
        **{name: value for name, value in details.items() if name != "retry_after_s"},
        "type": f"{TYPE_PREFIX}{code}",
        "title": title,
        "status": int(status),
        "detail": detail,
        "instance": instance,
    }
    return ProblemResponse(body, status_code=status, headers=dict(headers))
