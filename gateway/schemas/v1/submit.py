"""A submission as JSON; the raw form (the script as the body) needs no schema."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Base64Bytes, BaseModel, ConfigDict, Field, StringConstraints, model_validator

OptionValue = str | int | bool | None | list[str | int]

_NoNul = StringConstraints(pattern=r"^[^\x00]*$")
Text = Annotated[str, _NoNul]
VariableName = Annotated[str, StringConstraints(pattern=r"^[^=\x00]+$")]


LimitName = Literal["CPU", "FSIZE", "DATA", "STACK", "CORE", "RSS", "NPROC", "NOFILE", "MEMLOCK", "AS"]


class SubmitJob(BaseModel):
    """What `POST /v1/jobs` takes as ``application/json``."""

    model_config = ConfigDict(
        extra="forbid",
        frozen=True,
        populate_by_name=True,
        json_schema_extra={
            "examples": [
                {
                    "script": "#!/bin/bash\n#SBATCH --gpus=h100:1\nnvidia-smi\n",
                    "options": {"time": "10", "job-name": "look"},
                    "work_dir": "/home/ada",
                    "environment": {"EPOCHS": "3"},
                    "tenant": "astro",
                    "class": "development",
                }
            ]
        },
    )

    script: str = Field(
        default="", description="The batch script, `#SBATCH` lines included; it is sent as it is."
    )
    script_base64: Base64Bytes | None = Field(
        default=None, description="In place of `script`, for one that isn't UTF-8."
    )
    options: dict[str, OptionValue] | list[Text] = Field(
        default_factory=dict,
        description="sbatch's options, which win over the script's: long names without dashes "
        '(`{"time": "10", "exclusive": true}`), or words as on the command line.',
    )
    args: list[Text] = Field(default_factory=list, description="Arguments of the script itself.")
    work_dir: Text | None = Field(default=None, description="Absolute; the user's home by default.")
    environment: dict[VariableName, Text] = Field(
        default_factory=dict,
        description="Variables of the job beside HOME, USER, LOGNAME, SHELL and PATH; "
        "`SBATCH_*` are options as for sbatch.",
    )
    tenant: Text | None = Field(default=None, description="The user's default tenant by default.")
    job_class: Text | None = Field(
        default=None, alias="class", description="The tenant's default class by default."
    )
    name: Text | None = Field(default=None, description="The job's name (`--job-name`).")
    file_name: Text | None = Field(
        default=None, description="The script's file name, the default of the name."
    )
    submit_host: Text | None = Field(
        default=None, description="`SLURM_SUBMIT_HOST`; the gateway's host by default."
    )
    files: dict[Text, Base64Bytes] = Field(
        default_factory=dict,
        description="Contents in base64 of files that options name (`--nodefile`, `--bbf`, `--export-file`), "
        "by the path as it is written; others are read on the cluster, as the user, from `work_dir`.",
    )
    limits: dict[LimitName, int] | None = Field(
        default=None,
        description="Soft limits of the submitting process (`NOFILE`: 1024; -1 is unlimited), as sbatch "
        "takes them along; by default those that the site names, else the node's own hold.",
    )

    @model_validator(mode="after")
    def _one_script(self) -> Self:
        if self.script and self.script_base64 is not None:
            raise ValueError("script and script_base64 are both given; keep one")
        return self
