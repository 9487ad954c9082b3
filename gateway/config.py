"""Settings of the gateway process: environment variables ``SLUICE_GATEWAY_<NAME>``.

Every age and time-out is a setting, so that tests can shorten it. Durations are seconds (``_s``).
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from pydantic import Field
from pydantic_settings import BaseSettings, SettingsConfigDict

from bridge.wellknown import AGENT_SOCKET, BRIDGE_SOCKET, FILES_SOCKET, GATEWAY_STATE_DIR, HOMES_DIR

Seconds = Annotated[float, Field(gt=0)]


class Settings(BaseSettings):
    """All settings, with defaults for the containers of a stack."""

    model_config = SettingsConfigDict(env_prefix="SLUICE_GATEWAY_", extra="forbid", frozen=True)

    host: str = "0.0.0.0"  # noqa: S104 - inside its container; only loopback is published
    port: Annotated[int, Field(ge=0, le=65535)] = 8080
    database_url: str = f"sqlite:///{GATEWAY_STATE_DIR}/gateway.db"
    """SQLAlchemy URL, ``sqlite:///PATH`` or ``postgresql+psycopg://...``."""

    agent_socket: str = AGENT_SOCKET
    bridge_socket: str = BRIDGE_SOCKET
    files_socket: str = FILES_SOCKET
    homes_dir: str = HOMES_DIR
    site_file: Path | None = None
    """YAML with the site's own settings, see `gateway.site`."""

    poll_min_s: Seconds = 1.0
    """Between two listings of slurmctld while jobs change."""
    poll_max_s: Seconds = 5.0
    """Between two listings while nothing changes."""
    accounting_every_s: Seconds = 10.0
    """Between two scans of slurmdbd."""
    accounting_margin_s: Seconds = 600.0
    """How far before the last complete scan the next one begins, for rows that came late."""
    accounting_deep_every_s: Seconds = 3600.0
    """Between two scans that go back by `accounting_deep_s`."""
    accounting_deep_s: Seconds = 86400.0
    accounting_history_s: Seconds = 35 * 86400.0
    """How far the very first scan goes back."""

    tenants_every_s: Seconds = 3.0
    """Between two readings of the tenant documents."""
    pool_every_s: Seconds = 60.0
    """Between two readings of nodes and partitions for the pool's flavors."""
    key_cache_s: Seconds = 2.0
    """How long a key that was found is trusted: a revoked key ends within it."""

    key_max_days: Annotated[float, Field(gt=0)] | None = None
    """Longest life of an API key that is made over HTTP; without it, none."""

    readiness_remembered_s: Seconds = 1.0
    """How long an answer of /readyz is shared."""

    submit_settle_s: Seconds = 45.0
    """Longest time that the slurm-agent may still work on a submission of a process that died; above
    the agent's own deadline for one. Until then a missing job isn't proof that it was not submitted."""
    submit_resolve_s: Seconds = 8.0
    """How long a request waits for the truth after Slurm gave no answer; then it is answered 503."""
    submissions_at_once: Annotated[int, Field(ge=1)] = 16
    """Submissions that may be with the slurm-agent at the same time."""
    replay_every_s: Seconds = 2.0
    """Between two looks for the jobs of open intents."""

    replay_confirm_s: Seconds = 5.0
    """Between the two listings that must lack a job before it is submitted again."""
    replay_give_up_s: Seconds = 86400.0
    """A submission that a crash left open for longer is closed as failed."""

    max_body_bytes: Annotated[int, Field(ge=1)] = 16 * 1024 * 1024
    log_json: bool = True
