"""One pod judged by itself: whose it is, of which class, how large, for how long, and where it may run.

Pure. What flows in: a pod that is the pool's, and the world. What flows out: `Shape`, from which `fit`
finds nodes and `placeholder` makes a job. Gangs are made of equal shapes.
"""

from __future__ import annotations

from dataclasses import dataclass

from bridge.policy.refused import shown
from bridge.policy.table import TenantRules
from bridge.policy.tenant import JobClass
from bridge.translate import marks
from bridge.translate.claims import Claim
from bridge.translate.constraints import NodeDemand, demand_of
from bridge.translate.ending import Refused, Waits
from bridge.translate.gpus import GpuAsk, check_together, claim_asks, other_devices, resource_asks
from bridge.translate.owners import user_of
from bridge.translate.pods import ClaimRef, Pod
from bridge.translate.quantity import cpus, mib, spoken
from bridge.translate.resources import memory_above_request, pod_request
from bridge.translate.selectors import Term
from bridge.translate.volumes import volume_needs
from bridge.translate.walltime import Walltime, walltime_of
from bridge.translate.world import World
from bridge.wellknown import CLASSES


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """What one pod asks."""

    pod: Pod
    tenant: TenantRules
    user: str
    job_class: JobClass
    cpus: int
    memory_mib: int | None
    asks: tuple[GpuAsk, ...]
    demand: NodeDemand
    walltime: Walltime
    preferred: tuple[tuple[int, Term], ...]
    volumes_to_bind: tuple[str, ...]
    notes: tuple[str, ...]


def claims_of(pod: Pod, world: World) -> tuple[Claim, ...]:
    """Return the pod's claims, those of templates as the template makes them.

    Raises
    ------
    Waits
        A claim or template isn't there yet, or the claim still has the devices of another pod.
    Refused
        Several pods name one claim.
    """
    found = []
    for ref in pod.claims:
        if ref.name in pod.generated_claims and pod.generated_claims[ref.name] is None:
            continue
        found.append(_template(ref, pod, world) if ref.template else _named(ref, pod, world))
    return tuple(found)


def _template(ref: ClaimRef, pod: Pod, world: World) -> Claim:
    key = (pod.meta.namespace, pod.generated_claims.get(ref.name) or "")
    claim = world.claims.get(key) or world.templates.get((pod.meta.namespace, ref.template))
    if claim is None:
        raise Waits(
            "claim.template",
            f"the pod waits for its ResourceClaimTemplate {ref.template}, which doesn't exist",
        )
    return claim


def _named(ref: ClaimRef, pod: Pod, world: World) -> Claim:
    key = (pod.meta.namespace, ref.claim)
    claim = world.claims.get(key)
    if claim is None:
        raise Waits("claim.missing", f"the pod waits for its ResourceClaim {ref.claim}, which doesn't exist")
    if world.claim_pods.get(key, 0) > 1:
        raise Refused(
            "claim.shared",
            f"several pods name ResourceClaim {ref.claim}, and a claim is one pod's here; give each pod a"
            " claim"
            " of its own (resourceClaimTemplateName)",
        )
    if claim.allocated:
        raise Waits("claim.allocated", f"ResourceClaim {ref.claim} still has the devices of an earlier pod")
    return claim


def asks_of(pod: Pod, world: World) -> tuple[tuple[GpuAsk, ...], tuple[str, ...]]:
    """Return all asks for pool GPUs, and the classes of other devices that are claimed."""
    request = pod_request(pod)
    by_resource = resource_asks(request, world.inventory)
    claims = claims_of(pod, world)
    by_claim = [claim_asks(claim, world.inventory) for claim in claims]
    asks = (*by_resource, *(ask for found, _ in by_claim for ask in found))
    others = tuple(name for _, found in by_claim for name in found)
    others += other_devices(request, world.inventory)
    check_together(claims, asks, others)
    return asks, others


def class_of(pod: Pod, tenant: TenantRules, prefix: str = "") -> JobClass:
    """Return the pod's class: its PriorityClass by name, never by number."""
    name = pod.priority_class
    if not name:
        return tenant.default_class
    for job_class in tenant.classes:
        if name == prefix + job_class:
            return job_class
    listed = ", ".join(prefix + job_class for job_class in tenant.classes)
    if name in (prefix + job_class for job_class in CLASSES):
        raise Refused(
            "class.allowed",
            f"tenant {tenant.name} may not use class {name}; its classes are {listed}",
        )
    raise Refused(
        "class.unknown",
        f"PriorityClass {shown(name)} is no class of the pool; classes of tenant {tenant.name} are {listed}",
    )


def shape_of(pod: Pod, asks: tuple[GpuAsk, ...], tenant: TenantRules, world: World) -> Shape:
    """Judge one pod by itself.

    Raises
    ------
    Refused, Waits
        With the sentence for the pod.
    """
    _memory(pod)
    job_class = class_of(pod, tenant, world.settings.class_prefix)
    user = user_of(pod.meta, tenant, world)
    needs = volume_needs(pod, world.volumes)
    request = pod_request(pod)
    return Shape(
        pod=pod,
        tenant=tenant,
        user=user,
        job_class=job_class,
        cpus=cpus(request["cpu"]) if "cpu" in request else 1,
        memory_mib=mib(request["memory"]) if "memory" in request else None,
        asks=asks,
        demand=demand_of(pod, request, asks, needs.terms),
        walltime=walltime_of(
            pod,
            _owner_deadline(pod, world),
            tenant=tenant,
            job_class=job_class,
            settings=world.settings,
        ),
        preferred=pod.preferred_terms,
        volumes_to_bind=needs.to_bind,
        notes=_notes(pod),
    )


def _memory(pod: Pod) -> None:
    above = memory_above_request(pod)
    if above is not None:
        where, limit, request = above
        raise Refused(
            "memory.limit",
            f"the memory limit of {where} is {spoken(limit, binary=True)} and its request"
            f" {spoken(request, binary=True)}; on the pool they must be equal, since the rest of a node's"
            " memory"
            " is others'",
        )


def _owner_deadline(pod: Pod, world: World) -> int | None:
    owner = pod.meta.controller
    if owner is None:
        return None
    size = world.group_sizes.get((owner.kind, pod.meta.namespace, owner.name))
    return size.deadline_s if size is not None and size.meta.uid == owner.uid else None


def _notes(pod: Pod) -> tuple[str, ...]:
    mark = marks.slinky(pod.meta)
    if mark is None:
        return ()
    return (f"{mark} is another bridge's and means nothing here; use the pod's own fields and PriorityClass",)
