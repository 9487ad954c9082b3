"""``sluice up --kubernetes``: a Kubernetes cluster, our own or the user's, with our images in its nodes."""

from __future__ import annotations

import time

from rich.console import Console

from bridge.cluster.engine import connect
from bridge.cluster.kube_flow import KubeUp, bring_up_kube, load_images
from bridge.cluster.kube_tools import tool
from bridge.cluster.stack import Stack
from gateway.cli.progress import Progress
from gateway.cli.session import print_json

OWN_CLUSTER = (
    "making a Kubernetes cluster of Sluice's own in containers, for trials and tests; the first time its"
    " programs are built, which takes a quarter of an hour"
)


def up_kubernetes(local: Stack, *, port: int | None, cluster_only: bool, as_json: bool) -> None:
    """Bring up the cluster and print how to reach it."""
    begun = time.monotonic()
    words = Console(stderr=True)
    with Progress(words) as report, local.locked(report):
        if "kubernetes" not in local.read("stack.json"):
            report.say(OWN_CLUSTER)
        up = bring_up_kube(local, report, port=port)
        loaded = not cluster_only and bool(load_images(local, report))
        client = connect()
        report.begin("taking kubectl and helm out of the image")
        tools = {name: str(tool(client, up.image, local.checkout, name)) for name in ("kubectl", "helm")}
        report.end()
    unchanged = "" if up.changed or loaded else ", nothing had to change"
    words.print(f"cluster {local.name} is up after {time.monotonic() - begun:.0f} s{unchanged}")
    if as_json:
        said = {
            "stack": local.name,
            "changed": up.changed or loaded,
            "kubeconfig": str(up.kubeconfig),
            **tools,
        }
        print_json(said)
        return
    show(up, tools)


def show(up: KubeUp, tools: dict[str, str]) -> None:
    """Print the lines that let a shell use the cluster."""
    console = Console(soft_wrap=True, highlight=False)
    console.print(f"export KUBECONFIG={up.kubeconfig}")
    for name, path in tools.items():
        console.print(f"{name}: {path}")
