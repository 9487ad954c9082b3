"""How the verdict on a job and the lint of a script look on a terminal."""

from __future__ import annotations

from typing import Any

from rich.console import Console

from gateway.cli.session import print_json


def show_verdict(found: dict[str, Any], *, as_json: bool) -> None:
    """Print what ``jobs:test`` said."""
    if as_json:
        print_json(found)
        return
    out = Console()
    for job in found["components"]:
        what = f"{job['name']}: {job['gpus']} GPUs, {job['cpus'] or '?'} CPUs in partition {job['partition']}"
        start = f"would start at {job['estimated_start']} on {job['nodes']}"
        out.print(_line(what, start, job["reason"]), highlight=False, markup=False)
    if cost := found.get("cost"):
        limit = f", at most {cost['at_most']}" if cost["at_most"] else ", without a time limit"
        out.print(
            f"costs {cost['per_hour']} {cost['currency']} an hour{limit}", highlight=False, markup=False
        )
    _warn(found["warnings"])


def show_lint(found: dict[str, Any], *, as_json: bool) -> None:
    """Print what ``scripts:lint`` said."""
    if as_json:
        print_json(found)
        return
    out = Console()
    for place, options in enumerate(found["components"]):
        if len(found["components"]) > 1:
            out.print(f"component {place}", highlight=False, markup=False)
        for said in options:
            value = "" if said["value"] is None else f"={said['value']}"
            where = f"line {said['line']}" if said["line"] else said["source"]
            out.print(f"  --{said['option']}{value}  ({where})", highlight=False, markup=False)
    _warn(found["warnings"])
    for hint in found["hints"]:
        where = f"line {hint['line']}: " if hint["line"] else ""
        out.print(f"hint: {where}{hint['message']}", highlight=False, markup=False)


def _line(what: str, start: str, reason: str) -> str:
    return f"{what}; would wait: {reason}" if reason else f"{what}; {start}"


def _warn(warnings: list[str]) -> None:
    for warning in warnings:
        Console(stderr=True).print(warning, highlight=False, markup=False)
