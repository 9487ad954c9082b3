"""The FastAPI application: routes, errors, what is around a request. Wiring is `gateway.compose`'s."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Callable
from typing import Final

from fastapi import FastAPI
from fastapi_offline import FastAPIOffline

from bridge.version import VERSION
from gateway import problems
from gateway.compose import Parts, running
from gateway.metrics import Metrics
from gateway.requests import Around
from gateway.routes import (
    audit,
    commands,
    health,
    jobs,
    keys,
    logs,
    prices,
    reports,
    schemas,
    scripts,
    tenants,
    whoami,
)

DESCRIPTION: Final = """One GPU pool, scheduled by Slurm. Send an API key or a token of the
site's sign-in as `Authorization: Bearer ...`.

Errors are `application/problem+json` (RFC 9457): `type` ends in a stable code, `detail` is one sentence.
A 503 carries Retry-After. Give a submission an `Idempotency-Key` to be able to repeat it.
"""


def create_app(make: Callable[[], Parts], *, max_body_bytes: int) -> FastAPI:
    """Build the application.

    Parameters
    ----------
    make
        Makes the parts, in the server's event loop, when it starts.
    max_body_bytes
        Longest body of a request.
    """

    @contextlib.asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        parts = make()
        app.state.parts = parts
        async with running(parts):
            yield

    # A factory whose pages load their scripts from this server, never from a CDN.
    app: FastAPI = FastAPIOffline(
        title="Sluice",
        version=VERSION,
        description=DESCRIPTION,
        lifespan=lifespan,
        # A redirect to the route without its slash would be answered as text, and lose a script on the way.
        redirect_slashes=False,
    )
    problems.install(app)
    for module in (
        jobs,
        scripts,
        commands,
        logs,
        tenants,
        reports,
        prices,
        whoami,
        keys,
        audit,
        schemas,
        health,
    ):
        app.include_router(module.router)

    def metrics() -> Metrics | None:
        parts: Parts | None = getattr(app.state, "parts", None)
        return parts.metrics if parts else None

    app.add_middleware(Around, metrics=metrics, max_body_bytes=max_body_bytes)
    return app
