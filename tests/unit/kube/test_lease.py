"""Leadership: one holder at a time, whatever the candidates' clocks say; given back when it ends well."""

from __future__ import annotations

from bridge.errors import Unavailable
from bridge.kube.fake import FakeCluster
from bridge.kube.kinds import LEASE, Kind, Object, section
from bridge.kube.lease import Lease


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


class Cut(FakeCluster):
    cut = False

    def get(self, kind: Kind, name: str, *, namespace: str = "") -> Object | None:
        if self.cut:
            raise Unavailable("away", part="kube-apiserver")
        return super().get(kind, name, namespace=namespace)


def candidate(cluster: FakeCluster, name: str, clock: Clock) -> Lease:
    return Lease(cluster, namespace="sluice", name="bridge", identity=name, clock=clock)


def test_the_first_takes_it_and_the_second_waits() -> None:
    cluster, clock = FakeCluster(), Clock()
    first, second = candidate(cluster, "a", clock), candidate(cluster, "b", clock)
    assert first.try_once()
    assert not second.try_once()
    clock.now += 14
    assert first.try_once()
    clock.now += 5
    assert not second.try_once()  # renewed 5 s ago


def test_a_silent_holder_loses_it_before_another_one_takes_it() -> None:
    cluster, clock = Cut(), Clock()
    first, second = candidate(cluster, "a", clock), candidate(cluster, "b", clock)
    first.try_once()
    assert not second.try_once()
    cluster.cut = True
    for _ in range(5):
        clock.now += 2
        first.try_once()
    assert not first.held  # after 10 s without a renewal
    cluster.cut = False
    assert not second.try_once()
    clock.now += 5.1
    assert second.try_once()
    assert not first.held


def test_who_ends_well_gives_it_back_at_once() -> None:
    cluster, clock = FakeCluster(), Clock()
    first, second = candidate(cluster, "a", clock), candidate(cluster, "b", clock)
    first.try_once()
    first.release()
    assert not first.held
    assert second.try_once()
    found = cluster.get(LEASE, "bridge", namespace="sluice")
    assert found is not None
    assert section(found, "spec")["holderIdentity"] == "b"
    assert section(found, "spec")["leaseTransitions"] == 1


def test_two_that_try_at_once_are_told_apart_by_the_version() -> None:
    class Stale(FakeCluster):
        stale: Object | None = None

        def get(self, kind: Kind, name: str, *, namespace: str = "") -> Object | None:
            return self.stale or super().get(kind, name, namespace=namespace)

    cluster, clock = Stale(), Clock()
    first, late = candidate(cluster, "a", clock), candidate(cluster, "b", clock)
    first.try_once()
    late.try_once()
    seen = cluster.get(LEASE, "bridge", namespace="sluice")
    first.try_once()
    cluster.stale = seen
    clock.now += 60
    assert not late.try_once()
    assert first._cluster is late._cluster
