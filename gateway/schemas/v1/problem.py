"""An error as version 1 of the API shows it (RFC 9457), for the API's description."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, Field


class Problem(BaseModel):
    """What went wrong, where, and how to mend it."""

    model_config = ConfigDict(
        extra="allow",
        json_schema_extra={
            "examples": [
                {
                    "type": "https://sluice.sh/problems/policy-refused",
                    "title": "A rule of the tenant refuses the job",
                    "status": 403,
                    "detail": "tenant genomics may use 2 h100 GPUs at once, this job asks 4; ask fewer "
                    "or have the limit raised",
                    "instance": "/v1/jobs",
                    "rule": "flavor.limit",
                }
            ]
        },
    )

    type: str = Field(description="Stable; ends in the error's code.")
    title: str
    status: int
    detail: str = Field(description="One sentence for a person.")
    instance: str = Field(description="The path that was asked.")


def problems(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Return the description of error answers for a route's `responses`."""
    said = {
        401: "No valid API key",
        403: "Not allowed, or a rule of the tenant refuses it",
        404: "Not there, or not visible to the caller",
        409: "Contradicts the present state",
        412: "Changed in the meantime: not the revision that was named",
        413: "Too large",
        415: "Not a type of body that the route takes",
        422: "Not valid",
        503: "A part that is needed does not answer; Retry-After says when to ask again",
    }
    schema = {"application/problem+json": {"schema": Problem.model_json_schema()}}
    return {status: {"description": said[status], "content": schema} for status in statuses}
