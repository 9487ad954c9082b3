"""What a site may change about the bridge: ``SLUICE_BRIDGE_*`` in the environment."""

from __future__ import annotations

from pathlib import Path

from pydantic import Field
from pydantic_settings import BaseSettings, SettingsConfigDict

from bridge import wellknown
from bridge.policy.pool import NO_ALIASES, Aliases

_SHIPPED_SCRIPT = Path(__file__).parents[1] / "slurm-conf" / "job_submit.lua"


class BridgeConfig(BaseSettings):
    """Paths, sockets and ages. Seconds are floats above 0."""

    model_config = SettingsConfigDict(env_prefix="SLUICE_BRIDGE_", frozen=True)

    socket: Path = Path(wellknown.BRIDGE_SOCKET)
    agent_socket: Path = Path(wellknown.AGENT_SOCKET)
    tenants_dir: Path = Path(wellknown.TENANTS_DIR)
    users_dir: Path = Path(wellknown.USERS_DIR)
    policy_dir: Path = Path(wellknown.POLICY_DIR)
    job_submit: Path = _SHIPPED_SCRIPT
    """The job_submit.lua that is put into the policy folder."""
    allowed_uids: frozenset[int] = frozenset({0, wellknown.SLUICE_UID})
    """uids that may speak to the bridge."""
    aliases: Aliases = NO_ALIASES
    """A site's old names, as JSON: ``{"partitions": {"gpu": "h100"}, "qos": {"normal": "training"}}``."""
    interval_s: float = Field(default=30.0, gt=0)
    """Between two passes of the reconcile loop when nothing happens."""
    retry_s: float = Field(default=1.0, gt=0)
    """First pause after a failed pass; doubled up to `interval_s`."""
    stale_s: float = Field(default=120.0, gt=0)
    """Age of the last good pass above which the bridge isn't healthy."""
