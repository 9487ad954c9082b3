"""What a site may change about the bridge: ``SLUICE_BRIDGE_*`` in the environment."""

from __future__ import annotations

from pathlib import Path
from typing import Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

from bridge import wellknown
from bridge.policy.script import SHIPPED
from bridge.policy.site import Aliases, ClassTimes, Share, Site, Stoppable


class ClusterConfig(BaseModel):
    """What a bridge in a Kubernetes cluster needs besides; as JSON in ``SLUICE_BRIDGE_CLUSTER``."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    namespace: str
    """The bridge's own: its Lease, its ConfigMaps and its pod are there."""
    pod: str
    """The pod's name, unique among those that stand for the lease."""
    name: str = "sluice"
    """Begins the names of Lease and ConfigMaps."""
    port: int = Field(default=7443, ge=0, le=65535)
    certificate: Path = Path("/run/sluice/bridge-tls/tls.crt")
    key: Path = Path("/run/sluice/bridge-tls/tls.key")
    audience: str = "sluice-bridge"
    """Tokens of callers must be for it."""
    callers: dict[str, tuple[str, ...]] = {}
    """ServiceAccount (``NAMESPACE:NAME``) to the operations that it may ask; ``*`` is all."""
    wait_for_slurmctld_s: float = Field(default=20.0, ge=0)
    """How long a new user may take to reach slurmctld's pod; 0 where nothing fetches files there."""
    lease_s: int = Field(default=15, ge=3)
    probe_port: int = Field(default=8081, ge=0, le=65535)
    gpu_resources: tuple[str, ...] = ("nvidia.com/gpu",)
    member_role: str = "edit"
    manager_role: str = "admin"
    user_prefix: str = ""
    """Stands before user names where the API server's OIDC settings put one."""


class BridgeConfig(BaseSettings):
    """Paths, sockets and ages. Seconds are floats above 0."""

    model_config = SettingsConfigDict(env_prefix="SLUICE_BRIDGE_", frozen=True)

    socket: Path = Path(wellknown.BRIDGE_SOCKET)
    agent_socket: Path = Path(wellknown.AGENT_SOCKET)
    source: Literal["folder", "resources"] = "folder"
    """Where tenant documents come from: files, or custom resources of a Kubernetes cluster."""
    cluster: ClusterConfig | None = None
    """Set with source ``resources``."""
    tenants_dir: Path = Path(wellknown.TENANTS_DIR)
    users_dir: Path = Path(wellknown.USERS_DIR)
    policy_dir: Path = Path(wellknown.POLICY_DIR)
    said_dir: Path = Path(wellknown.SAID_DIR)
    """Where job_submit.lua tells what it refused; without the folder nothing is counted."""
    job_submit: Path = SHIPPED
    """The files of the job_submit.lua that is put into the policy folder."""
    allowed_uids: frozenset[int] = frozenset({0, wellknown.SLUICE_UID})
    """uids that may speak to the bridge."""
    aliases: Aliases = Aliases()
    """A site's old names, as JSON: ``{"partitions": {"gpu": "h100"}, "qos": {"normal": "training"}}``."""
    shares: dict[str, Share] = Field(default_factory=dict)
    """What may go with one GPU, as JSON by flavor: ``{"h100": {"cpus_per_gpu": 8}}``."""
    class_times: dict[Stoppable, ClassTimes] = Field(default_factory=dict)
    """Least running time and grace by class: ``{"training": {"exempt_s": 900, "grace_s": 120}}``."""
    spare_nodes: int | None = Field(default=None, ge=0)
    """Nodes of each flavor that may fail without breaking a guarantee; guarantees fit into the others. By
    default one, of a flavor with at least three nodes."""
    directory_timeout_s: float = Field(default=10.0, gt=0)
    """Longest wait for the site's own directory of users and groups (NSS)."""
    interval_s: float = Field(default=30.0, gt=0)
    """Between two passes of the reconcile loop when nothing happens."""
    retry_s: float = Field(default=1.0, gt=0)
    """First pause after a failed pass; doubled up to `interval_s`."""
    stale_s: float = Field(default=120.0, gt=0)
    """Age of the last good pass above which the bridge isn't healthy."""

    @model_validator(mode="after")
    def _cluster_is_known(self) -> Self:
        if self.source == "resources" and self.cluster is None:
            raise ValueError("source resources needs cluster, as JSON: namespace and pod at least")
        return self

    @property
    def site(self) -> Site:
        """What the site settles beside the tenants' documents."""
        return Site(
            aliases=self.aliases,
            shares=self.shares,
            class_times=self.class_times,
            spare_nodes=self.spare_nodes,
        )
