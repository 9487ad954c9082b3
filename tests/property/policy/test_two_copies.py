"""decide.py and job_submit.lua decide alike, word for word; no rule goes untried."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import fields
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bridge.job import UNLIMITED
from bridge.policy import bounds, gpus, notes, place
from bridge.policy import decide as decide_module
from bridge.policy.decide import decide, decide_change
from bridge.policy.request import TRES_FIELDS, Decision, Refusal, Request, Tolerated, Verdict
from bridge.policy.table import PolicyTable
from tests.support.effort import examples
from tests.unit.policy import worlds
from tests.unit.policy.lua_rules import INFINITE, NO_VAL, SOURCE, LuaRules

FILLED = ("account", "partition", "qos", *TRES_FIELDS)


def assert_alike(python: Verdict, lua: tuple[int, Any, str | None], request: Request) -> None:
    code, desc, sentence = lua
    if isinstance(python, Tolerated):
        assert (code, sentence) == (0, told(python)), request
        unset = NO_VAL if request.time_limit_min is None else request.time_limit_min
        limit = INFINITE if unset == UNLIMITED else unset
        expected = [getattr(request, field) for field in FILLED]
        assert [*(desc[field] for field in FILLED), desc.time_limit] == [*expected, limit], request
        return
    if isinstance(python, Refusal):
        assert (sentence, code != 0) == (python.sentence, True), request
        return
    assert (code, sentence) == (0, "\n".join(python.notes) or None), request
    limit = INFINITE if python.time_limit_min == UNLIMITED else python.time_limit_min
    expected = [getattr(python, field) for field in FILLED]
    assert [*(desc[field] for field in FILLED), desc.time_limit] == [*expected, limit], request


def told(verdict: Tolerated) -> str | None:
    return verdict.refusal.sentence if verdict.refusal and verdict.spoken else None


def outcome(verdict: Verdict | None) -> str:
    match verdict:
        case None:
            return "untouched"
        case Refusal(rule=rule):
            return rule
        case Tolerated(refusal=None):
            return "tolerated"
        case Tolerated(refusal=Refusal(rule=rule), spoken=spoken):
            return f"{'warn' if spoken else 'observe'}: {rule}"
    return "told" if isinstance(verdict, Decision) and verdict.notes else "accepted"


def test_25_000_requests_are_decided_alike_and_reach_every_rule(tmp_path: Path) -> None:
    rules, reached = LuaRules(tmp_path), Counter[str]()
    for table, requests in worlds.cases(seed=1, worlds=100, requests=250):
        rules.load(table)
        for request in requests:
            decision = decide(table, request, worlds.NOW)
            assert_alike(decision, rules.submit(request), request)
            reached[outcome(decision)] += 1
    sources = (
        Path(str(module.__file__)).read_text() for module in (bounds, decide_module, gpus, notes, place)
    )
    named = {rule for source in sources for rule in re.findall(r'"([a-z]+\.[a-z-]+)"', source)}
    named |= set(re.findall(r'\["([a-z]+\.[a-z-]+)"\]', SOURCE)) - {"table.missing"}
    named -= {"gpu.change"}  # of changes alone, which the next test counts
    assert {
        rule: reached[rule] for rule in named | {"accepted", "told", "tolerated"} if reached[rule] < 50
    } == {}
    for mode in ("observe", "warn"):
        assert sum(count for name, count in reached.items() if name.startswith(mode)) > 500


def test_changes_of_jobs_are_decided_alike(tmp_path: Path) -> None:
    rules, reached = LuaRules(tmp_path), Counter[str]()
    for table, requests in worlds.cases(seed=2, worlds=150, requests=250):
        rules.load(table)
        for job, change in zip(requests[::2], requests[1::2], strict=True):
            reached[changed_alike(rules, table, as_recorded(job), as_change(change))] += 1
    assert {rule: n for rule, n in reached.items() if n < 5 and ":" not in rule} == {}
    assert reached["accepted"] > 100
    assert reached["tolerated"] > 10


_IN_A_RECORD = (
    *("account", "partition", "qos", *TRES_FIELDS, "nodes_min", "nodes_max"),
    *("cpus_min", "cpus_per_gpu", "memory_per_node_mib", "memory_per_cpu_mib", "memory_per_gpu"),
)


def as_recorded(job: Request) -> Request:
    """Return the job as slurmctld's record shows it: without tasks, with a time limit and counts."""
    shown = {name: getattr(job, name) for name in (*_IN_A_RECORD, "user")}
    number = sum(map(ord, repr(job)))  # any that is the same each time
    return Request(
        **shown,
        time_limit_min=(UNLIMITED, 30, 480, 2000)[number % 4],
        gpus_counted=(None, 1, 4)[number % 3],
        cpus_counted=1 + number % 7,
        memory_counted_mib=1000 * (1 + number % 5),
    )


def as_change(request: Request) -> Request:
    """Return a change as users make them: mostly of one or two things."""
    random = Random(sum(map(ord, repr(request))))
    named = {
        f.name: getattr(request, f.name) for f in fields(request) if getattr(request, f.name) != f.default
    }
    count = random.choice([0, 1, 1, 1, 2, 2, len(named) - 1])
    kept = random.sample(sorted(named.keys() - {"user"}), min(count, len(named) - 1))
    return Request(user=request.user, **{name: named[name] for name in kept})


def changed_alike(rules: LuaRules, table: PolicyTable, job: Request, change: Request) -> str:
    decision = decide_change(table, job, change, worlds.NOW)
    code, desc, sentence = rules.modify(job, change)
    if isinstance(decision, Refusal):
        assert (sentence, code != 0) == (decision.sentence, True), (job, change)
        return outcome(decision)
    expected = told(decision) if isinstance(decision, Tolerated) else None
    if isinstance(decision, Decision):
        expected = "\n".join(decision.notes) or None
    assert (code, sentence) == (0, expected), (job, change)
    if decision is None:
        return outcome(decision)
    filled = change if isinstance(decision, Tolerated) else decision
    for field in FILLED:
        asked = getattr(change, field)
        assert desc[field] == (None if asked is None else getattr(filled, field)), (job, change, field)
    return outcome(decision)


def test_an_update_that_touches_no_rule_is_not_judged(tmp_path: Path) -> None:
    rules = LuaRules(tmp_path)
    rules.load(worlds.world(Random(3)))
    assert rules.modify(Request(user="nobody-known"), Request(user="x"))[0] == 0


_text = st.one_of(st.none(), st.text(max_size=12), st.sampled_from(["h100", "a100", "astro", "training"]))
_small = st.one_of(st.none(), st.integers(0, 70000))
_tres = st.one_of(
    st.none(),
    st.text(alphabet="gres/pu:=,h10ad2.", max_size=24),
    st.from_regex(r"(cpu=1,)?gres/gpu(:h100|:a100)?([:=][0-9]{1,3})?", fullmatch=True),
)


@pytest.fixture(scope="module")
def astro(tmp_path_factory: pytest.TempPathFactory) -> tuple[PolicyTable, LuaRules]:
    table, rules = worlds.world(Random(5)), LuaRules(tmp_path_factory.mktemp("policy"))
    rules.load(table)
    return table, rules


@settings(max_examples=examples(150))
@given(
    request=st.builds(
        Request,
        user=st.sampled_from(worlds.USERS),
        account=_text,
        partition=_text,
        qos=_text,
        time_limit_min=st.one_of(st.none(), st.just(UNLIMITED), st.integers(0, 4294967293)),
        tres_per_job=_tres,
        tres_per_node=_tres,
        tres_per_socket=_tres,
        tres_per_task=_tres,
        nodes_min=_small,
        nodes_max=_small,
        ntasks=_small,
        ntasks_per_node=st.integers(0, 9),
        ntasks_per_gpu=st.integers(0, 9),
    )
)
def test_any_request_at_all_is_decided_alike(astro: tuple[PolicyTable, LuaRules], request: Request) -> None:
    table, rules = astro
    # What reaches slurmctld is a C string: no NUL, and bytes that are UTF-8 or are shown as unreadable.
    texts = {f: getattr(request, f) for f in ("account", "partition", "qos")}
    if any(text and ("\0" in text or not text.isprintable()) for text in texts.values()):
        return
    assert_alike(decide(table, request, worlds.NOW), rules.submit(request), request)
