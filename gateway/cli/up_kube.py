"""``sluice up --kubernetes``: a Kubernetes cluster in containers, and Sluice on it by its chart."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence

from rich.console import Console

from bridge.cluster.engine import confinement_of, connect
from bridge.cluster.kube_flow import KubeUp, bring_up_kube, load_images
from bridge.cluster.kube_tools import tool
from bridge.cluster.pool import LOCAL_POOL
from bridge.cluster.release import Release, tenant_objects, trial_values
from bridge.cluster.reporter import Reporter
from bridge.cluster.stack import Stack
from gateway.cli.member_keys import ensure_keys, users_of
from gateway.cli.progress import Progress
from gateway.cli.provision import await_ready
from gateway.cli.session import print_json

OWN_CLUSTER = (
    "making a Kubernetes cluster of Sluice's own in containers, for trials and tests; the first time its"
    " programs are built, which takes a quarter of an hour. On a cluster that you have, install the chart"
    " (docs/howto/install-on-kubernetes.md)"
)


def up_kubernetes(
    local: Stack,
    *,
    port: int | None,
    cluster_only: bool,
    sources: Sequence[Mapping[str, str]],
    as_json: bool,
) -> None:
    """Bring up the cluster and, unless `cluster_only`, Sluice on it; print how to reach them."""
    begun = time.monotonic()
    words = Console(stderr=True)
    with Progress(words) as report, local.locked(report):
        if "kubernetes" not in local.read("stack.json"):
            report.say(OWN_CLUSTER)
        up = bring_up_kube(local, report, port=port)
        release = _release(local, up, report)
        changed = up.changed
        if not cluster_only:
            changed = _install(local, release, sources, report) or changed
    unchanged = "" if changed else ", nothing had to change"
    words.print(f"cluster {local.name} is up after {time.monotonic() - begun:.0f} s{unchanged}")
    if as_json:
        tools = {"kubectl": str(release.kubectl), "helm": str(release.helm)}
        said = {"stack": local.name, "changed": changed, "kubeconfig": str(up.kubeconfig), **tools}
        print_json({**said, "url": None if cluster_only else _url(up)})
        return
    console = Console(soft_wrap=True, highlight=False)
    console.print(f"export KUBECONFIG={up.kubeconfig}")
    console.print(f"export PATH={release.kubectl.parent}:$PATH  # kubectl, helm")
    if not cluster_only:
        console.print(f"gateway: {_url(up)} (./sluice jobs --stack {local.name})")


def _url(up: KubeUp) -> str:
    return f"http://127.0.0.1:{up.gateway_port}"


def _release(local: Stack, up: KubeUp, report: Reporter) -> Release:
    client = connect()
    report.begin("taking kubectl and helm out of the image")
    kubectl, helm = (tool(client, up.image, local.checkout, name) for name in ("kubectl", "helm"))
    report.end()
    chart = local.checkout / "helm" / "sluice"
    return Release(kubeconfig=up.kubeconfig, kubectl=kubectl, helm=helm, chart=chart)


def _install(local: Stack, release: Release, sources: Sequence[Mapping[str, str]], report: Reporter) -> bool:
    """Install or upgrade when chart, images or values are others than at the last time."""
    images, loaded = load_images(local, report)
    confinement, warning = confinement_of(connect())
    if warning:
        report.say(warning)
    values = trial_values(images, LOCAL_POOL, confinement)
    wanted = release.fingerprint(values)
    changed = bool(loaded)
    if local.read("stack.json").get("release") != wanted or not release.is_deployed():
        report.begin("installing the chart (helm)")
        release.install(values, [node.name for node in LOCAL_POOL.nodes])
        local.write("stack.json", {**local.read("stack.json"), "release": wanted})
        report.end("ready")
        changed = True
    url = str(local.read("stack.json")["url"])
    await_ready(url, report)
    report.begin("applying tenants")
    applied = release.apply(tenant_objects(source["text"] for source in sources))
    report.end()
    keys = ensure_keys(local, url, users_of(sources), report, ask=release.in_gateway)
    return changed or applied or bool(keys)
