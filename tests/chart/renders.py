"""Renders of the chart: helm, its answers as objects, and a form in which two renders can be compared."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from tests.support.stack import CHECKOUT

HERE: Final = Path(__file__).parent
CHART: Final = CHECKOUT / "helm" / "sluice"
SETS: Final = sorted(path.stem for path in (HERE / "values").glob("*.yaml"))


def helm() -> str:
    """Return helm: named by SLUICE_HELM, that of the test cluster, or the machine's own."""
    taken = sorted((CHECKOUT / ".sluice" / "tools").glob("*/helm"))
    found = os.environ.get("SLUICE_HELM") or (str(taken[-1]) if taken else shutil.which("helm"))
    if found is None:
        pytest.skip("helm is not here; ./sluice up --kubernetes brings it, or set SLUICE_HELM")
    return found


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([helm(), *arguments], capture_output=True, text=True, check=False, timeout=60)


@cache
def rendered(name: str) -> tuple[Any, ...]:
    """All objects of one set of values."""
    values = HERE / "values" / f"{name}.yaml"
    done = run("template", "sluice", str(CHART), "--namespace", "sluice", "--values", str(values))
    assert done.returncode == 0, done.stderr
    return tuple(item for item in yaml.safe_load_all(done.stdout) if item)


def comparable(name: str) -> str:
    """One set's objects, sorted, without what is random and what is tested elsewhere."""
    kept = [item for item in rendered(name) if item["kind"] != "CustomResourceDefinition"]
    for item in kept:
        if item["kind"] == "Secret":
            item["data"] = dict.fromkeys(item["data"], "made at install")
        if item["metadata"]["name"].endswith("-dashboard"):
            item["data"] = {"sluice.json": "files/dashboard.json"}
    kept.sort(key=lambda item: (item["metadata"]["name"], item["kind"]))
    return "".join(f"---\n{yaml.safe_dump(item, sort_keys=True, width=110)}" for item in kept)


def pods(name: str) -> Iterator[tuple[str, Any]]:
    """Every pod of a render: its owner's name and its spec."""
    for item in rendered(name):
        if item["kind"] == "Pod":
            yield item["metadata"]["name"], item["spec"]
        elif "template" in item.get("spec", {}):
            yield item["metadata"]["name"], item["spec"]["template"]["spec"]


def containers(name: str) -> Iterator[tuple[str, Any, Any]]:
    """Every container: ``OWNER/NAME``, itself, its pod."""
    for owner, pod in pods(name):
        for container in (*pod.get("initContainers", ()), *pod["containers"]):
            yield f"{owner}/{container['name']}", container, pod
