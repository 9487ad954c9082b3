"""Puts our images into the nodes of a cluster, without a registry.

What flows in: references of images in Docker. What flows out: the same images in the nodes' containerd, or
in a cluster of kind, k3d or minikube.
"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final

from bridge.cluster.engine import last_lines
from bridge.cluster.plan import container_name
from bridge.cluster.reporter import Reporter
from bridge.errors import StepFailed, Unsupported

CTR: Final = ("ctr", "--namespace", "k8s.io", "images")
LOAD_LIMIT_S: Final = 900

LOADERS: Final = {
    "kind-": ("kind", "load", "docker-image", "--name"),
    "k3d-": ("k3d", "image", "import", "--cluster"),
}
"""Beginning of a context's name: the command that loads images, before the cluster's name."""


def full_name(reference: str) -> str:
    """Name of an image in containerd: Docker leaves its own registry's name out."""
    first = reference.split("/", 1)[0]
    if "/" in reference and ("." in first or ":" in first or first == "localhost"):
        return reference
    return f"docker.io/{reference}" if "/" in reference else f"docker.io/library/{reference}"


def load_into_nodes(
    stack: str, nodes: Sequence[str], references: Sequence[str], report: Reporter
) -> tuple[str, ...]:
    """Load images into all nodes at once; what a node has already isn't sent. Returns what was."""
    lacking = {}
    for node in nodes:
        there = _has(stack, node)
        if missing := [one for one in references if full_name(one) not in there]:
            lacking[node] = missing
    wanted = [one for one in references if any(one in missing for missing in lacking.values())]
    if not wanted:
        return ()
    report.begin(f"loading {len(wanted)} images into {', '.join(lacking)}")
    # Read from Docker once, whatever the number of nodes.
    with tempfile.NamedTemporaryFile(prefix="sluice-images-") as archive:
        _run(("docker", "save", "--output", archive.name, *wanted))
        with ThreadPoolExecutor(max_workers=len(lacking)) as pool:
            list(pool.map(lambda node: _run(_import(stack, node), Path(archive.name)), lacking))
    report.end("loaded")
    return tuple(wanted)


def load_into_context(context: str, references: Sequence[str], report: Reporter) -> None:
    """Load images into a cluster of somebody else's tool, named by its context.

    Raises
    ------
    Unsupported
        The cluster takes images from a registry only.
    """
    command = _loader(context)
    if command is None:
        raise Unsupported(
            f"cluster {context} can't be given images directly: push {', '.join(references)} to a registry"
            " that it reads, and install the chart with image.registry set (docs/howto/kubernetes.md)",
            field="context",
        )
    report.begin(f"loading {len(references)} images into {context}")
    _run((*command, *references))
    report.end("loaded")


def _loader(context: str) -> tuple[str, ...] | None:
    for start, words in LOADERS.items():
        if context.startswith(start) and shutil.which(words[0]):
            return (*words, context.removeprefix(start))
    if context == "minikube" and shutil.which("minikube"):
        return ("minikube", "image", "load")
    # Docker Desktop's own cluster runs what Docker has.
    return ("true",) if context == "docker-desktop" else None


def _import(stack: str, node: str) -> tuple[str, ...]:
    return ("docker", "exec", "-i", container_name(stack, node), *CTR, "import", "-")


def _has(stack: str, node: str) -> frozenset[str]:
    """Full names of the images that a node has."""
    listed = _run(("docker", "exec", container_name(stack, node), *CTR, "ls", "-q"))
    return frozenset(line.strip() for line in listed.splitlines())


def _run(command: Sequence[str], given: Path | None = None) -> str:
    try:
        with (given or Path("/dev/null")).open("rb") as source:
            ran = subprocess.run(
                command, stdin=source, capture_output=True, text=True, timeout=LOAD_LIMIT_S, check=False
            )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise _failed(command, str(error)) from error
    if ran.returncode != 0:
        raise _failed(command, ran.stderr)
    return ran.stdout


def _failed(command: Sequence[str], words: str) -> StepFailed:
    return StepFailed(
        "images could not be loaded into the cluster",
        command=" ".join(command),
        tail=last_lines(words),
        remedy="see that there is room on the disk (docker system df), then run it again",
    )
