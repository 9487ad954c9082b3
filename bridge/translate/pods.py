"""Pods as far as placing and judging them needs, and how they are read.

Pure data and its reader. What flows in: a pod, or a pod template, as the API server gives it. What flows
out: `Pod`. How much it asks is `resources`, where it may run `constraints`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction

from bridge.translate.document import Doc
from bridge.translate.meta import Meta, read_meta
from bridge.translate.selectors import LabelSelector, Term, read_label_selector, read_term, read_terms
from bridge.translate.taints import Toleration, read_toleration

ResourceList = Mapping[str, Fraction]


@dataclass(frozen=True, slots=True, kw_only=True)
class Resources:
    """Requests and limits as written (the server's defaults are `resources`' business)."""

    requests: ResourceList = field(default_factory=dict)
    limits: ResourceList = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class EnvVar:
    """One variable; `literal` is False when its value comes from elsewhere."""

    name: str
    value: str
    literal: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Container:
    """One container of any kind."""

    name: str
    resources: Resources = field(default_factory=Resources)
    sidecar: bool = False
    """An init container with restartPolicy Always; a container's own restartPolicy makes none."""
    env: tuple[EnvVar, ...] = ()
    privileged: bool = False
    capabilities: tuple[str, ...] = ()
    unmasked_proc: bool = False
    host_ports: tuple[int, ...] = ()
    mount_paths: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimRef:
    """``spec.resourceClaims[]``: a claim by name, or one made from a template."""

    name: str
    claim: str = ""
    template: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Volume:
    """One volume; only what placement or safety look at."""

    name: str
    host_path: bool = False
    claim: str = ""
    """Name of its PersistentVolumeClaim, also of an ephemeral volume's own (``<pod>-<volume>``)."""


@dataclass(frozen=True, slots=True)
class PodAffinityTerm:
    """One required term of pod affinity or anti-affinity."""

    topology_key: str
    selector: LabelSelector | None
    other_namespaces: bool
    """Whether it looks beyond the pod's own namespace."""


@dataclass(frozen=True, slots=True)
class Spread:
    """One topology spread constraint that must hold (DoNotSchedule)."""

    topology_key: str
    max_skew: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Pod:
    """A pod. Durations in seconds; None where the pod doesn't say."""

    meta: Meta
    containers: tuple[Container, ...] = ()
    init_containers: tuple[Container, ...] = ()
    ephemeral_containers: tuple[Container, ...] = ()
    pod_resources: Resources | None = None
    overhead: ResourceList = field(default_factory=dict)
    node_name: str = ""
    scheduler_name: str = ""
    priority_class: str = ""
    gates: tuple[str, ...] = ()
    node_selector: Mapping[str, str] = field(default_factory=dict)
    required_terms: tuple[Term, ...] | None = None
    preferred_terms: tuple[tuple[int, Term], ...] = ()
    tolerations: tuple[Toleration, ...] = ()
    pod_affinity: tuple[PodAffinityTerm, ...] = ()
    pod_anti_affinity: tuple[PodAffinityTerm, ...] = ()
    spreads: tuple[Spread, ...] = ()
    claims: tuple[ClaimRef, ...] = ()
    generated_claims: Mapping[str, str | None] = field(default_factory=dict)
    """Claim reference to the claim that was made for it (``status.resourceClaimStatuses``)."""
    volumes: tuple[Volume, ...] = ()
    deadline_s: int | None = None
    grace_s: int = 30
    host_namespaces: tuple[str, ...] = ()
    fs_group: bool = False
    scheduling_group: str = ""
    """Name of the core PodGroup (``spec.schedulingGroup.podGroupName``), where the API keeps it."""
    phase: str = ""

    @property
    def all_containers(self) -> tuple[Container, ...]:
        """Containers of every kind, init containers first."""
        return (*self.init_containers, *self.containers, *self.ephemeral_containers)

    @property
    def ended(self) -> bool:
        """Whether the phase is terminal."""
        return self.phase in ("Succeeded", "Failed")


def read_pod(document: Doc) -> Pod:
    """Read a pod, or a pod template (its namespace is then the owner's business).

    Raises
    ------
    InputError
        A field has a wrong type or value; the sentence names it.
    """
    spec = document.child("spec")
    affinity = spec.child("affinity")
    node = affinity.child("nodeAffinity")
    meta = read_meta(document)
    security = spec.child("securityContext")
    return Pod(
        meta=meta,
        containers=tuple(_container(part) for part in spec.children("containers")),
        init_containers=tuple(_container(part, init=True) for part in spec.children("initContainers")),
        ephemeral_containers=tuple(_container(part) for part in spec.children("ephemeralContainers")),
        pod_resources=_resources(spec.child("resources")) if spec.has("resources") else None,
        overhead=spec.quantities("overhead"),
        node_name=spec.text("nodeName"),
        scheduler_name=spec.text("schedulerName"),
        priority_class=spec.text("priorityClassName"),
        gates=tuple(gate.text("name") for gate in spec.children("schedulingGates")),
        node_selector=spec.strings("nodeSelector"),
        required_terms=_required(node),
        preferred_terms=tuple(
            (part.number("weight") or 0, read_term(part.child("preference")))
            for part in node.children("preferredDuringSchedulingIgnoredDuringExecution")
        ),
        tolerations=tuple(read_toleration(part) for part in spec.children("tolerations")),
        pod_affinity=_affinity(affinity.child("podAffinity")),
        pod_anti_affinity=_affinity(affinity.child("podAntiAffinity")),
        spreads=_spreads(spec),
        claims=tuple(_claim_ref(part) for part in spec.children("resourceClaims")),
        generated_claims=_generated(document.child("status")),
        volumes=tuple(_volume(part, meta.name) for part in spec.children("volumes")),
        deadline_s=spec.number("activeDeadlineSeconds"),
        grace_s=_or_default(spec.number("terminationGracePeriodSeconds"), 30),
        host_namespaces=tuple(name for name in ("hostNetwork", "hostPID", "hostIPC") if spec.flag(name))
        + (("hostUsers",) if security.child("windowsOptions").flag("hostProcess") else ()),
        fs_group=security.has("fsGroup"),
        scheduling_group=spec.child("schedulingGroup").text("podGroupName"),
        phase=document.child("status").text("phase"),
    )


def _required(node_affinity: Doc) -> tuple[Term, ...] | None:
    key = "requiredDuringSchedulingIgnoredDuringExecution"
    return read_terms(node_affinity.child(key)) if node_affinity.has(key) else None


def _or_default(value: int | None, default: int) -> int:
    return default if value is None else value


def _resources(document: Doc) -> Resources:
    return Resources(requests=document.quantities("requests"), limits=document.quantities("limits"))


def _container(document: Doc, *, init: bool = False) -> Container:
    security = document.child("securityContext")
    return Container(
        name=document.text("name"),
        resources=_resources(document.child("resources")),
        sidecar=init and document.text("restartPolicy") == "Always",
        env=tuple(
            EnvVar(part.text("name"), part.text("value"), not part.has("valueFrom"))
            for part in document.children("env")
        ),
        privileged=security.flag("privileged"),
        capabilities=security.child("capabilities").texts("add"),
        unmasked_proc=security.text("procMount") == "Unmasked",
        host_ports=tuple(port for part in document.children("ports") if (port := part.number("hostPort"))),
        mount_paths=tuple(part.text("mountPath") for part in document.children("volumeMounts")),
    )


def _affinity(document: Doc) -> tuple[PodAffinityTerm, ...]:
    return tuple(
        PodAffinityTerm(
            part.text("topologyKey"),
            read_label_selector(part.child("labelSelector")) if part.has("labelSelector") else None,
            bool(part.texts("namespaces")) or part.has("namespaceSelector"),
        )
        for part in document.children("requiredDuringSchedulingIgnoredDuringExecution")
    )


def _spreads(spec: Doc) -> tuple[Spread, ...]:
    return tuple(
        Spread(part.text("topologyKey"), _or_default(part.number("maxSkew"), 1))
        for part in spec.children("topologySpreadConstraints")
        if part.text("whenUnsatisfiable") != "ScheduleAnyway"
    )


def _claim_ref(document: Doc) -> ClaimRef:
    return ClaimRef(
        name=document.text("name"),
        claim=document.text("resourceClaimName"),
        template=document.text("resourceClaimTemplateName"),
    )


def _generated(status: Doc) -> Mapping[str, str | None]:
    return {
        part.text("name"): part.text("resourceClaimName") or None
        for part in status.children("resourceClaimStatuses")
    }


def _volume(document: Doc, pod: str) -> Volume:
    name = document.text("name")
    claim = document.child("persistentVolumeClaim").text("claimName")
    if document.has("ephemeral"):
        claim = f"{pod}-{name}"
    return Volume(name=name, host_path=document.has("hostPath"), claim=claim)
