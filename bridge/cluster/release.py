"""Sluice on a Kubernetes cluster: the chart installed by helm, its pool labelled, tenants applied.

What flows in: a kubeconfig, the tools, references of images that the nodes have. What flows out: a release
whose parts are ready. What doesn't belong here: the cluster itself (`bridge.cluster.kube_flow`), API keys.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import yaml

from bridge.cluster.console import Ran
from bridge.cluster.engine import last_lines
from bridge.cluster.kube import GATEWAY_NODE_PORT
from bridge.cluster.part import digest
from bridge.cluster.pool import Confinement, Pool
from bridge.errors import StepFailed

NAME: Final = "sluice"
"""Of the release and of its namespace."""

POOL_LABEL: Final = "sluice.sh/pool=true"
INSTALL_LIMIT_S: Final = 900
SMALL: Final = {"requests": {"cpu": "10m", "memory": "64Mi"}}
"""What a part asks for where everything shares one small machine."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseImages:
    """References of the chart's images."""

    slurm: str
    login: str
    agent: str
    gateway: str
    mariadb: str

    @property
    def all(self) -> tuple[str, ...]:
        """All of them, each upon the ones before it."""
        return (self.slurm, self.login, self.agent, self.gateway, self.mariadb)


def trial_values(images: ReleaseImages, pool: Pool, confinement: Confinement) -> dict[str, object]:
    """Return the chart's values for a cluster in containers: simulated GPUs, small requests, nothing kept."""
    node = pool.nodes[0]
    gpus = [{"flavor": flavor, "count": count} for flavor, count in node.gpus.items()]
    gpu_nodes = {
        "name": "gpu",
        "kind": "DaemonSet",
        "nodeSelector": dict([POOL_LABEL.split("=")]),
        "tolerations": [],
        "gpus": gpus,
        "simulated": True,
        "cpus": node.cpus,
        "memoryMiB": node.memory_mib,
        "reserve": {"cpus": 0, "memoryMiB": 0},
        "resources": SMALL,
    }
    confined = confinement is Confinement.CGROUP_V2
    return {
        "keepState": False,
        "images": {
            "pullPolicy": "Never",
            **{name: getattr(images, name) for name in ("slurm", "login", "agent", "gateway", "mariadb")},
        },
        "slurm": {"confinement": "cgroup-v2" if confined else "none", "killWaitS": 10, "priorityCalcMin": 1},
        "slurmctld": {"resources": SMALL},
        "slurmdbd": {"resources": SMALL},
        "database": {"resources": SMALL},
        "nodeSets": [gpu_nodes],
        "gateway": {
            "service": {"type": "NodePort", "nodePort": GATEWAY_NODE_PORT},
            "resources": SMALL,
            "agentResources": SMALL,
        },
        "bridge": {"resources": SMALL},
    }


def tenant_objects(texts: Iterable[str]) -> list[dict[str, object]]:
    """Turn tenant documents into custom resources: the document is the spec, but for its name."""
    objects: list[dict[str, object]] = []
    for text in texts:
        for document in yaml.safe_load_all(text):
            if document:
                spec = {key: value for key, value in document.items() if key != "name"}
                meta = {"name": document["name"]}
                objects.append(
                    {"apiVersion": "sluice.sh/v1alpha1", "kind": "Tenant", "metadata": meta, "spec": spec}
                )
    return objects


@dataclass(frozen=True, slots=True, kw_only=True)
class Release:
    """The chart on one cluster."""

    kubeconfig: Path
    kubectl: Path
    helm: Path
    chart: Path

    def fingerprint(self, values: Mapping[str, object]) -> str:
        """Hash the chart's files and the values: another one has to be installed."""
        files = sorted(path for path in self.chart.rglob("*") if path.is_file())
        texts = {str(path.relative_to(self.chart)): path.read_text(encoding="utf-8") for path in files}
        return digest([texts, dict(values)])

    def is_deployed(self) -> bool:
        """Whether the last install or upgrade came to its end."""
        ran = self._call(self.helm, "status", NAME, "--namespace", NAME, "--output", "json")
        return ran.returncode == 0 and json.loads(ran.stdout)["info"]["status"] == "deployed"

    def install(self, values: Mapping[str, object], nodes: Sequence[str]) -> None:
        """Label the pool and install or upgrade; wait until all is ready.

        Raises
        ------
        StepFailed
            With helm's own words.
        """
        self._run(self.kubectl, "label", "--overwrite", "node", *nodes, POOL_LABEL)
        self._run(
            *(self.helm, "upgrade", "--install", NAME, str(self.chart), "--namespace", NAME),
            *("--create-namespace", "--values", "-", "--wait", "--timeout", f"{INSTALL_LIMIT_S}s"),
            given=yaml.safe_dump(dict(values)),
        )

    def apply(self, objects: Sequence[Mapping[str, object]]) -> bool:
        """Apply objects; returns whether any changed."""
        said = self._run(self.kubectl, "apply", "-f", "-", given=yaml.safe_dump_all(list(objects)))
        return any(not line.endswith("unchanged") for line in said.splitlines())

    def in_gateway(self, command: Sequence[str]) -> Ran:
        """Run a command in the gateway's container."""
        pod = f"{NAME}-gateway-0"
        ran = self._call(self.kubectl, "--namespace", NAME, "exec", pod, "-c", "gateway", "--", *command)
        return Ran(ran.returncode, ran.stdout, ran.stderr)

    def _run(self, *command: str | Path, given: str = "") -> str:
        ran = self._call(*command, given=given)
        if ran.returncode != 0:
            raise StepFailed(
                "Sluice could not be installed on the cluster",
                command=" ".join(str(word) for word in command),
                tail=last_lines(ran.stderr),
                remedy=f"see what its pods say (kubectl --namespace {NAME} get pods), then run it again",
            )
        return ran.stdout

    def _call(self, *command: str | Path, given: str = "") -> subprocess.CompletedProcess[str]:
        program, *words = (str(word) for word in command)
        argv = [program, "--kubeconfig", str(self.kubeconfig), *words]
        return subprocess.run(
            argv, input=given, capture_output=True, text=True, timeout=INSTALL_LIMIT_S + 60, check=False
        )
