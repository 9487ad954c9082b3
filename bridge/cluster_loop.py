"""The bridge in a Kubernetes cluster: stands for the lease, then reconciles tenants while it holds it.

One pass: custom resources -> documents -> Slurm -> namespaces -> status. A watch only makes the next pass
come sooner. A bridge that loses its lease ends itself: what it was doing must not go on beside another one.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from typing import Final

import structlog
from prometheus_client import CollectorRegistry, Counter, Gauge

from bridge.errors import SluiceError
from bridge.health import Heartbeat
from bridge.kube.kinds import NAMESPACE, NETWORK_POLICY, POD, QUOTA, ROLE_BINDING, TENANT, Kind, Object
from bridge.kube.lease import Lease
from bridge.kube.port import Cluster
from bridge.tenants.flow import Tenants
from bridge.tenants.namespaces_flow import OURS, Namespaces
from bridge.tenants.resources import ResourcePass

_log = structlog.get_logger(__name__)
LEADER: Final = "sluice.sh/leader"
"""Label of the pod that leads; the bridge's Service selects by it."""
WATCHED: Final[Mapping[Kind, str]] = {
    TENANT: "",
    NAMESPACE: OURS,
    QUOTA: OURS,
    NETWORK_POLICY: OURS,
    ROLE_BINDING: OURS,
}


class Measures:
    """What Prometheus may ask of a bridge."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.leader = Gauge("sluice_bridge_leader", "1 while this bridge leads", registry=self.registry)
        self.passes = Counter(
            "sluice_bridge_passes", "Passes by outcome", ["outcome"], registry=self.registry
        )
        self.last_good = Gauge(
            "sluice_bridge_last_good_pass_timestamp_seconds",
            "End of the last good pass",
            registry=self.registry,
        )
        self.tenants = Gauge(
            "sluice_tenants", "Tenants, by whether all is in force", ["ready"], registry=self.registry
        )


class ClusterLoop:
    """Leads, watches and reconciles.

    Parameters
    ----------
    interval_s, retry_s
        Between two passes when nothing happens; the first pause after a failed one, doubled up to it.
    """

    def __init__(
        self,
        *,
        cluster: Cluster,
        lease: Lease,
        tenants: Tenants,
        resources: ResourcePass,
        namespaces: Namespaces,
        heartbeat: Heartbeat,
        measures: Measures,
        place: tuple[str, str],
        interval_s: float,
        retry_s: float,
    ) -> None:
        self._cluster = cluster
        self._lease = lease
        self._tenants = tenants
        self._resources = resources
        self._namespaces = namespaces
        self._heartbeat = heartbeat
        self.measures = measures
        self._place = place
        self._interval_s = interval_s
        self._retry_s = retry_s
        self._stop = threading.Event()
        self._nudged = threading.Event()
        self.lost = False

    @property
    def leads(self) -> bool:
        """Whether this bridge may act now."""
        return self._lease.held

    def run(self) -> None:
        """Stand by, then reconcile, until `stop` or until the lease is lost (`lost`)."""
        self._mark(leads=False)
        while not self._stop.is_set() and not self._lease.try_once():
            self._stop.wait(self._lease.timing.retry_s)
        if self._stop.is_set():
            return
        self._mark(leads=True)
        _log.info("leading")
        threads = [threading.Thread(target=self._renew, name="lease", daemon=True)]
        threads += [
            threading.Thread(
                target=self._watch, args=(kind, selector), name=f"watch-{kind.plural}", daemon=True
            )
            for kind, selector in WATCHED.items()
        ]
        for thread in threads:
            thread.start()
        self._reconcile()
        if not self.lost:
            self._mark(leads=False)
            self._lease.release()

    def stop(self) -> None:
        """Let `run` end."""
        self._stop.set()
        self._nudged.set()

    def once(self) -> bool:
        """Make one pass; returns whether it ended well. A fault is said once a pass, never raised."""
        try:
            trouble = self._pass()
        except SluiceError as error:
            trouble = error.message
        except Exception:  # noqa: BLE001 - a loop outlives whatever one pass meets
            trouble = "a pass failed inside; the bridge's log has the reason"
            _log.exception("tenants not reconciled")
        if trouble:
            self._heartbeat.bad(trouble)
            _log.warning("tenants not reconciled", problem=trouble)
        else:
            self._heartbeat.good()
            self.measures.last_good.set(time.time())
        self.measures.passes.labels(outcome="bad" if trouble else "good").inc()
        return not trouble

    def _pass(self) -> str:
        self._resources.read(hold=not self._lease.leaving)
        trouble = ""
        try:
            actions = self._tenants.reconcile()
            if actions:
                _log.info("tenants reconciled", actions=len(actions))
        except SluiceError as error:
            trouble = error.message
        view = self._tenants.view
        problems = self._namespaces.reconcile(sourced.tenant for sourced in view.documents)
        self._resources.report(view.states, problems, trouble=trouble)
        ready = sum(state.applied for state in view.states.values())
        self.measures.tenants.labels(ready="true").set(ready)
        self.measures.tenants.labels(ready="false").set(len(view.states) - ready)
        return trouble

    def _reconcile(self) -> None:
        pause_s = self._retry_s
        while not self._stop.is_set():
            self._nudged.clear()
            if self.once():
                pause_s = self._retry_s
                self._nudged.wait(self._interval_s)
                self._stop.wait(min(0.2, self._retry_s))  # what changes together is one pass
            else:
                self._stop.wait(pause_s)
                pause_s = min(pause_s * 2, self._interval_s)

    def _renew(self) -> None:
        while not self._stop.wait(self._lease.timing.retry_s):
            if not self._lease.try_once():
                _log.error("the lease is lost; this bridge ends, another one goes on")
                self.lost = True
                self.stop()

    def _watch(self, kind: Kind, selector: str) -> None:
        while not self._stop.is_set():
            try:
                for _changed in self._cluster.watch(kind, selector=selector):
                    self._nudged.set()
                    if self._stop.is_set():
                        return
            except SluiceError as error:
                _log.info("watch ended", kind=kind.kind, problem=error.message)
            except Exception:  # noqa: BLE001 - the resync finds what a watch misses
                _log.exception("watch failed", kind=kind.kind)
            self._stop.wait(self._retry_s)

    def _mark(self, *, leads: bool) -> None:
        """Show on the pod whether it leads, so that the Service finds it."""
        self.measures.leader.set(1 if leads else 0)
        namespace, pod = self._place
        change: Object = {"metadata": {"labels": {LEADER: "true" if leads else "false"}}}
        self._tried(lambda: self._cluster.patch(POD, pod, change, namespace=namespace), must=leads)

    def _tried(self, act: Callable[[], object], *, must: bool) -> None:
        while not self._stop.is_set():
            try:
                act()
                return
            except SluiceError as error:
                _log.warning("the pod's label was not written", problem=error.message)
                if not must:
                    return
                self._stop.wait(self._retry_s)
