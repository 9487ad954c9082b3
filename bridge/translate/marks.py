"""Names that Sluice writes on Kubernetes objects, and those that other systems write.

Only constants and their lookups. `OURS` is a prefix that users may not write, but for what
`USERS_OWN` lists; admission refuses it, and the translation refuses it once more.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from bridge.translate.meta import Meta

OURS: Final = "sluice.sh/"
SCHEDULER: Final = "sluice"
POOL: Final = "sluice.sh/pool"
"""Label of pool nodes, and key of their taint."""
FLAVOR: Final = "sluice.sh/flavor"
SLURM_NODE: Final = "sluice.sh/slurm-node"
TENANT: Final = "sluice.sh/tenant"
"""Label of a tenant's namespaces."""
STAMP: Final = "sluice.sh/submitted-by"
"""Annotation with the requester's user name, written by admission over whatever was there."""
JOB_ID: Final = "sluice.sh/job-id"
"""Annotation that comes with the Binding."""
CLOSED_JOBS: Final = "sluice.sh/closed-jobs"
"""Annotation with the jobs that a pod, still unbound, was parted from."""
FINALIZER: Final = "sluice.sh/placement"
GANG: Final = "sluice.sh/gang"
"""Annotation by which a Job or JobSet asks to start all its pods together."""

USERS_OWN: Final = frozenset({GANG})
OWN_ON_PODS: Final = (STAMP, CLOSED_JOBS)
"""What an unbound pod may carry of ours; admission lets nobody else write them."""

POD_GROUP_LABELS: Final = ("scheduling.x-k8s.io/pod-group", "pod-group.scheduling.sigs.k8s.io")
EXCLUSIVE_JOBSET: Final = "alpha.jobset.sigs.k8s.io/exclusive-topology"
JOBSET_NAME: Final = "jobset.sigs.k8s.io/jobset-name"
JOBSET_JOB: Final = "jobset.sigs.k8s.io/replicatedjob-name"
LWS_NAME: Final = "leaderworkerset.sigs.k8s.io/name"
LWS_GROUP: Final = "leaderworkerset.sigs.k8s.io/group-index"
LWS_WORKER: Final = "leaderworkerset.sigs.k8s.io/worker-index"
KUBEFLOW_JOB: Final = "training.kubeflow.org/job-name"
KUBEFLOW_KINDS: Final = (
    "PyTorchJob",
    "MPIJob",
    "TFJob",
    "XGBoostJob",
    "PaddleJob",
    "JAXJob",
)

FOREIGN_GANGS: Final[Mapping[str, str]] = {
    "scheduling.k8s.io/group-name": "Volcano",
    "scheduling.volcano.sh/group-name": "Volcano",
    "gang.scheduling.koordinator.sh/name": "Koordinator",
    "yunikorn.apache.org/task-group-name": "YuniKorn",
    "pod-group-name": "KAI",
}
"""Labels and annotations by which other schedulers group pods; each would be lost in silence here."""

SLINKY_PREFIXES: Final = ("slinky.slurm.net/", "slurmjob.slinky.slurm.net/")
CDI_PREFIX: Final = "cdi.k8s.io/"


def foreign(meta: Meta, *, allowed: Iterable[str] = ()) -> str | None:
    """Return the first label or annotation of ours that a user wrote, None when there is none."""
    may = USERS_OWN | frozenset(allowed)
    for key in (*sorted(meta.labels), *sorted(meta.annotations)):
        if key.startswith(OURS) and key not in may:
            return key
    return None


def group_label(meta: Meta) -> str:
    """Return the name of the scheduler-plugins PodGroup that a pod names, "" for none."""
    return next((meta.labels[label] for label in POD_GROUP_LABELS if meta.labels.get(label)), "")


def foreign_gang(meta: Meta) -> tuple[str, str] | None:
    """Return (key, system) of another scheduler's grouping."""
    for key, system in FOREIGN_GANGS.items():
        if key in meta.annotations or key in meta.labels:
            return key, system
    return None


def slinky(meta: Meta) -> str | None:
    """Return a mark of slurm-bridge, which means nothing here."""
    keys = (*sorted(meta.annotations), *sorted(meta.labels))
    return next((key for key in keys if key.startswith(SLINKY_PREFIXES)), None)
