"""Settings of the slurm-agent: environment variables ``SLUICE_AGENT_*``."""

from __future__ import annotations

import os
from pathlib import Path

from pydantic import Field
from pydantic_settings import BaseSettings, SettingsConfigDict

from bridge.errors import InputError
from bridge.wellknown import AGENT_SOCKET, SLUICE_UID, SLURM_UID


class AgentConfig(BaseSettings):
    """What the agent may be told; every default is right for the local cluster."""

    model_config = SettingsConfigDict(env_prefix="SLUICE_AGENT_", extra="forbid", frozen=True)

    socket: str = AGENT_SOCKET
    allowed_uids: frozenset[int] = frozenset({0, SLURM_UID, SLUICE_UID})
    """uids that may speak to the agent: they can submit as anybody."""
    rest_url: str = "http://slurmrestd:6820"
    slurm_key: Path = Path("/etc/slurm/slurm.key")
    jwt_key: Path = Path("/etc/slurm/jwt_hs256.key")
    slurm_user: str = "slurm"
    native: bool = True
    """Whether to use libslurm and pyslurm where the image has them."""
    native_workers: int = Field(default=2, ge=1, le=64)
    write_deadline_s: float = Field(default=15.0, gt=0)
    """Longest wait for slurmctld's answer to a change; above Slurm's own MessageTimeout of 10 s."""
    read_deadline_s: float = Field(default=12.0, gt=0)
    """Longest wait for one record or a listing."""
    health_deadline_s: float = Field(default=3.0, gt=0)
    accounting_deadline_s: float = Field(default=60.0, gt=0)
    """Longest wait for slurmdbd's answer to a change of many accounts."""


def read_keys(config: AgentConfig) -> bytes:
    """Return the JWT key.

    Raises
    ------
    InputError
        A key is missing or unreadable: nothing would work, so the agent doesn't start.
    """
    if not os.access(config.slurm_key, os.R_OK):
        raise InputError(
            f"the slurm-agent (uid {os.getuid()}) can't read {config.slurm_key}; mount Slurm's key there, "
            "readable by SlurmUser alone, or set SLUICE_AGENT_SLURM_KEY"
        )
    try:
        key = config.jwt_key.read_bytes()
    except OSError as error:
        raise InputError(
            f"the slurm-agent (uid {os.getuid()}) can't read {config.jwt_key} ({error.strerror}); mount the "
            "key that slurm.conf's AuthAltParameters names, or set SLUICE_AGENT_JWT_KEY"
        ) from error
    if not key:
        raise InputError(f"{config.jwt_key} is empty; make it with: dd if=/dev/urandom of=KEY bs=32 count=1")
    return key
