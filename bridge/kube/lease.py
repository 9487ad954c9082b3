"""Leadership by a Lease (coordination.k8s.io): one process of several acts, the others stand by.

The rules are client-go's: who holds it renews every `retry_s`; it may be taken when it was not renewed for
its whole duration by *our own* clock since we last saw it change, so that clocks that differ don't matter.
A holder that could not renew for `renew_deadline` has lost it, which is before anybody else may take it.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

import structlog

from bridge.errors import Conflict, NotFound, Outdated, SluiceError
from bridge.kube.kinds import LEASE, Object, metadata, section, text
from bridge.kube.port import Cluster

LEAVING: Final = "sluice.sh/leaving"
"""Annotation of a Lease: Sluice is being uninstalled, nothing shall hold on to an object any more."""

_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaseTiming:
    """Seconds; `renew_deadline_s` is below `duration_s`."""

    duration_s: int = 15
    renew_deadline_s: float = 10.0
    retry_s: float = 2.0


class Lease:
    """One candidate.

    Parameters
    ----------
    identity
        Unique for this process, e.g. the pod's name.
    clock
        Monotonic seconds.
    """

    def __init__(
        self,
        cluster: Cluster,
        *,
        namespace: str,
        name: str,
        identity: str,
        timing: LeaseTiming | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._cluster = cluster
        self._namespace = namespace
        self._name = name
        self._identity = identity
        self.timing = timing or LeaseTiming()
        self._clock = clock
        self._seen: tuple[str, float] = ("", clock())
        self._renewed: float | None = None
        self.leaving = False
        """Whether somebody said that Sluice is being uninstalled (`LEAVING`)."""

    @property
    def held(self) -> bool:
        """Whether we may act now."""
        return self._renewed is not None and self._clock() - self._renewed < self.timing.renew_deadline_s

    def try_once(self) -> bool:
        """Take or renew it if that is possible; returns `held`."""
        began = self._clock()
        try:
            if self._write(self._cluster.get(LEASE, self._name, namespace=self._namespace)):
                self._renewed = began
        except (Conflict, NotFound, Outdated):
            _log.info("lease was changed by another candidate", lease=self._name)
        except SluiceError as error:
            _log.warning("lease not renewed", lease=self._name, problem=error.message)
        return self.held

    def release(self) -> None:
        """Give it back, so that another candidate need not wait for its end."""
        if not self.held:
            return
        self._renewed = None
        change: Object = {"spec": {"holderIdentity": "", "leaseDurationSeconds": 1}}
        try:
            self._cluster.patch(LEASE, self._name, change, namespace=self._namespace)
        except SluiceError as error:
            _log.warning("lease not given back", lease=self._name, problem=error.message)

    def _write(self, found: Object | None) -> bool:
        if found is None:
            self._cluster.create(LEASE, self._wanted(None), namespace=self._namespace)
            return True
        version = text(found, "metadata", "resourceVersion")
        self.leaving = bool(text(found, "metadata", "annotations", LEAVING))
        if version != self._seen[0]:
            self._seen = (version, self._clock())
        holder = text(found, "spec", "holderIdentity")
        if holder not in ("", self._identity) and not self._over(found):
            return False
        fresh = self._cluster.replace(LEASE, self._wanted(found), namespace=self._namespace)
        self._seen = (text(fresh, "metadata", "resourceVersion"), self._clock())
        return True

    def _over(self, found: Object) -> bool:
        duration = section(found, "spec").get("leaseDurationSeconds")
        seconds = duration if isinstance(duration, int) else self.timing.duration_s
        return self._clock() - self._seen[1] > seconds

    def _wanted(self, found: Object | None) -> Object:
        now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        old = section(found or {}, "spec")
        mine = old.get("holderIdentity") == self._identity
        transitions = old.get("leaseTransitions")
        changes = (transitions if isinstance(transitions, int) else 0) + (0 if mine or found is None else 1)
        return {
            "metadata": dict(metadata(found)) if found else {"name": self._name},
            "spec": {
                "holderIdentity": self._identity,
                "leaseDurationSeconds": self.timing.duration_s,
                "acquireTime": old.get("acquireTime", now) if mine else now,
                "renewTime": now,
                "leaseTransitions": changes,
            },
        }
