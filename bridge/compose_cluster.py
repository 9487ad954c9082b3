"""Wires the bridge for a Kubernetes cluster: custom resources, lease, TLS server, probes, published files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from bridge.cluster_loop import ClusterLoop, Measures
from bridge.config import BridgeConfig, ClusterConfig
from bridge.errors import Denied, Unavailable
from bridge.health import Heartbeat
from bridge.kube.client import connect
from bridge.kube.lease import Lease, LeaseTiming
from bridge.kube.port import Cluster
from bridge.kube.tokens import TokenReviews
from bridge.policy.script import script_text
from bridge.probes import Probes
from bridge.serve import handlers
from bridge.slurm.client import AgentClient
from bridge.slurm.port import Slurm
from bridge.tenants.directory import Getent
from bridge.tenants.flow import Tenants
from bridge.tenants.namespaces import NamespaceRules
from bridge.tenants.namespaces_flow import Namespaces
from bridge.tenants.policy_files import PolicyFiles
from bridge.tenants.published import Published
from bridge.tenants.registry import ClusterUserFiles
from bridge.tenants.resources import ResourcePass, Resources
from bridge.tenants.said import Said
from bridge.wire import Admit, Handler, SecureServer

EVERYWHERE: Final = "0.0.0.0"  # noqa: S104 - inside a pod; NetworkPolicy and tokens say who may speak
ALL: Final = "*"
SERVICE_ACCOUNT: Final = "system:serviceaccount:"


class PublishingUserFiles(ClusterUserFiles):
    """User files that slurmctld fetches: a new user must be there before Slurm hears of it."""

    published: Published | None = None
    wait_s: float = 0.0

    def settle(self) -> None:
        """Wait until slurmctld's pod has the users; raises `Unavailable`."""
        if self.published is not None and self.wait_s > 0:
            self.published.wait_for_slurmctld(seconds=self.wait_s)


@dataclass(frozen=True, slots=True)
class ClusterBridge:
    """The whole process."""

    server: SecureServer
    probes: Probes
    loop: ClusterLoop

    def run(self) -> int:
        """Serve and reconcile until `stop`; returns the exit status, 1 when the lease was lost."""
        self.server.start()
        self.probes.start()
        try:
            self.loop.run()
        finally:
            self.server.shutdown()
            self.probes.shutdown()
        return 1 if self.loop.lost else 0

    def stop(self) -> None:
        """Let `run` end."""
        self.loop.stop()


def compose_cluster(
    config: BridgeConfig, site: ClusterConfig, cluster: Cluster | None = None, slurm: Slurm | None = None
) -> ClusterBridge:
    """Build the bridge; `cluster` and `slurm` stand in for the real ones in tests."""
    cluster = cluster if cluster is not None else connect()
    port = slurm if slurm is not None else AgentClient(str(config.agent_socket))
    published = Published(users_dir=config.users_dir, policy_dir=config.policy_dir)
    users = PublishingUserFiles(
        cluster, namespace=site.namespace, prefix=site.name, users_dir=config.users_dir
    )
    users.published, users.wait_s = published, site.wait_for_slurmctld_s
    source = Resources(cluster, config.tenants_dir)
    tenants = Tenants(
        slurm=port,
        folder=source,
        users=users,
        policy=PolicyFiles(folder=config.policy_dir, script=script_text(config.job_submit)),
        site=config.site,
        directory=Getent(timeout_s=config.directory_timeout_s),
    )
    heartbeat = Heartbeat(stale_s=config.stale_s)
    loop = _loop(config, site, cluster, tenants=tenants, source=source, heartbeat=heartbeat)
    operations = handlers(
        tenants=tenants, slurm=port, heartbeat=heartbeat, published=published, said=Said(config.said_dir)
    )
    return ClusterBridge(
        server=SecureServer(
            (EVERYWHERE, site.port),
            _by_the_leader(operations, loop),
            certificate=site.certificate,
            key=site.key,
            admit=admission(cluster, site, frozenset(operations)),
        ),
        probes=Probes(
            (EVERYWHERE, site.probe_port),
            alive=lambda: "the lease is lost" if loop.lost else "",
            ready=lambda: "",
            registry=loop.measures.registry,
        ),
        loop=loop,
    )


def _loop(
    config: BridgeConfig,
    site: ClusterConfig,
    cluster: Cluster,
    *,
    tenants: Tenants,
    source: Resources,
    heartbeat: Heartbeat,
) -> ClusterLoop:
    rules = NamespaceRules(
        gpu_resources=site.gpu_resources,
        roles={"member": site.member_role, "manager": site.manager_role},
        user_prefix=site.user_prefix,
    )
    timing = LeaseTiming(
        duration_s=site.lease_s, renew_deadline_s=site.lease_s * 2 / 3, retry_s=site.lease_s / 7.5
    )
    return ClusterLoop(
        cluster=cluster,
        lease=Lease(
            cluster, namespace=site.namespace, name=f"{site.name}-bridge", identity=site.pod, timing=timing
        ),
        tenants=tenants,
        resources=ResourcePass(cluster, source, tenants),
        namespaces=Namespaces(cluster, rules),
        heartbeat=heartbeat,
        measures=Measures(),
        place=(site.namespace, site.pod),
        interval_s=config.interval_s,
        retry_s=config.retry_s,
    )


def admission(cluster: Cluster, site: ClusterConfig, operations: frozenset[str]) -> Admit:
    """Return what decides, from a caller's token, which operations it may ask."""
    reviews = TokenReviews(cluster, audience=site.audience)

    def admit(token: str) -> frozenset[str]:
        user = reviews.user_of(token)
        allowed = site.callers.get(user.removeprefix(SERVICE_ACCOUNT))
        if not user.startswith(SERVICE_ACCOUNT) or allowed is None:
            raise Denied(f"{user} may not speak to the bridge; the chart's values name who may")
        return operations if ALL in allowed else operations & frozenset(allowed)

    return admit


def _by_the_leader(operations: Mapping[str, Handler], loop: ClusterLoop) -> dict[str, Handler]:
    def guarded(handler: Handler) -> Handler:
        def handle(args: Mapping[str, Any]) -> Any:  # noqa: ANN401 - what the operation answers
            if not loop.leads:
                raise Unavailable("this bridge stands by, another one leads; try again", part="bridge")
            return handler(args)

        return handle

    return {name: guarded(handler) for name, handler in operations.items()}
