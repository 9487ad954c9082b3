"""Random tenants, pools and requests that reach every rule: seeded, so that a failure is repeatable."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Any

from bridge.job import UNLIMITED
from bridge.policy.pool import Aliases, Flavor, Pool
from bridge.policy.request import TRES_FIELDS, Request
from bridge.policy.table import PolicyTable, table_of
from bridge.policy.tenant import Tenant
from bridge.wellknown import CLASSES

USERS = ("ada", "bela", "chen", "dina")
TENANTS = ("astro", "genomics", "robotics")

ALIASES = Aliases(
    # Also of what isn't there, and of names that are real: neither counts.
    partitions={"gpu": "h100", "old": "l40", "lost": "b200", "a100": "h100"},
    qos={"normal": "training", "urgent": "production", "batch": "development"},
)


def pool(flavors: tuple[str, ...] = ("a100", "h100"), *, gpus: int = 8) -> Pool:
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
            )
            for name in flavors
        },
        {
            "h100": {"a100": gpus // 4, "h100": gpus // 4},
            "a100": {"a100": gpus // 2, "l40s": gpus // 8, "h200": 1},
        },
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
    flavors = random.choice([("a100", "h100"), ("a100", "h100", "l40"), ("a100", "h100", "l40")])
    names = random.sample(TENANTS, random.choice([1, 2, 3, 3]))
    tenants = [_tenant(random, name) for name in names]
    for number in range(1, len(names)):  # a tree, a chain, or none
        if random.random() < 0.4:
            parent = names[random.randrange(number)]
            tenants[number] = tenants[number].model_copy(update={"parent": parent})
    return table_of(tenants, pool(flavors), ALIASES)


def _tenant(random: Random, name: str) -> Tenant:
    grants: dict[str, Any] = {}
    for flavor in random.sample(("a100", "h100", "l40"), random.choice([0, 1, 2, 3, 3, 3])):
        limit = random.randint(1, 8)
        grants[flavor] = {"limit": limit, "guarantee": random.choice([0, 0, limit // 2, limit])}
    allowed = random.sample(CLASSES, random.choice([1, 2, 3, 4, 4]))
    if "production" in allowed and not any(grant["guarantee"] for grant in grants.values()):
        allowed = [name for name in allowed if name != "production"] or ["training"]
    limits = {
        "max_walltime_min": random.choice([None, 30, 100, 2000]),
        "max_gpus_per_job": random.choice([None, None, None, 1, 2, 4]),
    }
    if limits["max_walltime_min"] is None:
        limits["default_walltime_min"] = random.choice([None, 20, 50])
    members = random.sample(USERS, random.choice([1, 2, 3]))
    return Tenant.model_validate(
        {
            "name": name,
            "members": [{"user": user} for user in members],
            "flavors": grants,
            "classes": {"allowed": allowed, "default": random.choice(allowed)},
            "limits": limits,
            **random.choice([{}] * 8 + [{"rules": "warn"}, {"rules": "observe", "managed": False}]),
        }
    )


def request(random: Random) -> Request:
    fields: dict[str, Any] = {"user": random.choice((*USERS, *USERS, *USERS, "eve", "b\u00e9la"))}
    if random.random() < 0.3:
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
    elif random.random() < 0.05:
        fields["private_nodes"] = True
    fields |= random.choice([_shape, _shape, _shape, _tasks])(random)
    return Request(**fields)


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
    gres_type = random.choice(["", "", "", ":h100", ":a100", ":l40s", ":h200", ":2k", ":h100.x"])
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
