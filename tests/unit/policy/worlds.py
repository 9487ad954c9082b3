"""Random tenants, pools and requests that reach every rule: seeded, so that a failure is repeatable."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

from bridge.job import UNLIMITED
from bridge.policy.moment import Exhausted, Maintenance, Moment
from bridge.policy.pool import Flavor, Pool
from bridge.policy.request import TRES_FIELDS, Request
from bridge.policy.site import Aliases, Share, Site
from bridge.policy.table import PolicyTable, table_of
from bridge.policy.tenant import Tenant
from bridge.wellknown import CLASSES

USERS = ("ada", "bela", "chen", "dina")
TENANTS = ("astro", "genomics", "robotics")

NOW = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)
UNCAPPED = Share(without_gpus="allow")
NODES = {"h100": ("g1", "g2", "g3"), "a100": ("g1", "g2", "g4"), "cpu": ("c1",), "l40-part": ("g5",)}

ALIASES = Aliases(
    # Also of what isn't there, and of names that are real: neither counts.
    partitions={"gpu": "h100", "old": "l40", "lost": "b200", "a100": "h100", "plain": "cpu"},
    qos={"normal": "training", "urgent": "production", "batch": "development"},
)


def pool(flavors: tuple[str, ...] = ("a100", "h100"), *, gpus: int = 8, share: Share = UNCAPPED) -> Pool:
    # Partition and type differ from the flavor's name in one case, so that the three can't be mixed up.
    odd = {"l40": ("l40-part", "l40s")}
    return Pool(
        {
            name: Flavor(
                name=name,
                partition=odd.get(name, (name, name))[0],
                gres_type=odd.get(name, (name, name))[1],
                configured=gpus,
                healthy=gpus,
                assured=gpus,
                share=share if name != "l40" else Share(without_gpus="refuse"),
            )
            if name != "cpu"
            else Flavor(
                name="cpu", kind="cpu", gres_type="", partition="cpu", configured=64, healthy=64, assured=64
            )
            for name in flavors
        },
        {
            "h100": {"a100": gpus // 4, "h100": gpus // 4},
            "a100": {"a100": gpus // 2, "l40s": gpus // 8, "h200": 1},
            "cpu": {"cpu": 6},
        },
        {"h100": 6000, "a100": 9000},
        {name: frozenset(nodes) for name, nodes in NODES.items()},
    )


def many_tenants(count: int, *, members: int) -> list[Tenant]:
    """Return `count` tenants of `members` users each, ``tenant-N`` with ``user-N-0``, ``user-N-1``, ..."""
    return [
        Tenant.model_validate(
            {
                "name": f"tenant-{number}",
                "members": [{"user": f"user-{number}-{index}"} for index in range(members)],
                "flavors": {"h100": {"limit": 4}, "a100": {"limit": 2}},
            }
        )
        for number in range(count)
    ]


def world(random: Random) -> PolicyTable:
    flavors = random.choice([("a100", "h100"), ("a100", "h100", "l40"), ("a100", "h100", "l40", "cpu")])
    names = random.sample(TENANTS, random.choice([1, 2, 3, 3]))
    tenants = [_tenant(random, name) for name in names]
    for number in range(1, len(names)):  # a tree, a chain, or none
        if random.random() < 0.4:
            parent = names[random.randrange(number)]
            tenants[number] = tenants[number].model_copy(update={"parent": parent})
    share = random.choice(
        [
            UNCAPPED,
            Share(cpus_per_gpu=4, memory_mib_per_gpu=4000),
            Share(cpus_per_gpu=3, memory_mib_per_gpu=2000),
            Share(memory_mib_per_gpu=3000, without_gpus="refuse"),
        ]
    )
    return table_of(tenants, pool(flavors, share=share), Site(aliases=ALIASES), _moment(random, tenants))


def _moment(random: Random, tenants: list[Tenant]) -> Moment:
    exhausted = {
        tenant.name: Exhausted(
            # The month's end is over for some, and some words are about another budget.
            budget=random.choice([tenant.budget.text, tenant.budget.text, "7 GPU-hours"]),
            until=NOW + timedelta(seconds=random.choice([-60, 0, 1, 43200, 43200])),
        )
        for tenant in tenants
        if tenant.budget
    }
    return Moment(exhausted=exhausted, maintenance=tuple(_maintenance(random) for _ in range(2)))


def _maintenance(random: Random) -> Maintenance:
    starts_at = NOW + timedelta(seconds=random.choice([-7200, -3600, 0, 59, 60, 61, 1800, 6000, 6001, 90000]))
    return Maintenance(
        name=random.choice(["weekly", "cooling"]),
        starts_at=starts_at,
        ends_at=starts_at + timedelta(seconds=random.choice([3600, 3601, 7200])),
        nodes=frozenset(random.choice([("g1", "g2", "g3", "g4"), ("g1", "g2"), ("g1", "c1"), ("x",)])),
    )


def _tenant(random: Random, name: str) -> Tenant:
    grants: dict[str, Any] = {}
    for flavor in random.sample(("a100", "h100", "l40", "cpu"), random.choice([0, 1, 2, 3, 4, 4, 4])):
        limit = random.randint(1, 8)
        most = 0 if flavor == "cpu" else limit
        grants[flavor] = {"limit": limit, "guarantee": random.choice([0, 0, most // 2, most])}
    allowed = random.sample(CLASSES, random.choice([1, 2, 3, 4, 4]))
    if "production" in allowed and not any(grant["guarantee"] for grant in grants.values()):
        allowed = [name for name in allowed if name != "production"] or ["training"]
    limits = {
        "max_walltime_min": random.choice([None, 30, 100, 2000]),
        "max_gpus_per_job": random.choice([None, None, None, 1, 2, 4]),
    }
    if limits["max_walltime_min"] is None:
        limits["default_walltime_min"] = random.choice([None, 20, 50])
    members = random.sample(USERS, random.choice([2, 3, 4, 4]))
    return Tenant.model_validate(
        {
            "name": name,
            "members": [{"user": user} for user in members],
            "flavors": grants,
            "classes": {"allowed": allowed, "default": random.choice(allowed)},
            "limits": limits,
            **random.choice(
                [{}] * 8
                + [
                    {"budget": {"gpu_hours": 100, "when_exhausted": "block"}},
                    {"budget": {"money": "2500.00", "currency": "EUR"}},
                ]
            ),
            **random.choice([{}] * 8 + [{"rules": "warn"}, {"rules": "observe", "managed": False}]),
        }
    )


def request(random: Random) -> Request:
    fields: dict[str, Any] = {"user": random.choice((*USERS * 8, "eve", "b\u00e9la"))}
    if random.random() < 0.2:
        fields["account"] = random.choice((*TENANTS, "", "other", "x", "y" * 60, "y" * 61, "x'; drop"))
    if random.random() < 0.4:
        fields["partition"] = random.choice(
            [
                "h100",
                "a100",
                "l40-part",
                "l40",
                "h100,a100",
                "a100,h100,l40-part",
                "h100,a100",
                "a100,a100",
                ",h100",
                "",
                "gpu",
                "gpu,a100",
                "cpu",
                "cpu",
                "plain",
                "h100,cpu",
                "old",
                "lost",
                "a b",
            ]
        )
    if random.random() < 0.5:
        fields["qos"] = random.choice(
            (
                *CLASSES,
                *CLASSES,
                "production",
                "production",
                "",
                "normal",
                "urgent",
                "standby",
                "standby",
                "production-astro",
                "production-genomics",
                "production-",
            )
        )
    if random.random() < 0.4:
        fields["time_limit_min"] = random.choice([1, 30, 31, 100, 480, 481, 2000, 2001, UNLIMITED])
    for field in random.sample(TRES_FIELDS, random.choice([0, 1, 1, 1, 1, 2])):
        fields[field] = tres(random)
    if random.random() < 0.2:
        fields["exclusive"] = True
    elif random.random() < 0.08:
        fields["private_nodes"] = True
    fields |= random.choice([_shape, _shape, _shape, _tasks])(random)
    if random.random() < 0.7:
        fields |= _size(random)
    return Request(**fields)


def _size(random: Random) -> dict[str, Any]:
    """CPUs and memory, in one of their ways."""
    one = random.choice(
        (
            {"cpus_min": random.choice([0, 1, 3, 4, 5, 8, 9])},
            {"cpus_per_task": random.choice([0, 1, 3, 4, 5])},
            {"cpus_per_node": random.choice([0, 1, 3, 4, 5])},
            {"cpus_per_gpu": random.choice(["gres/gpu:3", "gres/gpu:4", "gres/gpu:5", "gres/gpu", ""])},
            {"memory_per_node_mib": random.choice([0, 1, 2000, 2001, 4000, 4001, 9000])},
            {"memory_per_cpu_mib": random.choice([0, 1000, 1001, 500])},
            {"memory_per_gpu": random.choice(["gres/gpu:2000", "gres/gpu:4001", "gres/gpu:1234567890", "x"])},
        )
    )
    return {**one, **(_size(random) if random.random() < 0.3 else {})}


def _tasks(random: Random) -> dict[str, Any]:
    """Requests whose GPUs follow from their tasks."""
    if random.random() < 0.5:
        per_gpu, ntasks = random.choice([(1, 1), (1, 2), (2, 4), (2, 3)])
        nothing: dict[str, Any] = dict.fromkeys(TRES_FIELDS)
        return {
            **nothing,
            "tres_per_job": random.choice([None, "", "cpu=2"]),
            "ntasks": ntasks,
            "ntasks_per_gpu": per_gpu,
        }
    return {
        "tres_per_socket": random.choice(["gres/gpu:1", "gres/gpu:h100:2"]),
        "ntasks": random.choice([2, 3, 5]),
        "ntasks_per_socket": 2,
    }


def _shape(random: Random) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    if random.random() < 0.3:
        fields["nodes_min"] = random.choice([0, 1, 2, 3])
        fields["nodes_max"] = random.choice([None, fields["nodes_min"], 4])
    for name in ("ntasks", "ntasks_per_node", "ntasks_per_socket", "sockets_per_node"):
        if random.random() < 0.3:
            fields[name] = random.choice([0, 1, 1, 2, 3, 5])
    if random.random() < 0.2:
        fields["ntasks_per_gpu"] = random.choice([0, 1, 1, 2, 3])
    return fields


def tres(random: Random) -> str:
    if random.random() < 0.06:
        return random.choice(
            [
                "gres/gpu:h100:1,gres/gpu:a100:1",
                "gres/gpu:1,gres/gpu:1",
                "gres/gpu:1,gres/gpu:2",
                "gres/gpu:h100:1,gres/gpu:h100:2",
                "gresgpu:2",
                "gres/gpu:",
                "gres/gpu:h100:",
                "gres/gpu::2",
                "gres/gpu:1234567",
                "gres/gpu:123456",
                "gres/gpu:h100:123456",
                "gres/gpu:h100:1234567",
                "gres/gpu:h100:x",
                "license/xgres/gpu:2",
                "gres/gpu:2gres/gpu:1",
                "gres/gpu:h100 :1",
            ]
        )
    if random.random() < 0.08:
        return random.choice(["", "cpu=2", "license/a:1", "gres/nic:1"])
    gres_type = random.choice(["", "", "", "", *[":h100", ":a100"] * 3, ":l40s", ":h200", ":2k", ":h100.x"])
    count = random.choice(["", ":0", ":1", ":1", ":2", ":2", "=2", ":4", ":5", ":9", ":08", "=12"])
    items = [f"gres/gpu{gres_type}{count}"]
    if random.random() < 0.1:
        items.append(random.choice(["cpu=2", "license/a:1", "gres/nic:1", "", "gres/shard:1", "gres/mps:50"]))
    random.shuffle(items)
    return ",".join(items)


def cases(seed: int, *, worlds: int, requests: int) -> Iterator[tuple[PolicyTable, list[Request]]]:
    random = Random(seed)
    for _ in range(worlds):
        yield world(random), [request(random) for _ in range(requests)]
