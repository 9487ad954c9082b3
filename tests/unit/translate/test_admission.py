"""The chart's admission policies: what they stamp and refuse, and that they agree with the translation."""

from __future__ import annotations

import copy
from typing import Any

import pytest
import yaml

from bridge.translate.verdict import Refuse
from tests.support.pods.admission import BRIDGE, CONTROLLERS, POLICIES, Review, admit, policies, refusals
from tests.support.pods.manifests import Json, container, pod
from tests.support.pods.scene import DATA, NAMESPACES, USERS, Scene, documents
from tests.unit.translate.test_cases import REACHED, scene_of

CLASSES = {"vega": "training,development,batch", "lyra": "production,batch"}
STAMP = "sluice.sh/submitted-by"
AT_THE_DOOR = (
    "safety.",
    "marks",
    "scheduler",
    "node.byhand",
    "pool.toleration",
    "class.",
    "tenant.none",
    "memory.limit",
)
"""Rules of the translation that a policy refuses as well, when the pod is made."""


def namespace(name: str) -> Json:
    tenant = NAMESPACES.get(name)
    labels = {"kubernetes.io/metadata.name": name, **({"sluice.sh/tenant": tenant} if tenant else {})}
    annotations = {"sluice.sh/classes": CLASSES[tenant]} if tenant else {}
    return {"metadata": {"name": name, "labels": labels, "annotations": annotations}}


def as_stored(item: Any) -> Any:
    """Write amounts as the API server does, which knows no numbers there."""
    if isinstance(item, dict):
        return {
            key: {name: str(amount) for name, amount in value.items()}
            if key in ("limits", "requests") and isinstance(value, dict)
            else as_stored(value)
            for key, value in item.items()
        }
    return [as_stored(part) for part in item] if isinstance(item, list) else item


def review(item: Json, **fields: Any) -> Review:
    name = item["metadata"].get("namespace", "")
    return Review(
        **{"item": as_stored(item), "user": USERS.get(name, "bo"), "namespace": namespace(name), **fields}
    )


@pytest.mark.parametrize("row", REACHED, ids=lambda row: row["case"])
def test_policies_refuse_what_the_translation_refuses_at_the_door(row: Any) -> None:
    """On pods as users write them; those of controllers are their templates."""
    scene = scene_of(row)
    for item, verdict in zip(scene.server.of("Pod"), scene.verdicts, strict=True):
        written = copy.deepcopy(item)
        del written["metadata"]["annotations"][STAMP]
        _, refused = admit(review(written))
        expected = isinstance(verdict, Refuse) and verdict.rule.startswith(AT_THE_DOOR)
        assert bool(refused) == expected, (verdict, refused)
        assert all(20 < len(message) < 200 and not message.endswith(".") for message in refused)


def test_a_gpu_pod_becomes_ours_whatever_it_wrote_of_itself() -> None:
    asked = pod(meta={"annotations": {STAMP: "root"}}, schedulerName="default-scheduler")
    item, refused = admit(review(asked))
    assert refused == ()
    assert item["spec"]["schedulerName"] == "sluice"
    assert item["spec"]["tolerations"] == [{"key": "sluice.sh/pool", "operator": "Exists"}]
    assert item["metadata"]["finalizers"] == ["sluice.sh/placement"]
    assert item["metadata"]["annotations"][STAMP] == "bo"
    again, refused = admit(review(item))
    assert (again, refused) == (item, ())


def memory_limits(item: Json) -> list[str | None]:
    spec = item["spec"]
    found = (*spec.get("initContainers", ()), *spec["containers"])
    return [part["resources"].get("limits", {}).get("memory") for part in found]


def test_a_memory_limit_is_the_request_where_the_user_gave_none() -> None:
    plain = {"name": "side", "resources": {"requests": {"memory": "1Gi"}}}
    none = {"name": "free", "resources": {}}
    item, refused = admit(review(pod(container(), plain, none, initContainers=[container("first")])))
    assert refused == ()
    assert memory_limits(item) == ["4Gi", "4Gi", "1Gi", None]
    own = container(limits={"nvidia.com/gpu": 1, "memory": "4096Mi"})
    assert admit(review(pod(own)))[1] == ()
    (sentence,) = admit(review(pod(container(limits={"nvidia.com/gpu": 1, "memory": "8Gi"}))))[1]
    assert "must be its request" in sentence


def test_a_limit_that_a_limit_range_filled_in_is_the_request_too() -> None:
    asked = pod(container(requests={}), namespace="vega-lab", initContainers=[{"name": "first"}])
    scene = Scene([asked])
    (stored,) = scene.server.of("Pod")
    item, refused = admit(review(stored))
    assert (memory_limits(stored), memory_limits(item), refused) == (["8Gi"] * 2, ["4Gi"] * 2, ())
    assert len(scene.placements) == 1


@pytest.mark.parametrize("amount", ["0", None])
def test_a_pod_without_gpus_stays_as_it_is(amount: str | None) -> None:
    limits = {} if amount is None else {"nvidia.com/gpu": amount}
    item, refused = admit(review(pod(container(limits=limits), schedulerName="sluice")))
    assert refused == ()
    assert item["spec"]["schedulerName"] == "default-scheduler"
    assert "tolerations" not in item["spec"]
    assert "finalizers" not in item["metadata"]


def job(**metadata: Any) -> Json:
    return {
        "kind": "Job",
        "metadata": {"name": "j", "namespace": "vega-train", **metadata},
        "spec": {"template": pod()},
    }


class TestStamps:
    def test_owners_are_stamped_too(self) -> None:
        item, _ = admit(review(job(), resource="jobs"))
        assert item["metadata"]["annotations"][STAMP] == "bo"

    def test_who_changes_anothers_template_is_its_owner(self) -> None:
        old = job(annotations={STAMP: "bo"})
        new = copy.deepcopy(old)
        new["spec"]["template"]["spec"]["containers"][0]["name"] = "mine"
        changed = review(new, old=as_stored(old), operation="UPDATE", resource="jobs", user="ada")
        assert admit(changed)[0]["metadata"]["annotations"][STAMP] == "ada"

    @pytest.mark.parametrize("user", [CONTROLLERS[0], BRIDGE])
    def test_controllers_and_the_bridge_change_no_owner(self, user: str) -> None:
        old = job(annotations={STAMP: "bo"})
        new = copy.deepcopy(old)
        new["spec"]["template"]["spec"]["nodeSelector"] = {"a": "b"}
        changed = review(new, old=as_stored(old), operation="UPDATE", resource="jobs", user=user)
        assert admit(changed)[0]["metadata"]["annotations"][STAMP] == "bo"

    def test_what_leaves_the_template_alone_changes_no_owner(self) -> None:
        old = job(annotations={STAMP: "bo"})
        new = copy.deepcopy(old)
        new["spec"]["suspend"] = True
        changed = review(new, old=as_stored(old), operation="UPDATE", resource="jobs", user="ada")
        assert admit(changed)[0]["metadata"]["annotations"][STAMP] == "bo"

    def test_a_stamp_that_somebody_writes_is_put_back(self) -> None:
        old = job(annotations={STAMP: "bo"})
        forged = job(annotations={STAMP: "root"})
        changed = review(forged, old=as_stored(old), operation="UPDATE", resource="jobs", user="ada")
        assert admit(changed)[0]["metadata"]["annotations"][STAMP] == "bo"


class TestFrozen:
    OLD: Json = pod(
        meta={
            "annotations": {STAMP: "bo", "sluice.sh/job-id": "7", "mine": "1"},
            "labels": {"app": "x"},
            "finalizers": ["sluice.sh/placement"],
        },
        schedulerName="sluice",
    )

    def update(self, user: str = "bo", resource: str = "pods", **meta: Any) -> tuple[str, ...]:
        new = copy.deepcopy(self.OLD)
        new["metadata"].update(meta)
        return tuple(
            refusals(review(new, old=as_stored(self.OLD), operation="UPDATE", resource=resource, user=user))
        )

    def test_what_is_the_users_may_change(self) -> None:
        annotations = {**self.OLD["metadata"]["annotations"], "mine": "2"}
        assert self.update(annotations=annotations, labels={"app": "y", "b": "c"}) == ()

    @pytest.mark.parametrize(
        "meta",
        [
            {"annotations": {STAMP: "root", "sluice.sh/job-id": "7"}},
            {"annotations": {STAMP: "bo"}},
            {"annotations": {STAMP: "bo", "sluice.sh/job-id": "7", "sluice.sh/more": "x"}},
            {"labels": {"sluice.sh/tenant": "lyra"}},
            {"finalizers": []},
        ],
    )
    def test_what_is_ours_may_not(self, meta: Json) -> None:
        assert len(self.update(**meta)) == 1
        assert self.update(user=BRIDGE, **meta) == ()

    def test_a_pod_of_the_pool_is_not_resized(self) -> None:
        assert len(self.update(resource="pods/resize")) == 1

    def test_an_ephemeral_container_is_held_to_the_same_rules(self) -> None:
        (case,) = documents(DATA / "manifests" / "261-ephemeral-container-later.patch.yaml")
        new = copy.deepcopy(self.OLD)
        new["spec"].update(case["patch"]["spec"])
        changed = review(
            new, old=as_stored(self.OLD), operation="UPDATE", resource="pods/ephemeralcontainers"
        )
        assert any("NVIDIA_VISIBLE_DEVICES" in message for message in refusals(changed))
        new["spec"]["ephemeralContainers"] = [{"name": "look"}]
        plain = review(new, old=as_stored(self.OLD), operation="UPDATE", resource="pods/ephemeralcontainers")
        assert tuple(refusals(plain)) == ()


class TestPool:
    @pytest.mark.parametrize(
        "item",
        [
            pod(namespace="tools"),
            pod(
                container(limits={}),
                namespace="tools",
                tolerations=[{"key": "sluice.sh/pool", "operator": "Exists"}],
            ),
            pod(container(limits={}), namespace="tools", nodeName="h1"),
        ],
    )
    def test_nobody_gets_onto_the_pool_from_outside(self, item: Json) -> None:
        assert len(tuple(refusals(review(item)))) == 1
        administrator = review(item, groups=("system:masters",))
        assert tuple(refusals(administrator)) == ()

    def test_plain_pods_elsewhere_and_daemons_of_the_system_pass(self) -> None:
        everywhere = [{"operator": "Exists"}]
        assert (
            tuple(refusals(review(pod(container(limits={}), namespace="tools", tolerations=everywhere))))
            == ()
        )
        assert tuple(refusals(review(pod(namespace="kube-system")))) == ()

    def test_pods_are_bound_by_schedulers_alone(self) -> None:
        binding = {"kind": "Binding", "metadata": {"name": "p", "namespace": "vega-train"}}
        users = {"bo": 1, BRIDGE: 0, "system:kube-scheduler": 0}
        for user, count in users.items():
            asked = review(binding, resource="pods/binding", user=user)
            assert len(tuple(refusals(asked))) == count


def test_each_policy_fails_closed_and_is_bound() -> None:
    names = {item["metadata"]["name"] for item in policies()}
    bound = set()
    for path in POLICIES.glob("*.yaml"):
        for item in yaml.safe_load_all(path.read_text()):
            if item["kind"].endswith("Binding"):
                bound.add(item["spec"]["policyName"].replace("@NAME@", "sluice"))
                assert "validationActions" in item["spec"] or item["kind"].startswith("Mutating")
    assert bound == names
    assert all(item["spec"]["failurePolicy"] == "Fail" for item in policies())
