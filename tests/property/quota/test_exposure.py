"""Limits that move between two books: what is used never exceeds the pool, whatever the writes meet.

A simulation from a seed: writes that are late, lost or sent twice, reads that are stale, a quota whose
lowered value bites later, leaders that crash or are deposed with writes under way, workloads that take
whatever a limit allows. Beside it the naive loop, which writes every target at once.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field

import pytest

from bridge.quota.exposure import Escrow, Token, Write
from tests.support.effort import examples

CAPACITY = 64
LIMITS = tuple(f"{tenant}/{plane}" for tenant in ("a", "b", "c") for plane in ("slurm", "kubernetes"))
STEPS = 900
RUNS = 30


@dataclass
class Stored:
    """A limit where it is stored: in Kubernetes a written value bites when the controller has copied it."""

    written: int = 0
    in_force: int = 0
    token: Token = (0, 0)
    forced_token: Token = (0, 0)
    used: int = 0

    def write(self, write: Write, *, fenced: bool) -> None:
        if not fenced or write.token > self.token:
            self.written, self.token = write.value, write.token

    def copy(self) -> None:
        self.in_force, self.forced_token = self.written, self.token


@dataclass
class Simulation:
    """One run; `safe` chooses between the escrow and the naive loop."""

    seed: int
    safe: bool = True
    most: int = 0
    writes: int = 0
    stores: dict[str, Stored] = field(default_factory=lambda: {name: Stored() for name in LIMITS})
    wire: list[Write] = field(default_factory=list)
    reads: list[tuple[str, int, Token, int, int]] = field(default_factory=list)
    targets: dict[str, int] = field(default_factory=dict)
    capacity: int = CAPACITY

    def __post_init__(self) -> None:
        self.random = random.Random(self.seed)
        self.epoch = 1
        self.begun = 0
        self.escrow = self._listed(Escrow(self.epoch))
        self.retarget()

    def _listed(self, escrow: Escrow) -> Escrow:
        for name, stored in self.stores.items():
            # What is in force may still be more than what is written last.
            most = max(stored.written, stored.in_force)
            escrow = escrow.read(name, value=most, token=stored.forced_token, used=stored.used, begun=0)
        return escrow

    def run(self) -> int:
        """Return the most GPUs that were in use at once."""
        steps: list[tuple[float, Callable[[], None]]] = [
            (30, self.work),
            (12, self.arrive),
            (8, self.copy),
            (10, self.read),
            (10, self.hear),
            (12, self.decide),
            (3, self.retarget),
            (2, self.lose),
            (2, self.again),
            (0.4, self.depose),
        ]
        for _, step in self.random.choices(steps, [weight for weight, _ in steps], k=STEPS):
            step()
            self.most = max(self.most, sum(stored.used for stored in self.stores.values()))
        return self.most

    def work(self) -> None:
        """Some workloads end, and whoever may starts more."""
        stored = self.stores[self.random.choice(LIMITS)]
        stored.used -= self.random.randint(0, min(8, stored.used))
        if self.random.random() < 0.8:
            stored.used = max(stored.used, stored.in_force)

    def arrive(self) -> None:
        if self.wire:
            write = self.wire.pop(self.random.randrange(len(self.wire)))
            self.stores[write.limit].write(write, fenced=self.safe)
            if self.random.random() < 0.1:
                self.wire.append(write)

    def copy(self) -> None:
        for stored in self.random.sample(list(self.stores.values()), 3):
            stored.copy()

    def read(self) -> None:
        for name, stored in self.stores.items():
            if stored.in_force == stored.written and stored.token == stored.forced_token:
                self.begun += 1
                self.reads.append((name, stored.in_force, stored.token, stored.used, self.begun))

    def hear(self) -> None:
        self.random.shuffle(self.reads)
        for _ in range(self.random.randint(0, len(self.reads))):
            name, value, token, used, begun = self.reads.pop()
            self.escrow = self.escrow.read(name, value=value, token=token, used=used, begun=begun)

    def decide(self) -> None:
        if not self.safe:
            for name, value in self.targets.items():
                self.wire.append(Write(name, value, (1, 1)))
            self.writes += len(self.targets)
            return
        for write in self.escrow.plan(self.targets, self.capacity):
            self.escrow = self.escrow.sending(write)
            self.wire.append(write)
            self.writes += 1
            assert self.escrow.exposure <= max(self.capacity, CAPACITY)

    def lose(self) -> None:
        if self.wire:
            self.wire.pop(self.random.randrange(len(self.wire)))

    def again(self) -> None:
        write = self.escrow.again(self.random.choice(LIMITS)) if self.safe else None
        if write is not None:
            self.escrow = self.escrow.sending(write)
            self.wire.append(write)

    def depose(self) -> None:
        """Another leader takes over; what this one has sent is still under way."""
        self.epoch += 1
        self.reads.clear()
        self.escrow = self._listed(Escrow(self.epoch))

    def retarget(self) -> None:
        left = self.capacity
        for name in self.random.sample(LIMITS, len(LIMITS)):
            self.targets[name] = self.random.randint(0, left)
            left -= self.targets[name]


@pytest.mark.parametrize("batch", range(examples(5)))
def test_the_pool_is_never_oversubscribed(batch: int) -> None:
    for seed in range(batch * RUNS, (batch + 1) * RUNS):
        assert Simulation(seed).run() <= CAPACITY, f"seed {seed}"


def test_the_naive_loop_oversubscribes_in_nearly_every_run() -> None:
    over = sum(Simulation(seed, safe=False).run() > CAPACITY for seed in range(RUNS))
    assert over >= RUNS * 0.9


def test_in_calm_weather_every_target_is_reached_and_then_nothing_is_written() -> None:
    for seed in range(RUNS):
        simulation = Simulation(seed)
        simulation.run()
        for _ in range(40):
            simulation.again() if not simulation.wire else None
            simulation.decide()
            while simulation.wire:
                simulation.arrive()
            for name, stored in simulation.stores.items():
                stored.copy()
                stored.used = min(stored.used, stored.in_force)
                simulation.begun += 1
                simulation.escrow = simulation.escrow.read(
                    name,
                    value=stored.in_force,
                    token=stored.token,
                    used=stored.used,
                    begun=simulation.begun,
                )
        assert {name: stored.in_force for name, stored in simulation.stores.items()} == simulation.targets
        assert simulation.escrow.plan(simulation.targets, CAPACITY) == ()


def test_limits_do_move() -> None:
    """A book that never grew would be safe as well."""
    full = [Simulation(seed).run() for seed in range(RUNS)]
    assert sum(full) / len(full) > CAPACITY * 0.5
