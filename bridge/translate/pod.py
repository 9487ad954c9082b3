"""Translates pods: one answer for each, and the reason in one sentence.

Pure; the entry of this package. All members of a gang get the same placement (the same key).
"""

from __future__ import annotations

from collections.abc import Mapping

from bridge.job import JobSpec
from bridge.policy.decide import decide
from bridge.policy.request import Refusal, request_of
from bridge.policy.table import TenantRules
from bridge.translate import marks
from bridge.translate.door import not_on_pool_by_hand, placeable, safe
from bridge.translate.fit import Fitting, fit
from bridge.translate.gang import Gang, gang_of, gather
from bridge.translate.gpus import GpuAsk, resource_asks
from bridge.translate.placeholder import placeholder
from bridge.translate.pods import Pod
from bridge.translate.resources import pod_request
from bridge.translate.shape import Shape, asks_of, shape_of
from bridge.translate.taints import Taint
from bridge.translate.verdict import Leave, Member, Placement, Refused, Verdict, Waits
from bridge.translate.walltime import on_partition
from bridge.translate.world import World

_POOL_TAINTS = tuple(Taint(marks.POOL, "reserved", effect) for effect in ("NoSchedule", "NoExecute"))


def translate(pod: Pod, world: World) -> Verdict:
    """Say what becomes of a pod that isn't bound yet.

    Returns
    -------
    Placement
        The Slurm job to submit, for the pod or for its whole gang.
    Wait
        Nothing to submit until something changes.
    Refuse
        It can't or may not run.
    Leave
        No GPU of the pool is asked.
    """
    try:
        return _translate(pod, world)
    except Refused as refused:
        return refused.refuse
    except Waits as waits:
        return waits.wait


def _translate(pod: Pod, world: World) -> Verdict:
    if pod.meta.namespace in world.settings.exempt_namespaces:
        return Leave()
    tenant = world.tenant_of(pod.meta.namespace)
    not_on_pool_by_hand(pod, world)
    if tenant is not None:
        safe(pod)
    asks, others = _asks(pod, world)
    if not any(ask.count != 0 for ask in asks):
        return _not_ours(pod, tenant, others)
    if tenant is None:
        raise Refused(
            "tenant.none",
            f"namespace {pod.meta.namespace} belongs to no tenant; ask for GPUs in a namespace of your"
            " tenant",
        )
    placeable(pod)
    ref = gang_of(pod, world)
    gang = None if ref is None else gather(pod, ref, world, lambda found: _asks_gpus(found, world))
    return _single(pod, asks, tenant, world) if gang is None else _together(gang, tenant, world)


def _asks(pod: Pod, world: World) -> tuple[tuple[GpuAsk, ...], tuple[str, ...]]:
    """Return the pod's asks; a gated pod isn't judged by claims that may not exist yet."""
    if pod.gates:
        return resource_asks(pod_request(pod), world.inventory), ()
    return asks_of(pod, world)


def _asks_gpus(pod: Pod, world: World) -> bool:
    try:
        asks, _ = asks_of(pod, world)
    except (Refused, Waits):
        return True
    return any(ask.count != 0 for ask in asks)


def _not_ours(pod: Pod, tenant: TenantRules | None, others: tuple[str, ...]) -> Verdict:
    if pod.gates and pod.claims:
        raise Waits("gates", f"the pod has scheduling gates ({', '.join(pod.gates)})")
    if any(toleration.tolerates(taint) for toleration in pod.tolerations for taint in _POOL_TAINTS):
        raise Refused(
            "pool.toleration",
            f"the pod tolerates the pool's taint ({marks.POOL}) and asks for none of its GPUs; leave the"
            " toleration out",
        )
    ours = pod.scheduler_name == marks.SCHEDULER
    if ours and not others and not pod.claims and tenant is not None:
        return Leave(
            "the pod asks for no GPU of the pool, so that scheduler sluice has nothing to place; leave"
            " schedulerName out"
        )
    return Leave(ours=ours)


def _single(pod: Pod, asks: tuple[GpuAsk, ...], tenant: TenantRules, world: World) -> Verdict:
    if pod.pod_anti_affinity:
        raise Refused(
            "pod.antiaffinity",
            "required podAntiAffinity is held between the members of a gang only; prefer instead of"
            " requiring,"
            " or make the pods a gang",
        )
    return _placed((shape_of(pod, asks, tenant, world),), key=pod.meta.uid, one_per_node=False, world=world)


def _together(gang: Gang, tenant: TenantRules, world: World) -> Verdict:
    shapes = []
    for member in gang.members:
        not_on_pool_by_hand(member, world)
        safe(member)
        placeable(member)
        asks, _ = asks_of(member, world)
        shapes.append(shape_of(member, asks, tenant, world))
    _equal(gang, shapes)
    alone = {_own_node(member) for member in gang.members}
    if len(alone) > 1:
        raise Refused(
            "gang.unequal", f"only some pods of {gang.ref} ask for a node of their own; let all or none"
        )
    one_per_node = alone.pop() or gang.size.exclusive_hosts
    return _placed(tuple(shapes), key=gang.key, one_per_node=one_per_node, world=world)


def _own_node(pod: Pod) -> bool:
    """Whether a member asks to share its node with no other member."""
    for term in pod.pod_anti_affinity:
        hostname = term.topology_key == "kubernetes.io/hostname"
        own = term.selector is not None and term.selector.holds(pod.meta.labels)
        if not hostname or not own or term.other_namespaces:
            raise Refused(
                "pod.antiaffinity",
                "required podAntiAffinity is held between a gang's own members over kubernetes.io/hostname"
                " only;"
                " prefer instead of requiring",
            )
    return bool(pod.pod_anti_affinity)


def _equal(gang: Gang, shapes: list[Shape]) -> None:
    classes = sorted({shape.job_class for shape in shapes})
    if len(classes) > 1:
        raise Refused(
            "gang.classes",
            f"pods of {gang.ref} have classes {' and '.join(classes)}, and one job has one; give all the same"
            " PriorityClass",
        )
    first = shapes[0]
    for shape in shapes[1:]:
        for what, ours, theirs in (
            ("users", first.user, shape.user),
            ("CPUs", first.cpus, shape.cpus),
            ("memory", first.memory_mib, shape.memory_mib),
            ("GPUs", first.demand.asks, shape.demand.asks),
            ("demands on their nodes", first.demand, shape.demand),
            ("deadlines", first.walltime, shape.walltime),
        ):
            if ours != theirs:
                raise Refused(
                    "gang.unequal",
                    f"pods of {gang.ref} differ in {what} ({first.pod.meta.name} and"
                    f" {shape.pod.meta.name}); a"
                    " gang's pods must be alike",
                )


def _placed(shapes: tuple[Shape, ...], *, key: str, one_per_node: bool, world: World) -> Placement:
    shape = shapes[0]
    fitting = fit(shape, len(shapes), one_per_node, world)
    specs = _allowed(shape, fitting, len(shapes), key, world)
    members = tuple(
        Member(found.pod.meta.namespace, found.pod.meta.name, found.pod.meta.uid) for found in shapes
    )
    walltime = on_partition(
        shape.walltime,
        next(iter(specs.values())).partition or "",
        world.settings.partition_max_min,
    )
    return Placement(
        key=key,
        members=members,
        specs=specs,
        demand=shape.demand,
        nodes=tuple(sorted(node.name for flavor in specs for node in fitting.nodes[flavor])),
        nodes_min=fitting.nodes_min,
        tenant=shape.tenant.name,
        user=shape.user,
        job_class=shape.job_class,
        gpus_per_pod=fitting.gpus_per_pod,
        cpus=shape.cpus,
        memory_mib=shape.memory_mib,
        walltime_min=walltime.minutes,
        walltime_source=walltime.source,
        volumes_to_bind=tuple(name for found in shapes for name in found.volumes_to_bind),
        notes=tuple(sorted({note for found in shapes for note in found.notes})),
    )


def _allowed(shape: Shape, fitting: Fitting, members: int, key: str, world: World) -> Mapping[str, JobSpec]:
    """Describe the job for each flavor that the tenant's rules allow it on, as slurmctld will judge it."""
    specs: dict[str, JobSpec] = {}
    refusals: list[Refusal] = []
    for flavor in fitting.nodes:
        partition = world.rules.flavor_partition[flavor]
        spec = placeholder(
            shape,
            flavor=flavor,
            fitting=fitting,
            members=members,
            key=key,
            name=shape.pod.meta.name,
            walltime=on_partition(shape.walltime, partition, world.settings.partition_max_min),
            rules=world.rules,
        )
        verdict = decide(world.rules, request_of(spec, user=shape.user))
        if isinstance(verdict, Refusal):
            refusals.append(verdict)
        else:
            specs[flavor] = spec
    if not specs:
        raise Refused(refusals[0].rule, refusals[0].sentence)
    return specs
