"""One of Slurm's own commands, run for hosts that have none, and what it said."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

_Word = Annotated[str, StringConstraints(max_length=128 * 1024, pattern=r"^[^\x00]*$")]
_Name = Annotated[str, StringConstraints(max_length=64, pattern=r"^[A-Z][A-Z0-9_]*$")]


class RunCommand(BaseModel):
    """What `POST /v1/commands/{command}` takes."""

    model_config = ConfigDict(
        extra="forbid", frozen=True, json_schema_extra={"examples": [{"args": ["-h", "-o", "%i %T"]}]}
    )

    args: list[_Word] = Field(default_factory=list, description="As on the command line.")
    variables: dict[_Name, _Word] = Field(
        default_factory=dict, description="Such as `SQUEUE_FORMAT`; what the command doesn't read is ignored."
    )


class CommandOutput(BaseModel):
    """What the command said; one that failed is an answer too."""

    exit_code: int
    stdout: str = Field(description="Bytes that aren't UTF-8 are replaced.")
    stderr: str
