"""A running Kubernetes cluster as pytest fixtures: kubectl, namespaces of one's own, pods that run.

The cluster is the one that KUBECONFIG_TEST names, else the one that ``./sluice up --kubernetes
--stack STACK-kube`` made (STACK: see `tests.support.stack`). Without one a test that asks for it is skipped
with the reason, or fails when SLUICE_TEST_REQUIRED is set.

What doesn't belong here: assertions about the product.
"""

from __future__ import annotations

import functools
import json
import os
import shutil
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from tests.support.stack import CHECKOUT, STACK_NAME, Json, Ran, run
from tests.support.waiting import wait_for

KUBE_STACK: Final = f"{STACK_NAME}-kube"
BUSYBOX: Final = "localhost/sluice/busybox:1"
"""Image with a shell and small tools, on every node of our own cluster."""


@dataclass(frozen=True, slots=True)
class Cluster:
    """A cluster: its kubeconfig, and the commands that go with it. `stack` is empty for somebody else's."""

    kubeconfig: Path
    kubectl_path: Path
    helm_path: Path
    stack: str = ""

    def kubectl(
        self, *arguments: str, stdin: str | None = None, check: bool = True, timeout_s: float = 60
    ) -> Ran:
        """Run kubectl as the administrator."""
        argv = [str(self.kubectl_path), "--kubeconfig", str(self.kubeconfig), *arguments]
        return run(argv, stdin=stdin, check=check, timeout_s=timeout_s)

    def helm(self, *arguments: str, check: bool = True, timeout_s: float = 300) -> Ran:
        """Run helm as the administrator."""
        argv = [str(self.helm_path), "--kubeconfig", str(self.kubeconfig), *arguments]
        return run(argv, check=check, timeout_s=timeout_s)

    def get(self, *arguments: str) -> Json:
        """Return an object, or a list of them, as JSON."""
        answer: Json = json.loads(self.kubectl("get", "-o", "json", *arguments).stdout)
        return answer

    def find(self, *arguments: str) -> Json | None:
        """Return an object, None when there is none."""
        said = self.kubectl("get", "-o", "json", "--ignore-not-found", *arguments).stdout
        return json.loads(said) if said.strip() else None

    def apply(self, *objects: Mapping[str, Any], check: bool = True, dry_run: bool = False) -> Ran:
        """Apply objects."""
        text = yaml.safe_dump_all([dict(one) for one in objects], sort_keys=False)
        words = ("--dry-run=server",) if dry_run else ()
        return self.kubectl("apply", *words, "-f", "-", stdin=text, check=check)

    def node_exec(self, node: str, *argv: str, check: bool = True) -> Ran:
        """Run a command on a node of our own cluster."""
        return run(["docker", "exec", f"{self.stack}-{node}", *argv], check=check)

    def nodes(self) -> list[str]:
        """Names of all nodes."""
        return [node["metadata"]["name"] for node in self.get("nodes")["items"]]

    def audit(self) -> list[Json]:
        """Every request that our own API server noted in its newest log."""
        said = run(["docker", "exec", f"{self.stack}-kube-apiserver", "cat", "/var/log/kubernetes/audit.log"])
        return [json.loads(line) for line in said.stdout.splitlines() if line]


@dataclass(frozen=True, slots=True)
class Namespace:
    """A namespace that one test made, removed at its end with all that is in it."""

    cluster: Cluster
    name: str

    def kubectl(self, *arguments: str, stdin: str | None = None, check: bool = True) -> Ran:
        """Run kubectl in this namespace."""
        return self.cluster.kubectl("--namespace", self.name, *arguments, stdin=stdin, check=check)

    def get(self, *arguments: str) -> Json:
        """Return an object, or a list of them, of this namespace."""
        return self.cluster.get("--namespace", self.name, *arguments)

    def apply(self, *objects: Mapping[str, Any], check: bool = True) -> Ran:
        """Apply objects here."""
        text = yaml.safe_dump_all([dict(one) for one in objects], sort_keys=False)
        return self.kubectl("apply", "-f", "-", stdin=text, check=check)

    def sh(self, pod: str, script: str, *, check: bool = True) -> Ran:
        """Run a shell script in a pod."""
        return self.kubectl("exec", pod, "--", "sh", "-c", script, check=check)

    def phase(self, pod: str) -> str:
        """Phase of a pod."""
        return str(self.get("pod", pod)["status"].get("phase", ""))

    def running(self, *pods: str, deadline_s: float = 120) -> None:
        """Wait until pods are Ready."""
        for name in pods:
            wait_for(functools.partial(self._is_ready, name), f"pod {name} is ready", deadline_s=deadline_s)

    def _is_ready(self, pod: str) -> bool:
        conditions = self.get("pod", pod)["status"].get("conditions", [])
        return any(one["type"] == "Ready" and one["status"] == "True" for one in conditions)


def pod(
    name: str, *, script: str = "sleep 3600", labels: Mapping[str, str] | None = None, **spec: Any
) -> Json:
    """Describe a pod of one container that runs a shell script; keywords are keys of the pod's spec.

    `container` is merged into the container.
    """
    container = {
        "name": "main",
        "image": BUSYBOX,
        "imagePullPolicy": "IfNotPresent",
        "command": ["sh", "-c", script],
        **spec.pop("container", {}),
    }
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": {"app": name, **(labels or {})}},
        "spec": {"terminationGracePeriodSeconds": 1, "containers": [container], **spec},
    }


@functools.cache
def find_cluster() -> Cluster | str:
    """Return the cluster, or the reason why there is none."""
    given = os.environ.get("KUBECONFIG_TEST")
    if given:
        kubectl, helm = shutil.which("kubectl"), shutil.which("helm")
        if kubectl is None or helm is None:
            return "KUBECONFIG_TEST is set, but kubectl or helm is not on PATH"
        return Cluster(Path(given), Path(kubectl), Path(helm))
    state = CHECKOUT / ".sluice" / KUBE_STACK
    if not (state / "kubeconfig").exists():
        return f"no cluster: ./sluice up --kubernetes --cluster-only --stack {KUBE_STACK} makes it"
    image = str(json.loads((state / "stack.json").read_text())["kubernetes"])
    tools = CHECKOUT / ".sluice" / "tools" / image.replace(":", "-")
    cluster = Cluster(state / "kubeconfig", tools / "kubectl", tools / "helm", KUBE_STACK)
    ready = cluster.kubectl("get", "--raw", "/readyz", check=False)
    return cluster if ready.returncode == 0 else f"the cluster does not answer: {ready.text}"


@pytest.fixture(scope="session")
def cluster() -> Cluster:
    """The cluster for tests."""
    found = find_cluster()
    if isinstance(found, str):
        if os.environ.get("SLUICE_TEST_REQUIRED"):
            pytest.fail(found)
        pytest.skip(found)
    return found


@pytest.fixture(scope="session")
def own_cluster(cluster: Cluster) -> Cluster:
    """The cluster, when it is our own, whose containers a test may look into."""
    if not cluster.stack:
        pytest.skip("looks into the cluster's containers, and KUBECONFIG_TEST names somebody else's cluster")
    return cluster


def make_namespace(cluster: Cluster, labels: Mapping[str, str] | None = None) -> Namespace:
    """Make a namespace with a name of its own."""
    name = f"t-{uuid.uuid4().hex[:8]}"
    cluster.apply(
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": dict(labels or {})}}
    )
    wait_for(
        lambda: cluster.find("--namespace", name, "serviceaccount", "default"), f"namespace {name} is usable"
    )
    return Namespace(cluster, name)


def remove_namespaces(cluster: Cluster, names: Sequence[str]) -> None:
    """Remove namespaces; what is in them goes in the background."""
    cluster.kubectl("delete", "namespace", "--ignore-not-found", "--wait=false", *names)


@pytest.fixture
def namespace(cluster: Cluster) -> Iterator[Namespace]:
    """A namespace for one test."""
    made = make_namespace(cluster)
    yield made
    remove_namespaces(cluster, [made.name])
