"""Wires the bridge once: configuration -> port, tenants, loop, server."""

from __future__ import annotations

import threading
from dataclasses import dataclass

import structlog

from bridge.config import BridgeConfig
from bridge.errors import SluiceError
from bridge.health import Heartbeat
from bridge.policy.script import script_text
from bridge.serve import handlers
from bridge.slurm.client import AgentClient
from bridge.slurm.port import Slurm
from bridge.tenants.directory import Getent
from bridge.tenants.flow import Tenants
from bridge.tenants.policy_files import PolicyFiles
from bridge.tenants.said import Said
from bridge.tenants.source import Folder
from bridge.tenants.users import UserFiles
from bridge.wire import Server

_log = structlog.get_logger(__name__)


class Loop:
    """Reconciles the tenants for ever: every `interval_s`, sooner after a failure (backing off) or a nudge.

    It repairs what drifts without a change of ours: partitions lose AllowAccounts when slurmctld restarts,
    somebody uses sacctmgr on what Sluice made, a drained association's last job ends.
    """

    def __init__(self, tenants: Tenants, heartbeat: Heartbeat, *, interval_s: float, retry_s: float) -> None:
        self._tenants = tenants
        self._heartbeat = heartbeat
        self._interval_s = interval_s
        self._retry_s = retry_s
        self._stop = threading.Event()

    def run(self) -> None:
        """Run until `stop`."""
        pause_s = self._retry_s
        while not self._stop.is_set():
            if self.once():
                pause_s = self._retry_s
                self._stop.wait(self._interval_s)
            else:
                self._stop.wait(pause_s)
                pause_s = min(pause_s * 2, self._interval_s)

    def once(self) -> bool:
        """Make one pass; returns whether it ended well. A fault is said once a pass, never raised."""
        try:
            actions = self._tenants.reconcile()
        except SluiceError as error:
            self._heartbeat.bad(error.message)
            _log.warning("tenants not reconciled", code=error.code, problem=error.message)
            return False
        except Exception:  # noqa: BLE001 - a loop outlives whatever one pass meets
            self._heartbeat.bad("a pass failed inside; the bridge's log has the reason")
            _log.exception("tenants not reconciled")
            return False
        self._heartbeat.good()
        if actions:
            _log.info("tenants reconciled", actions=len(actions))
        return True

    def stop(self) -> None:
        """Let `run` end."""
        self._stop.set()


@dataclass(frozen=True, slots=True)
class Bridge:
    """The whole process."""

    server: Server
    loop: Loop

    def run(self) -> int:
        """Serve and reconcile until `stop` is called from another thread or a signal handler."""
        self.server.start()
        try:
            self.loop.run()
        finally:
            self.server.shutdown()
        return 0

    def stop(self) -> None:
        """Let `run` end."""
        self.loop.stop()


def compose(config: BridgeConfig, slurm: Slurm | None = None) -> Bridge:
    """Build the bridge; `slurm` stands in for the agent in tests."""
    port = slurm if slurm is not None else AgentClient(str(config.agent_socket))
    tenants = Tenants(
        slurm=port,
        folder=Folder(config.tenants_dir),
        users=UserFiles(tenants_dir=config.tenants_dir, users_dir=config.users_dir),
        policy=PolicyFiles(folder=config.policy_dir, script=script_text(config.job_submit)),
        site=config.site,
        directory=Getent(timeout_s=config.directory_timeout_s),
    )
    heartbeat = Heartbeat(stale_s=config.stale_s)
    operations = handlers(tenants=tenants, slurm=port, heartbeat=heartbeat, said=Said(config.said_dir))
    return Bridge(
        server=Server(str(config.socket), operations, config.allowed_uids),
        loop=Loop(tenants, heartbeat, interval_s=config.interval_s, retry_s=config.retry_s),
    )
