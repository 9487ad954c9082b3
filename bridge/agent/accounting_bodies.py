"""Accounts, associations and QOS between the port's dataclasses and slurmrestd's JSON.

Pure. Limits: slurmrestd's ``{"set": false, "infinite": true}`` is "no limit", both ways. GrpTRESMins is
``max.tres.group.minutes`` in an association; the same path of a QOS is ignored without a word.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from bridge.agent.rest_job import number, unlimited
from bridge.slurm.port import Account, Association, Qos

Body = dict[str, Any]
_CLEAR: Final = -1
"""A TRES count that takes a limit away; leaving the TRES out of a QOS keeps it."""


def accounts_of(accounts: Sequence[Body], associations: Sequence[Body]) -> tuple[Account, ...]:
    """Return the accounts that have an association on the cluster, with their parents."""
    parents = {each["account"]: each["parent_account"] for each in associations if not each["user"]}
    return tuple(
        Account(
            name=each["name"],
            parent=parents[each["name"]],
            description=each.get("description") or "",
            organization=each.get("organization") or "",
        )
        for each in accounts
        if each["name"] in parents
    )


def association_of(body: Body) -> Association:
    """Read an association."""
    limits = body["max"]
    return Association(
        account=body["account"],
        user=body["user"],
        parent=body["parent_account"],
        shares=int(body["shares_raw"]),
        qos=frozenset(body["qos"]),
        default_qos=(body.get("default") or {}).get("qos") or "",
        grp_tres=_tres(limits["tres"]["total"]),
        grp_tres_mins=_tres(limits["tres"]["group"]["minutes"]),
        max_tres_per_job=_tres(limits["tres"]["per"]["job"]),
        max_jobs=_count(limits["jobs"]["active"]),
        max_submit_jobs=_count(limits["jobs"]["total"]),
        max_wall_min=_count(limits["jobs"]["per"]["wall_clock"]),
        grp_jobs=_count(limits["jobs"]["per"]["count"]),
        grp_submit_jobs=_count(limits["jobs"]["per"]["submitted"]),
        is_default=bool(body["is_default"]) and bool(body["user"]),
    )


def association_body(association: Association, cluster: str) -> Body:
    """Write an association whole."""
    body: Body = {
        "cluster": cluster,
        "account": association.account,
        "user": association.user,
        "shares_raw": association.shares,
        "default": {"qos": association.default_qos},
        "max": {
            "tres": {
                "total": _tres_list(association.grp_tres),
                "group": {"minutes": _tres_list(association.grp_tres_mins)},
                "per": {"job": _tres_list(association.max_tres_per_job)},
            },
            "jobs": {
                "active": _limit(association.max_jobs),
                "total": _limit(association.max_submit_jobs),
                "per": {
                    "wall_clock": _limit(association.max_wall_min),
                    "count": _limit(association.grp_jobs),
                    "submitted": _limit(association.grp_submit_jobs),
                },
            },
        },
    }
    if association.qos:
        body["qos"] = sorted(association.qos)
    if association.user:
        body["is_default"] = association.is_default
    elif association.parent:
        body["parent_account"] = association.parent
    return body


def qos_of(body: Body) -> Qos:
    """Read a QOS."""
    limits = body["limits"]
    preempt = preempt_of(body)
    modes = [mode for mode in preempt["mode"] if mode not in ("DISABLED", "OFF")]
    return Qos(
        name=body["name"],
        description=body.get("description") or "",
        priority=_count(body["priority"]) or 0,
        preempt=frozenset(preempt["list"]),
        preempt_mode=modes[0] if modes else "",
        preempt_exempt_s=_count(preempt["exempt_time"]),
        grace_s=int(limits.get("grace_time") or 0),
        usage_factor=_factor(body["usage_factor"]),
        max_wall_min=_count(limits["max"]["wall_clock"]["per"]["job"]),
        grp_tres=_tres(limits["max"]["tres"]["total"]),
        flags=frozenset(body["flags"]) - {"NOT_SET"},
    )


def qos_body(qos: Qos, present: Body | None) -> Body:
    """Write a QOS whole; what `present` limits and the new one doesn't is cleared."""
    held = _tres(present["limits"]["max"]["tres"]["total"]) if present else {}
    tres = {**dict.fromkeys(held, _CLEAR), **qos.grp_tres}
    preempt: Body = {
        "mode": [qos.preempt_mode] if qos.preempt_mode else ["DISABLED"],
        "exempt_time": _limit(qos.preempt_exempt_s),
    }
    if qos.preempt:
        preempt["list"] = sorted(qos.preempt)
    return {
        "name": qos.name,
        "description": qos.description or qos.name,
        "priority": number(qos.priority),
        "usage_factor": number(qos.usage_factor),
        "flags": sorted(qos.flags),
        "preempt": preempt,
        "limits": {
            "grace_time": qos.grace_s,
            "max": {
                "tres": {"total": _tres_list(tres)},
                "wall_clock": {"per": {"job": _limit(qos.max_wall_min)}},
            },
        },
    }


def preempt_of(body: Body) -> Body:
    """Return the preemption part of a QOS, empty when it has none."""
    return body.get("preempt") or {"list": [], "mode": [], "exempt_time": unlimited()}


def _tres(items: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    return {
        f"{item['type']}/{item['name']}" if item.get("name") else str(item["type"]): int(item["count"])
        for item in items
    }


def _tres_list(counts: Mapping[str, int]) -> list[Body]:
    found = []
    for tres, count in counts.items():
        kind, _, name = tres.partition("/")
        found.append({"type": kind, "name": name, "count": count})
    return found


def _limit(value: int | None) -> Body:
    return unlimited() if value is None else number(value)


def _count(value: Mapping[str, Any]) -> int | None:
    return int(value["number"]) if value.get("set") and not value.get("infinite") else None


def _factor(value: Mapping[str, Any]) -> float:
    return float(value["number"]) if value.get("set") else 1.0
