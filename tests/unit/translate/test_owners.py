"""Whose pod it is: stamps, owners that controllers acted for, forged owners, service users."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from bridge.translate import marks
from bridge.translate.ending import Refused, Waits
from bridge.translate.meta import Meta, Owner, OwnerRef
from bridge.translate.owners import user_of
from bridge.translate.world import World
from tests.support.pods.scene import rules

JOB_CONTROLLER = "system:serviceaccount:kube-system:job-controller"
CRON_CONTROLLER = "system:serviceaccount:kube-system:cronjob-controller"


def meta(name: str, requester: str | None, owner: OwnerRef | None = None, **fields: Any) -> Meta:
    return Meta(
        namespace=fields.pop("namespace", "vega-train"),
        name=name,
        uid=f"uid-{name}",
        annotations={} if requester is None else {marks.STAMP: requester},
        owners=() if owner is None else (owner,),
        **fields,
    )


def ref(kind: str, name: str, uid: str | None = None) -> OwnerRef:
    return OwnerRef(kind, name, uid or f"uid-{name}", True)


def world(*owners: Owner) -> World:
    return World(rules=rules(), owners={(o.kind, o.meta.namespace, o.meta.name): o for o in owners})


VEGA = rules().tenants["vega"]
CRON = Owner("CronJob", meta("cron", "ada"))
JOB = Owner("Job", meta("job", CRON_CONTROLLER, ref("CronJob", "cron")))


def test_the_chain_is_climbed_through_controllers_to_a_person() -> None:
    assert user_of(meta("pod", JOB_CONTROLLER, ref("Job", "job")), VEGA, world(CRON, JOB)) == "ada"


def test_who_writes_an_owner_is_charged_as_themselves() -> None:
    assert user_of(meta("pod", "bo", ref("CronJob", "cron")), VEGA, world(CRON)) == "bo"


@pytest.mark.parametrize(
    ("pod", "owners"),
    [
        (meta("pod", JOB_CONTROLLER, ref("Job", "job", "another-uid")), (CRON, JOB)),
        (meta("pod", JOB_CONTROLLER, ref("Job", "gone")), (CRON, JOB)),
        (meta("pod", JOB_CONTROLLER, ref("Job", "job")), (JOB,)),
        (meta("pod", "bo", ref("Job", "gone")), ()),
    ],
)
def test_an_owner_that_is_gone_is_waited_for(pod: Meta, owners: tuple[Owner, ...]) -> None:
    with pytest.raises(Waits):
        user_of(pod, VEGA, world(*owners))


def test_an_owner_of_another_namespace_is_nobodys() -> None:
    foreign = Owner("Job", replace(meta("job", "kim"), namespace="lyra-serve"))
    with pytest.raises(Waits):
        user_of(meta("pod", JOB_CONTROLLER, ref("Job", "job")), VEGA, world(foreign))


@pytest.mark.parametrize("requester", [None, "kim", "system:serviceaccount:vega-train:ci", JOB_CONTROLLER])
def test_who_is_no_member_is_refused(requester: str | None) -> None:
    with pytest.raises(Refused):
        user_of(meta("pod", requester), VEGA, world())


def test_a_service_runs_as_its_user_and_an_identity_is_a_users() -> None:
    account = "system:serviceaccount:vega-train:ci"
    known = replace(
        world(),
        services={"vega": {account: "ada"}},
        identities={"https://idp.example.net#bo@example.net": "bo"},
    )
    assert user_of(meta("pod", account), VEGA, known) == "ada"
    assert user_of(meta("pod", "https://idp.example.net#bo@example.net"), VEGA, known) == "bo"


def test_a_circle_of_owners_ends() -> None:
    one = Owner("Job", meta("one", JOB_CONTROLLER, ref("Job", "two")))
    two = Owner("Job", meta("two", JOB_CONTROLLER, ref("Job", "one")))
    with pytest.raises(Refused):
        user_of(meta("pod", JOB_CONTROLLER, ref("Job", "one")), VEGA, world(one, two))
