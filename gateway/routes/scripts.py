"""``/v1/scripts:lint`` and ``/v1/jobs:test``: look at a submission without making it."""

from __future__ import annotations

from fastapi import APIRouter, Request

from bridge.sbatch import hints
from gateway.auth import Looker
from gateway.compose import Parts
from gateway.price.estimate import holding_of
from gateway.routes.submission import BODY, Asked
from gateway.schemas.v1.preview import JobTest, Lint, SiteOptions, lint_of, site_options_of, test_of
from gateway.schemas.v1.problem import problems

router = APIRouter(prefix="/v1", tags=["jobs"])


@router.post("/scripts:lint", responses=problems(401, 413, 422, 503), openapi_extra=BODY)
async def lint_script(request: Request, caller: Looker, submission: Asked) -> Lint:
    """Say what a script asks, after precedence, and what may be meant otherwise; Slurm is not asked.

    A script that sbatch would refuse is answered with the problem that its submission would get.
    """
    parsed = await _parts(request).preview.reader.read(submission, user=caller.user)
    return lint_of(parsed, hints(submission.script, parsed))


@router.get("/scripts:options", responses=problems(401, 403))
async def site_options(request: Request, caller: Looker) -> SiteOptions:
    """List the options that this site's SPANK plugins add to sbatch's own."""
    return site_options_of(_parts(request).preview.reader.place.site_options)


@router.post("/jobs:test", responses=problems(401, 403, 413, 422, 503), openapi_extra=BODY)
async def test_job(request: Request, caller: Looker, submission: Asked) -> JobTest:
    """Say whether, when and where a job would start, or why it would wait; nothing is submitted.

    It takes what `POST /v1/jobs` takes. A job that would be refused is answered with the same problem.
    """
    parts = _parts(request)
    previewed = await parts.preview.of(submission, user=caller.user, caller=caller)
    holdings = [
        holding_of(each.spec, each.decision, cpus=each.forecast.cpus, user=caller.user)
        for each in previewed.expected
        if each.decision is not None
    ]
    known = len(holdings) == len(previewed.expected)
    return test_of(previewed, parts.prices.estimate(holdings) if known else None)


def _parts(request: Request) -> Parts:
    parts: Parts = request.app.state.parts
    return parts
