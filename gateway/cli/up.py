"""``sluice up``: everything from a Docker engine to a stack with tenants, keys and a demo that ran."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated, Final

import typer
from rich.console import Console

from bridge.cluster.ages import Pace
from bridge.cluster.flow import bring_up
from bridge.cluster.stack import Stack
from gateway.cli.demo import run as run_demo
from gateway.cli.demo import show_addresses
from gateway.cli.member_keys import ensure_keys, users_of
from gateway.cli.progress import Progress
from gateway.cli.provision import apply_tenants, await_ready
from gateway.cli.session import CHECKOUT, JsonOption, StackOption, print_json
from gateway.cli.tenants import documents
from gateway.cli.up_kube import up_kubernetes

EXAMPLES: Final = CHECKOUT / "examples" / "tenants"

TenantsOption = Annotated[
    Path,
    typer.Option("--tenants", metavar="DIR", help="Folder of tenant documents to apply.", exists=True),
]
PortOption = Annotated[
    int | None,
    typer.Option(
        "--port", min=1, max=65535, help="Port of the gateway on 127.0.0.1 (default: 8080 or the next free)."
    ),
]
KubernetesOption = Annotated[
    bool,
    typer.Option("--kubernetes", help="A Kubernetes cluster in containers, instead of plain containers."),
]
ClusterOnlyOption = Annotated[
    bool, typer.Option("--cluster-only", help="With --kubernetes: the cluster, and nothing on it.")
]
DemoOption = Annotated[
    bool | None,
    typer.Option("--demo/--no-demo", help="Run the demo (default: only when something was new)."),
]
PaceOption = Annotated[
    Pace,
    typer.Option(
        "--pace", envvar="SLUICE_PACE", help="Ages and time-outs: quick shortens them all, to try faults."
    ),
]


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("up")(up)


def up(
    *,
    stack: StackOption = "sluice",
    tenants: TenantsOption = EXAMPLES,
    port: PortOption = None,
    demo: DemoOption = None,
    pace: PaceOption = Pace.ORDINARY,
    kubernetes: KubernetesOption = False,
    cluster_only: ClusterOnlyOption = False,
    as_json: JsonOption = False,
) -> None:
    """Bring up the whole stack; run it again at any time, it changes only what differs."""
    local = Stack(stack, CHECKOUT)
    if kubernetes:
        given = documents([tenants])
        up_kubernetes(local, port=port, cluster_only=cluster_only, sources=given, as_json=as_json)
        return
    begun = time.monotonic()
    words = Console(stderr=True)
    sources = documents([tenants])
    with Progress(words) as report, local.locked(report):
        up_now = bring_up(local, report, port=port, pace=pace)
        await_ready(up_now.url, report)
        applied = apply_tenants(local, sources, report)
        new_keys = ensure_keys(local, up_now.url, users_of(sources), report)
    changed = up_now.changed or applied or bool(new_keys)
    unchanged = "" if changed else ", nothing had to change"
    words.print(f"stack {stack} is up after {time.monotonic() - begun:.0f} s{unchanged}")
    if as_json:
        print_json({"stack": stack, "url": up_now.url, "changed": changed, "keys_made_for": list(new_keys)})
        return
    console = Console()
    if demo or (demo is None and _demo_due(local, changed=changed)):
        run_demo(stack, console)
        local.write("stack.json", {**local.read("stack.json"), "demo": True})
        return
    if demo is None:
        console.print("the demo ran before on this stack; ./sluice up --demo runs it again")
    show_addresses(stack, console)


def _demo_due(local: Stack, *, changed: bool) -> bool:
    """Whether the demo should run unasked: never seen to its end, or something is new."""
    return changed or not local.read("stack.json").get("demo")
