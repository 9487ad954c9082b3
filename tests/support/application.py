"""An application with some of the gateway's routes, for tests that give it parts of their own."""

from __future__ import annotations

from functools import cache
from types import ModuleType

from fastapi import FastAPI

from gateway import problems


@cache
def application(*routes: ModuleType) -> FastAPI:
    """Build it once a process, of modules with a `router`: analysing routes costs a tenth of a second.

    Whoever uses it sets ``app.state.parts`` and ``app.dependency_overrides`` anew.
    """
    app = FastAPI()
    problems.install(app)
    for module in routes:
        app.include_router(module.router)
    return app
