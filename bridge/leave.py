"""``python -m bridge.leave``: what must be done before Sluice leaves a cluster (the chart's pre-delete hook).

It marks the lease, which the bridge reads each time it renews it and then makes no more finalizers; waits
until every bridge has seen it; and takes our finalizer off all tenants. The tenants themselves stay.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable

from bridge.errors import NotFound, Outdated, SluiceError
from bridge.kube.client import connect
from bridge.kube.kinds import LEASE, TENANT, Object
from bridge.kube.lease import LEAVING
from bridge.kube.port import Cluster
from bridge.tenants.resource import record, with_finalizer


def leave(
    cluster: Cluster,
    *,
    namespace: str,
    lease: str,
    lease_s: float,
    sleep: Callable[[float], None] = time.sleep,
) -> int:
    """Do it; returns how many tenants were let go. Repeatable."""
    change: Object = {"metadata": {"annotations": {LEAVING: "true"}}}
    try:
        cluster.patch(LEASE, lease, change, namespace=namespace)
    except NotFound:
        pass  # no bridge ever led
    else:
        sleep(lease_s)
    return sum(_let_go(cluster, item_name) for item_name in _names(cluster))


def _names(cluster: Cluster) -> list[str]:
    return [found.name for found in map(record, cluster.list(TENANT)) if found.ours]


def _let_go(cluster: Cluster, name: str, *, tries: int = 5) -> bool:
    for _ in range(tries):
        item = cluster.get(TENANT, name)
        if item is None or not record(item).ours:
            return False
        try:
            cluster.patch(TENANT, name, with_finalizer(item, present=False))
        except Outdated:
            continue
        except NotFound:
            return False
        return True
    raise Outdated(f"tenant {name} is being changed all the time; run it again")


def main() -> int:
    """Run from the command line; returns the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m bridge.leave", description=(__doc__ or "").splitlines()[0]
    )
    parser.add_argument("--namespace", required=True)
    parser.add_argument("--lease", required=True)
    parser.add_argument("--lease-s", type=float, default=15.0)
    given = parser.parse_args()
    try:
        count = leave(connect(), namespace=given.namespace, lease=given.lease, lease_s=given.lease_s)
    except SluiceError as error:
        print(f"leave: {error.message}", file=sys.stderr)
        return 1
    print(f"{count} tenants are free to be deleted without Sluice")
    return 0


if __name__ == "__main__":
    sys.exit(main())
