"""Health, as version 1 of the API shows it."""

from __future__ import annotations

from pydantic import BaseModel, Field


class PartView(BaseModel):
    """One part that the gateway works with."""

    part: str
    healthy: bool
    needed: bool = Field(description="Whether the gateway is not ready without it.")
    detail: str = ""


class Ready(BaseModel):
    """Whether requests can be served, and by which parts."""

    ready: bool
    parts: list[PartView]


class Alive(BaseModel):
    """The process answers."""

    status: str = "alive"
