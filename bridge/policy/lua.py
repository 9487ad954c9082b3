"""Renders a `PolicyTable` as the Lua data file that ``slurm-conf/job_submit`` loads.

Pure, and canonical: equal tables give equal bytes, so that an unchanged file shows that nothing changed.
The file is one ``return { ... }`` of literals; names are checked by the documents' model, and are quoted
here all the same.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Final

from bridge.policy.site import Share
from bridge.policy.table import PolicyTable, TenantRules, UsedUp, Window
from bridge.policy.tenant import JobClass
from bridge.wellknown import SLURM_UID

FORMAT: Final = 3
"""Version of the file's shape; job_submit.lua refuses another."""
PLAIN: Final = re.compile(r"[A-Za-z0-9._-]*")


def render(table: PolicyTable, *, administrators: Iterable[int] = (0, SLURM_UID)) -> str:
    """Return the Lua text; `administrators` are uids whose own jobs are not judged."""
    uids = "".join(f"[{uid}]=true," for uid in sorted(set(administrators)))
    lines = [
        "-- Made by the bridge from the tenant documents; changes here are overwritten.",
        "return {",
        f"format={FORMAT},",
        f"administrators={{{uids}}},",
        f"flavor_partition={_map(table.flavor_partition)},",
        f"flavor_type={_map(table.flavor_type)},",
        f"partition_flavor={_map(table.partition_flavor)},",
        f"type_flavor={_map(table.type_flavor)},",
        "node_gpus={",
        *(f"[{_text(name)}]={_pairs(held)}," for name, held in table.node_gpus.items()),
        "},",
        f"cpu_flavors={_set(sorted(table.cpu_flavors))},",
        "shares={",
        *(f"[{_text(name)}]={_share(share)}," for name, share in table.shares.items()),
        "},",
        f"node_memory={_map(table.node_memory_mib)},",
        "maintenance={",
        *(f"[{_text(name)}]={_windows(windows)}," for name, windows in table.maintenance.items()),
        "},",
        f"partitions={_list(sorted(table.partition_flavor))},",
        f"types={_list(sorted(table.type_flavor))},",
        f"partition_alias={_map(table.partition_alias)},",
        f"qos_alias={_map(table.qos_alias)},",
        f"strangers={{name={_text('')},mode={_text(table.strangers)}}},",
        "tenants={",
        *(f"[{_text(name)}]={_tenant(rules)}," for name, rules in table.tenants.items()),
        "},",
        "users={",
        *(
            f"[{_text(name)}]={{default={_text(user.default)},tenants={_list(user.tenants)},"
            f"member={_set(user.tenants)}}},"
            for name, user in table.users.items()
        ),
        "},",
        "}",
        "",
    ]
    return "\n".join(lines)


def _tenant(rules: TenantRules) -> str:
    max_gpus = "" if rules.max_gpus_per_job is None else f"max_gpus_per_job={rules.max_gpus_per_job},"
    return (
        f"{{name={_text(rules.name)},flavors={_list(rules.flavors)},limit={_map(rules.limit)},"
        f"guarantee={_map(rules.guarantee)},classes={_list(rules.classes)},"
        f"may={_set(rules.classes)},"
        f"default_class={_text(rules.default_class)},default_min={_map(rules.default_min)},"
        f"max_min={_map(rules.max_min)},mode={_text(rules.mode)},"
        f"ancestors={_list(rules.ancestors)},{max_gpus}{_used_up(rules.used_up)}}}"
    )


def _used_up(used_up: UsedUp | None) -> str:
    if used_up is None:
        return ""
    blocks = "true" if used_up.blocks else "false"
    return f"used_up={{budget={_text(used_up.budget)},until_s={_epoch(used_up.until)},blocks={blocks}}},"


def _share(share: Share) -> str:
    numbers = {"cpus": share.cpus_per_gpu, "memory": share.memory_mib_per_gpu}
    given = "".join(f"{name}={number}," for name, number in numbers.items() if number is not None)
    return f"{{{given}without={_text(share.without_gpus)}}}"


def _windows(windows: Iterable[Window]) -> str:
    parts = (
        f"{{name={_text(window.name)},starts={_epoch(window.starts_at)},ends={_epoch(window.ends_at)},"
        f"left={window.nodes_left}}},"
        for window in windows
    )
    return f"{{{''.join(parts)}}}"


def _epoch(moment: datetime) -> int:
    return int(moment.timestamp())


def _map(values: Mapping[str, str] | Mapping[str, int] | Mapping[JobClass, int]) -> str:
    parts = (
        f"[{_text(name)}]={value if isinstance(value, int) else _text(value)},"
        for name, value in values.items()
    )
    return f"{{{''.join(parts)}}}"


def _set(values: Iterable[str]) -> str:
    return f"{{{''.join(f'[{_text(value)}]=true,' for value in values)}}}"


def _pairs(values: Mapping[str, int]) -> str:
    # An array of pairs: Lua has no order of keys, and which one is refused first is part of the decision.
    return f"{{{''.join(f'{{{_text(name)},{value}}},' for name, value in values.items())}}}"


def _list(values: Iterable[str]) -> str:
    return f"{{{''.join(f'{_text(value)},' for value in values)}}}"


def _text(value: str) -> str:
    if PLAIN.fullmatch(value):  # nearly all of a hundred thousand names
        return f'"{value}"'
    plain = "".join(
        chr(byte) if byte < 128 and (chr(byte).isalnum() or chr(byte) in "._-") else f"\\{byte:03d}"
        for byte in value.encode()
    )
    return f'"{plain}"'
