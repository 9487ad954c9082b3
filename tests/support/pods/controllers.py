"""What controllers make of workloads: the pods of the first wave, with the owners and labels that they"
" write."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

from bridge.translate.document import Doc
from bridge.translate.nodes import read_node
from bridge.translate.pods import read_pod
from bridge.translate.selectors import any_holds
from bridge.translate.taints import untolerated
from tests.support.pods.apiserver import ApiServer, Manifest

KUBE = "system:serviceaccount:kube-system:{}-controller"
OPERATORS = {
    "JobSet": "system:serviceaccount:jobset-system:jobset-controller-manager",
    "LeaderWorkerSet": "system:serviceaccount:lws-system:lws-controller-manager",
    "RayCluster": "system:serviceaccount:ray-system:kuberay-operator",
    "Kubeflow": "system:serviceaccount:kubeflow:training-operator",
}


class Controllers:
    """Turns each workload of an API server into its first pods."""

    def __init__(self, server: ApiServer) -> None:
        self._server = server

    def run(self, item: Manifest) -> None:
        """Act on one object, if it is a workload."""
        kind = item.get("kind", "")
        act = getattr(self, f"_{kind.lower()}", None)
        if kind in ("PyTorchJob", "MPIJob", "TFJob", "XGBoostJob", "PaddleJob", "JAXJob"):
            self._kubeflow(item)
        elif act is not None:
            act(item)

    def _child(
        self, owner: Manifest, kind: str, name: str, requester: str, body: Manifest, **labels: str
    ) -> Manifest:
        item: Manifest = {**copy.deepcopy(body), "kind": kind}
        meta = item.setdefault("metadata", {})
        meta.update(name=name, namespace=owner["metadata"].get("namespace"))
        meta["labels"] = {**(meta.get("labels") or {}), **labels}
        meta["ownerReferences"] = [
            {
                "apiVersion": owner.get("apiVersion", "v1"),
                "kind": owner["kind"],
                "name": owner["metadata"]["name"],
                "uid": owner["metadata"]["uid"],
                "controller": True,
            }
        ]
        return self._server.create(item, requester=requester)

    def _job(self, item: Manifest) -> None:
        spec = item["spec"]
        if spec.get("suspend"):
            return
        width = spec.get("parallelism", 1)
        if spec.get("completions") is not None:
            width = min(width, spec["completions"])
        # The Job controller copies nothing but the template; labels of the JobSet are in it already.
        for index in range(width):
            self._child(
                item, "Pod", f"{item['metadata']['name']}-{index}", KUBE.format("job"), spec["template"]
            )

    def _cronjob(self, item: Manifest) -> None:
        """Nothing until its time comes."""

    def _deployment(self, item: Manifest) -> None:
        body = {"apiVersion": "apps/v1", "spec": {**item["spec"]}}
        made = self._child(
            item, "ReplicaSet", item["metadata"]["name"] + "-7d9", KUBE.format("deployment"), body
        )
        self._replicaset(made)

    def _replicaset(self, item: Manifest) -> None:
        for index in range(item["spec"].get("replicas", 1)):
            name = f"{item['metadata']['name']}-{index}"
            self._child(item, "Pod", name, KUBE.format("replicaset"), item["spec"]["template"])

    def _statefulset(self, item: Manifest) -> None:
        spec = item["spec"]
        count = spec.get("replicas", 1)
        if spec.get("podManagementPolicy", "OrderedReady") != "Parallel":
            count = min(count, 1)
        for index in range(count):
            name = f"{item['metadata']['name']}-{index}"
            self._child(item, "Pod", name, KUBE.format("statefulset"), spec["template"])

    def _daemonset(self, item: Manifest) -> None:
        template = item["spec"]["template"]
        for manifest in self._server.of("Node"):
            node, pod = read_node(Doc(manifest)), read_pod(Doc(template))
            fits = all(node.labels.get(key) == value for key, value in pod.node_selector.items())
            if pod.required_terms is not None:
                fits = fits and any_holds(pod.required_terms, node.labels, node.name)
            if not fits or untolerated(node.taints, pod.tolerations):
                continue
            body = copy.deepcopy(template)
            term = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [node.name]}]}
            body["spec"].setdefault("affinity", {})["nodeAffinity"] = {
                "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}
            }
            self._child(
                item, "Pod", f"{item['metadata']['name']}-{node.name}", KUBE.format("daemon-set"), body
            )

    def _jobset(self, item: Manifest) -> None:
        name = item["metadata"]["name"]
        for job in item["spec"]["replicatedJobs"]:
            for index in range(job.get("replicas", 1)):
                labels = {
                    "jobset.sigs.k8s.io/jobset-name": name,
                    "jobset.sigs.k8s.io/replicatedjob-name": job["name"],
                }
                body = copy.deepcopy(job["template"])
                meta = body["spec"]["template"].setdefault("metadata", {})
                meta["labels"] = {**(meta.get("labels") or {}), **labels}
                made = self._child(
                    item, "Job", f"{name}-{job['name']}-{index}", OPERATORS["JobSet"], body, **labels
                )
                self._job(made)

    def _leaderworkerset(self, item: Manifest) -> None:
        spec, name = item["spec"], item["metadata"]["name"]
        template = spec["leaderWorkerTemplate"]
        for group in range(spec.get("replicas", 1)):
            for worker in range(template.get("size", 1)):
                body = template["workerTemplate"]
                if worker == 0:
                    body = template.get("leaderTemplate", body)
                labels = {
                    "leaderworkerset.sigs.k8s.io/name": name,
                    "leaderworkerset.sigs.k8s.io/group-index": str(group),
                    "leaderworkerset.sigs.k8s.io/worker-index": str(worker),
                }
                self._child(
                    item, "Pod", f"{name}-{group}-{worker}", OPERATORS["LeaderWorkerSet"], body, **labels
                )

    def _kubeflow(self, item: Manifest) -> None:
        for role, replica in _roles(item["spec"]):
            for index in range(replica.get("replicas", 1)):
                name = f"{item['metadata']['name']}-{role.lower()}-{index}"
                labels = {
                    "training.kubeflow.org/job-name": item["metadata"]["name"],
                    "training.kubeflow.org/replica-type": role.lower(),
                }
                self._child(item, "Pod", name, OPERATORS["Kubeflow"], replica["template"], **labels)

    def _raycluster(self, item: Manifest) -> None:
        spec, name = item["spec"], item["metadata"]["name"]
        self._child(item, "Pod", f"{name}-head", OPERATORS["RayCluster"], spec["headGroupSpec"]["template"])
        for group in spec.get("workerGroupSpecs", []):
            for index in range(group.get("replicas", 1)):
                self._child(
                    item,
                    "Pod",
                    f"{name}-{group['groupName']}-{index}",
                    OPERATORS["RayCluster"],
                    group["template"],
                )


def _roles(spec: dict[str, Any]) -> Iterator[tuple[str, Manifest]]:
    for field, roles in spec.items():
        if field.endswith("ReplicaSpecs"):
            yield from roles.items()
