"""The desk's choices: which way a job takes, when it takes the other, and who may be a job's user."""

from __future__ import annotations

import pwd
from dataclasses import replace
from typing import Any, cast

import pytest

from bridge.agent.carriage import Way
from bridge.agent.commands import Commands
from bridge.agent.desk import Desk
from bridge.agent.native_calls import NativeCalls
from bridge.agent.rest import Rest
from bridge.agent.rest_accounting import RestAccounting
from bridge.errors import Denied, InputError, NotFound, OutcomeUnknown, SlurmRefused, Unavailable, Unsupported
from bridge.job import JobSpec
from bridge.slurm.port import Submitted

SPEC = JobSpec(script=b"#!/bin/sh\ntrue\n", work_dir="/", environment={})
REST_ONLY = JobSpec(script=b"#!/bin/sh\ntrue\n", work_dir="/", environment={}, prefer="fast")


class Native:
    """Records what it was asked; raises `error` when set."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.error: Exception | None = None
        self.says = ""

    def submit(self, _spec: JobSpec, *, uid: int, gid: int) -> Submitted:
        self.asked.append(f"submit {uid}:{gid}")
        if self.error:
            raise self.error
        return Submitted(job_id=1)

    def refusal(self, _spec: JobSpec, **_: Any) -> str:
        self.asked.append("refusal")
        return self.says


class Http:
    """Answers every submission with `answer` or raises it."""

    def token_of(self, user: str, lives_s: int) -> str:
        return f"{user} for {lives_s} s"

    def __init__(self) -> None:
        self.bodies: list[Any] = []
        self.answer: dict[str, Any] | Exception = {"job_id": 2}

    def post(self, _path: str, body: Any) -> dict[str, Any]:
        self.bodies.append(body)
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


@pytest.fixture(autouse=True)
def users(monkeypatch: pytest.MonkeyPatch) -> None:
    def find(name: str) -> pwd.struct_passwd:
        known = {"ann": 20001, "slurm": 990, "root": 0}
        return pwd.struct_passwd((name, "x", known[name], known[name] + 1, "", "/", "/bin/sh"))

    monkeypatch.setattr(pwd, "getpwnam", find)


@pytest.fixture
def native() -> Native:
    return Native()


@pytest.fixture
def http() -> Http:
    return Http()


def desk(native: Native | None, http: Http) -> Desk:
    return Desk(
        rest=cast(Rest, http),
        accounting=cast(RestAccounting, None),
        commands=Commands(),
        native=cast(NativeCalls | None, native),
    )


def test_a_plain_job_goes_native_as_its_user(native: Native, http: Http) -> None:
    assert desk(native, http).submit(SPEC, user="ann").job_id == 1
    assert native.asked == ["submit 20001:20002"]
    assert http.bodies == []


def test_a_job_that_native_lacks_goes_by_rest(native: Native, http: Http) -> None:
    assert desk(native, http).submit(REST_ONLY, user="ann").job_id == 2
    assert http.bodies[0]["job"]["user_id"] == "20001"


def test_components_go_by_rest_and_the_leader_has_the_script(native: Native, http: Http) -> None:
    other = replace(SPEC, script=b"", ntasks=2)
    assert desk(native, http).submit_het([SPEC, other], user="ann").job_id == 2
    body = http.bodies[0]
    assert body["script"] == SPEC.script.decode()
    assert [job.get("tasks") for job in body["jobs"]] == [None, 2]
    assert native.asked == []


def test_a_component_that_rest_lacks_is_named(native: Native, http: Http) -> None:
    with pytest.raises(Unsupported, match="reserve_ports"):
        desk(native, http).submit_het([SPEC, replace(SPEC, script=b"", reserve_ports=1)], user="ann")
    with pytest.raises(Unsupported, match=r"component 0.*not UTF-8"):
        desk(native, http).submit_het([replace(SPEC, script=b"#!/bin/sh\n\xff\n"), SPEC], user="ann")
    assert http.bodies == []


def test_the_reason_against_a_component_says_which(native: Native, http: Http) -> None:
    http.answer, native.says = SlurmRefused("Invalid", errno=2072), "ask fewer"
    with pytest.raises(SlurmRefused, match="0: ask fewer"):
        desk(native, http).submit_het([SPEC, SPEC], user="ann")


def test_without_native_all_go_by_rest(http: Http) -> None:
    assert desk(None, http).submit(SPEC, user="ann").job_id == 2


def test_a_way_that_can_not_start_is_replaced_by_the_other(native: Native, http: Http) -> None:
    native.error = Unavailable("no worker", part="native")
    assert desk(native, http).submit(SPEC, user="ann").job_id == 2


@pytest.mark.parametrize(
    "error",
    [
        OutcomeUnknown("no answer", part="slurmctld"),
        Unavailable("down", part="slurmctld"),
        SlurmRefused("no", errno=2050),
    ],
)
def test_nothing_is_sent_twice(native: Native, http: Http, error: Exception) -> None:
    native.error = error
    with pytest.raises(type(error)):
        desk(native, http).submit(SPEC, user="ann")
    assert http.bodies == []


def test_a_way_that_was_asked_for_is_the_only_one(native: Native, http: Http) -> None:
    assert desk(native, http).submit(SPEC, user="ann", way=Way.REST).job_id == 2
    with pytest.raises(Unsupported):
        desk(native, http).submit(REST_ONLY, user="ann", way=Way.NATIVE)


def test_what_slurm_says_beside_an_accepted_job(native: Native, http: Http) -> None:
    http.answer = {"job_id": 2, "job_submit_user_msg": "a\nb", "warnings": [{"description": "held"}]}
    assert desk(native, http).submit(REST_ONLY, user="ann").messages == ("a", "b", "held")


@pytest.mark.parametrize(("says", "shown"), [("ask fewer (rule x)", "ask fewer (rule x)"), ("", "Invalid")])
def test_the_reason_that_rest_loses_is_asked_again(native: Native, http: Http, says: str, shown: str) -> None:
    http.answer, native.says = SlurmRefused("Invalid", errno=2072), says
    with pytest.raises(SlurmRefused) as refused:
        desk(native, http).submit(REST_ONLY, user="ann")
    assert (refused.value.message, refused.value.errno) == (shown, 2072)
    assert native.asked == ["refusal"]


@pytest.mark.parametrize("user", ["root", "slurm"])
def test_system_accounts_submit_nothing(native: Native, http: Http, user: str) -> None:
    with pytest.raises(Denied, match=user):
        desk(native, http).submit(SPEC, user=user)


def test_an_unknown_user_is_not_found(native: Native, http: Http) -> None:
    with pytest.raises(NotFound, match="zoe"):
        desk(native, http).submit(SPEC, user="zoe")


NO_NUMBERS = [-1, 0, 2**32 - 2, 2**64, True, "7", 1.0, None]


@pytest.mark.parametrize("number", NO_NUMBERS)
def test_what_is_no_jobs_number_reaches_nobody(native: Native, http: Http, number: Any) -> None:
    asked = desk(native, http)
    for call in (
        asked.job,
        asked.accounting_of,
        lambda job: asked.control.cancel(job, user="ann", array_task_id=None),
    ):
        with pytest.raises(InputError, match=r"is no number of a job: those are whole, from 1 to 4294967293"):
            call(number)
    assert native.asked == []


@pytest.mark.parametrize("number", [number for number in NO_NUMBERS if number not in (0, None)])
def test_what_is_no_tasks_number_reaches_nobody(native: Native, http: Http, number: Any) -> None:
    with pytest.raises(InputError, match="array task"):
        desk(native, http).control.cancel(7, user="ann", array_task_id=number)
