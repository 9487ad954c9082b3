"""What holds for every pod: nothing lost in rounding, order that doesn't matter, the same answer twice."""

from __future__ import annotations

import copy
from fractions import Fraction
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from bridge.errors import InputError
from bridge.translate.document import Doc
from bridge.translate.pod import translate
from bridge.translate.pods import read_pod
from bridge.translate.quantity import quantity
from bridge.translate.resources import pod_request, requests_of
from bridge.translate.verdict import Placement, Refuse, Wait
from tests.support.pods.manifests import Json, pod
from tests.support.pods.scene import Scene

cpu = st.sampled_from(["1m", "250m", "1", "1.5", "3"])
memory = st.sampled_from(["1", "64k", "0.5Gi", "129e6", "3Gi"])


@st.composite
def containers(draw: st.DrawFn, *, init: bool = False) -> Json:
    requests = draw(st.fixed_dictionaries({}, optional={"cpu": cpu, "memory": memory}))
    limits = draw(
        st.fixed_dictionaries({}, optional={"nvidia.com/gpu": st.integers(0, 3), "cpu": st.just("4")})
    )
    found: Json = {
        "name": draw(st.text("abcdef", min_size=1, max_size=3)),
        "resources": {"requests": requests, "limits": limits},
    }
    if init and draw(st.booleans()):
        found["restartPolicy"] = "Always"
    return found


@st.composite
def pods(draw: st.DrawFn) -> Json:
    more: dict[str, Any] = {}
    if draw(st.booleans()):
        more["overhead"] = {"cpu": "250m", "memory": "160Mi"}
    return pod(
        *draw(st.lists(containers(), min_size=1, max_size=4)),
        initContainers=draw(st.lists(containers(init=True), max_size=4)),
        **more,
    )


def total(manifest: Json) -> dict[str, Fraction]:
    return dict(pod_request(read_pod(Doc(manifest))))


@given(pods(), st.randoms(use_true_random=False))
def test_the_order_of_containers_doesnt_matter(manifest: Json, random: Any) -> None:
    shuffled = copy.deepcopy(manifest)
    random.shuffle(shuffled["spec"]["containers"])
    assert total(shuffled) == total(manifest)


@given(pods())
def test_the_request_is_the_largest_moment_of_the_pods_life(manifest: Json) -> None:
    """An independent account: play the pod's life through, moment by moment."""
    found = read_pod(Doc(manifest))
    moments = []
    sidecars: list[dict[str, Fraction]] = []
    for container in found.init_containers:
        moments.append([*sidecars, dict(requests_of(container.resources))])
        if container.sidecar:
            sidecars.append(dict(requests_of(container.resources)))
    moments.append([*sidecars, *(dict(requests_of(item.resources)) for item in found.containers)])
    asked = total(manifest)
    for name in ("cpu", "memory", "nvidia.com/gpu"):
        peak = max(sum((part.get(name, Fraction(0)) for part in moment), Fraction(0)) for moment in moments)
        assert asked.get(name, Fraction(0)) == peak + found.overhead.get(name, Fraction(0))


@given(pods(), cpu)
def test_asking_more_never_books_less(manifest: Json, more: str) -> None:
    larger = copy.deepcopy(manifest)
    resources = larger["spec"]["containers"][0]["resources"]
    before = requests_of(read_pod(Doc(manifest)).containers[0].resources).get("cpu", Fraction(0))
    resources["requests"]["cpu"] = str(float(before + quantity(more)))
    one, other = total(manifest), total(larger)
    assert all(other.get(name, Fraction(0)) >= amount for name, amount in one.items())


@given(pods())
def test_a_job_holds_what_its_pod_asks(manifest: Json) -> None:
    scene = Scene([manifest])
    verdict = scene.verdicts[0]
    assert verdict == Scene([manifest]).verdicts[0]
    asked = total(manifest)
    if isinstance(verdict, Placement):
        spec = next(iter(verdict.specs.values()))
        assert spec.cpus_per_task is not None
        assert spec.cpus_per_task >= asked.get("cpu", 0)
        assert (spec.memory_per_node_mib or 0) * 2**20 >= asked.get("memory", 0)
        assert verdict.gpus_total == asked["nvidia.com/gpu"]
        assert spec.memory_per_node_mib != 0
    elif not isinstance(verdict, Refuse | Wait):
        assert not asked.get("nvidia.com/gpu")


words = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.text("a1:/.-", max_size=4),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text("ab", max_size=2), inner, max_size=2),
    max_leaves=4,
)
FIELDS = [
    "containers",
    "initContainers",
    "resources",
    "overhead",
    "nodeName",
    "schedulerName",
    "priorityClassName",
    "schedulingGates",
    "nodeSelector",
    "affinity",
    "tolerations",
    "topologySpreadConstraints",
    "resourceClaims",
    "volumes",
    "activeDeadlineSeconds",
    "terminationGracePeriodSeconds",
    "securityContext",
    "schedulingGroup",
    "hostNetwork",
]


@given(st.sampled_from(FIELDS), words)
def test_garbage_in_a_field_ends_in_a_sentence_never_in_a_crash(field: str, garbage: Any) -> None:
    manifest = pod()
    manifest["spec"][field] = garbage
    try:
        found = read_pod(Doc(manifest))
    except InputError as error:
        assert field in str(error) or "spec" in str(error)
    else:
        translate(found, Scene([]).world)
